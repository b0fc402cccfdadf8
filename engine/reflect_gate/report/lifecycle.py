"""What the lifecycle did, as text: changes of lessons, what was recorded of a task, and the effect of lessons. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ._paint import Paint
from ._safe import one_line, plain
from ._table import percent, table

__all__ = ["effect_text", "record_text", "sweep_text"]

Document = Mapping[str, Any]

_ID = 40


def sweep_text(document: Document) -> str:
    """Return the changes of a sweep, a line each, and how many there were."""
    lines = list(_changes(document["changes"]))
    count = len(lines)
    what = f"{count} change" if count == 1 else f"{count} changes"
    if document["dry_run"]:
        what += "; nothing was written on a dry run" if count else " due"
    return "".join(f"{line}\n" for line in (*lines, what))


def _changes(changes: Sequence[Document]) -> Iterator[str]:
    for change in changes:
        yield plain(f"{change['action']:<8}{change['lesson_id'] or change['about']}  {_said(change)}")


def _said(change: Document) -> str:
    step = f"{change['before']} → {change['level']}" if change["before"] != change["level"] else change["level"]
    by = f"  by {change['superseded_by']}" if change["superseded_by"] else ""
    cause = f"{change['rule'] or 'no rule'}: {change['reason']}"
    return f"{step}{by}  ({cause})" if step else f"{cause}{by}"


def record_text(document: Document) -> str:
    """Return what a task's outcome says of each lesson, their counts with 95 % intervals, and what followed."""
    how = document["outcome"] if document["executed"] else f"{document['outcome']} (nothing executed shows it)"
    state = "recorded" if document["added"] else "recorded before, nothing added"
    lines = [f"{state}: {how}, {document['before']} before"]
    lines += [f"{said['effect']:<8}{plain(said['lesson_id'])}" for said in document["effects"]]
    lines += [f"withheld {plain(name)}" for name in document["withheld"]]
    rows = [
        (
            one_line(lesson["lesson_id"], _ID),
            *(str(lesson[f"times_{what}"]) for what in ("applied", "helped", "hurt")),
            _interval(lesson["helped_interval"]),
            _interval(lesson["hurt_interval"]),
        )
        for lesson in document["lessons"]
    ]
    if rows:
        titles = ("lesson", "applied", "helped", "hurt", "helped 95 %", "hurt 95 %")
        lines += table(titles, rows, Paint(), right=(1, 2, 3))
    lines += _changes(document["changes"])
    return "".join(f"{line}\n" for line in lines)


def _interval(ends: Sequence[float] | None) -> str:
    return "-" if ends is None else f"{percent(ends[0]).strip()} to {percent(ends[1]).strip()} %"


def effect_text(document: Document) -> str:
    """Return the tasks that got each lesson beside those from which it was withheld, and what can be said of the difference."""
    rows = [
        (
            one_line(entry["lesson_id"] or "all lessons", _ID),
            *(_side(entry[side]) for side in ("given", "withheld")),
            _difference(entry["resolved_difference"]),
            entry["says"],
        )
        for entry in document["effects"]
    ]
    titles = ("lesson", "resolved when given", "resolved when withheld", "difference", "")
    notes = [f"too few: fewer than {document['least']} tasks on a side that were failing before", *document["caveats"]]
    return "".join(f"{line}\n" for line in (*table(titles, rows, Paint()), *(f"note: {note}" for note in notes)))


def _side(side: Document) -> str:
    return f"{side['resolved']} of {side['failing']} ({_interval(side['resolved_interval'])})"


def _difference(ends: Sequence[float] | None) -> str:
    return "-" if ends is None else f"{ends[0] * 100:+.1f} to {ends[1] * 100:+.1f} points"
