"""Tables that come out as text or as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ._paint import Paint
from ._table import table

__all__ = ["Sheet", "markdown", "text"]


class Sheet(NamedTuple):
    """One table of a report, or lines where it has no columns: title, column titles, rows, the columns of numbers.

    Everything in it must have been made safe before.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    right: tuple[int, ...] = ()
    notes: Sequence[str] = ()


def text(sheet: Sheet, paint: Paint) -> Iterator[str]:
    """Yield the lines of one table under its title."""
    yield paint(sheet.title, "bold")
    if sheet.columns:
        yield from table(sheet.columns, sheet.rows, paint, sheet.right)
    for note in sheet.notes:
        yield f"  {note}"


def markdown(sheet: Sheet, level: int) -> Iterator[str]:
    """Yield the lines of one table under its heading."""
    yield f"{'#' * level} {sheet.title[:1].upper()}{sheet.title[1:]}"
    yield ""
    if sheet.columns:
        yield f"| {' | '.join(map(_cell, sheet.columns))} |"
        yield f"|{'|'.join('---:' if place in sheet.right else '---' for place in range(len(sheet.columns)))}|"
        yield from (f"| {' | '.join(map(_cell, row))} |" for row in sheet.rows)
    if sheet.columns and sheet.notes:
        yield ""
    yield from (f"- {note}" for note in sheet.notes)


def _cell(said: str) -> str:
    return said.strip().replace("|", "\\|")
