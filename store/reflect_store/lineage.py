"""Which lesson stands for another one now."""

from __future__ import annotations

from .protocol import Get, Row

__all__ = ["successor_in_words"]


def successor_in_words(row: Row, get: Get) -> Row:
    """Return the lesson that stands for `row` now: itself, or the last successor that says the same, as of a demoted lesson.

    A lesson that took its place with other words was not recalled, and its outcomes and evidence are not its predecessor's.
    """
    seen: set[str] = set()
    while row["standing"] == "superseded" and row["id"] not in seen:
        seen.add(row["id"])
        successor = get("lessons", row["lesson"]["superseded_by"])
        if successor is None or successor["lesson"]["statement"] != row["lesson"]["statement"]:
            break
        row = successor
    return row
