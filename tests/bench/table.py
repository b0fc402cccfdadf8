"""The one table: a line for everything timed, and a line for every budget, which either holds or is missed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from .timing import Spread

__all__ = ["Budget", "Row", "Section", "as_json", "as_text"]


class Row(NamedTuple):
    """Something timed, in seconds; `ratio` is its speed against the section's yardstick, above 1 where it is faster."""

    what: str
    seconds: Spread
    ratio: Spread | None = None


class Budget(NamedTuple):
    """A ratio of two times in one run, and its bound."""

    what: str
    ratio: Spread
    op: Literal[">=", "<="]
    bound: float

    @property
    def kept(self) -> bool:
        """Whether the median of the rounds' ratios is within the bound."""
        return self.ratio.median >= self.bound if self.op == ">=" else self.ratio.median <= self.bound


class Section(NamedTuple):
    """A part of the table; `note` says what was run and what the yardstick of `Row.ratio` is."""

    name: str
    note: str
    rows: Sequence[Row]
    budgets: Sequence[Budget] = ()


_Line: TypeAlias = tuple[str, str, str, str, str, str]
_HEADER: _Line = ("what", "median", "min..max", "ratio", "budget", "")


def _time(seconds: float) -> str:
    if seconds >= 0.1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds >= 0.001 else f"{seconds * 1e6:.1f} µs"


def _row(row: Row) -> _Line:
    span = f"{_time(row.seconds.low)}..{_time(row.seconds.high)}"
    return (row.what, _time(row.seconds.median), span, f"{row.ratio.median:.2f}" if row.ratio else "", "", "")


def _budget(budget: Budget) -> _Line:
    span = f"{budget.ratio.low:.2f}..{budget.ratio.high:.2f}"
    bound = f"{'≥' if budget.op == '>=' else '≤'} {budget.bound:g}"
    return (budget.what, "", span, f"{budget.ratio.median:.2f}", bound, "ok" if budget.kept else "MISS")


def as_text(sections: Sequence[Section]) -> str:
    """Return the table for a reader."""
    blocks = [(section, [*map(_row, section.rows), *map(_budget, section.budgets)]) for section in sections]
    lines = [_HEADER, *[line for _, block in blocks for line in block]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADER))]

    def show(line: _Line) -> str:
        cells = [line[0].ljust(widths[0]), *[cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]]
        return "  ".join(cells).rstrip()

    text = [show(_HEADER), "  ".join("-" * width for width in widths).rstrip()]
    for section, block in blocks:
        text += [f"{section.name}: {section.note}", *map(show, block), ""]
    return "\n".join(text)


def as_json(sections: Sequence[Section]) -> str:
    """Return the same as JSON, times in seconds."""
    return json.dumps(
        [
            {
                "section": section.name,
                "note": section.note,
                "rows": [
                    {"what": row.what, "seconds": row.seconds._asdict(), "ratio": row.ratio._asdict() if row.ratio else None}
                    for row in section.rows
                ],
                "budgets": [
                    {"what": b.what, "ratio": b.ratio._asdict(), "op": b.op, "bound": b.bound, "kept": b.kept}
                    for b in section.budgets
                ],
            }
            for section in sections
        ],
        indent=2,
        ensure_ascii=False,
    )
