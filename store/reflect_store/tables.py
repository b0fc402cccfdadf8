"""The projections as data: what each table holds and by which fields it is looked up.

A row is a JSON document. Every row has `event` and `time`, those of the event that made it; the columns of a table repeat
fields of the row for the index. A row that came from a large payload does not repeat it: `Store.event(row["event"])` has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

__all__ = ["KEY_SEPARATOR", "TABLES", "Table", "TableName"]

TableName: TypeAlias = Literal[
    "terminations",
    "successes",
    "not_reflected",
    "violations",
    "decisions",
    "candidates",
    "lessons",
    "edges",
    "corroborations",
    "retrievals",
    "outcomes",
    "flags",
    "history",
    "redactions",
]

KEY_SEPARATOR: Final = "\n"
"""Joins the parts of a key; no id holds it."""


class Table(NamedTuple):
    """One projection; `columns` are the fields that it can be filtered by."""

    doc: str
    columns: tuple[str, ...]


TABLES: Final[Mapping[TableName, Table]] = {
    "terminations": Table("Failures, by failure id.", ("signature", "repository")),
    "successes": Table("Successful runs, by their id.", ("failure_id",)),
    "not_reflected": Table("Failures that were not reflected on, by failure id.", ()),
    "violations": Table("Answers of a model that were no candidate, by violation id.", ("failure_id",)),
    "decisions": Table("What the gate decided, by decision id.", ("failure_id", "signature", "status")),
    "candidates": Table("Candidates that wait or waited, by candidate id.", ("signature", "status")),
    "lessons": Table("Lessons as they stand now, by lesson id.", ("signature", "level", "standing")),
    "edges": Table("Which lesson explains which signature, by both.", ("signature", "lesson_id")),
    "corroborations": Table("What spoke for or against a lesson since it was born, by lesson and event.", ("lesson_id",)),
    "retrievals": Table("Which lessons were shown for a task, by retrieval id.", ("session", "task")),
    "outcomes": Table(
        "What became of tasks, by outcome id and lesson; `counted_on` is the lesson that stood for it then.",
        ("lesson_id", "counted_on", "outcome", "effect", "repository"),
    ),
    "flags": Table("What needs or needed adjudication, by flag id.", ("status",)),
    "history": Table("The events of a lesson's life, by lesson and event.", ("lesson_id",)),
    "redactions": Table("Events whose payload was to be erased, by event id.", ()),
}
"""Every projection."""
