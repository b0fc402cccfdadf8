"""Tables of aligned columns, shares in per cent, and bars, for text that people read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ._paint import Paint

__all__ = ["bar", "percent", "table"]

BAR = 16


def percent(share: float | None) -> str:
    """Return a share in per cent, five characters wide; a dash of nothing."""
    return "    -" if share is None else f"{share * 100:5.1f}"


def bar(share: float | None) -> str:
    """Return a share as a bar of `BAR` characters; empty of nothing."""
    if share is None:
        return ""
    full = round(min(1.0, max(0.0, share)) * BAR)
    return "█" * full + "░" * (BAR - full)


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], paint: Paint, right: Sequence[int] = ()) -> Iterator[str]:
    """Yield a title line and a line a row, indented by two; columns of `right` are aligned to the right.

    The cells must have been made safe before.
    """
    widths = [max((len(row[place]) for row in (titles, *rows)), default=0) for place in range(len(titles))]

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  " + "  ".join(cells).rstrip()

    yield paint(line(titles), "dim")
    for row in rows:
        yield line(row)
