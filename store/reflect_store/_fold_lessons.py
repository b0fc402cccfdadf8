"""What the events of a lesson's life change: birth, support, levels, succession, retirement and return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ._sheet import Sheet, key_of
from .protocol import Row

__all__ = [
    "admitted",
    "demoted",
    "evidence_added",
    "merged",
    "promoted",
    "restored",
    "retired",
    "superseded",
    "with_standing",
]

MOST_ITEMS: Final = {"failures": 2_000, "successes": 2_000, "counterexamples": 2_000, "evidence": 4_096}
"""How many ids a lesson lists (`lesson.schema.json`); all are kept as corroborations."""

_NO_COUNTS: Final = {"applied": 0, "helped": 0, "hurt": 0}
_GROUNDS: Final = ("evidence", "failures", "successes", "counterexamples")


def _born(
    sheet: Sheet, lesson: Mapping[str, Any], envelope: Mapping[str, Any], decision_id: str | None, origin: Mapping[str, str]
) -> None:
    name, signature = envelope["lesson_id"], envelope["signature"]
    row = {
        "id": name,
        "lesson": lesson,
        "envelope": {**envelope, "status": "active"},
        "signature": signature,
        "level": lesson["type"],
        "since": sheet.made["time"],
        "standing": "active",
        "signatures": [signature],
        "since_level": _NO_COUNTS,
        "withdrawn_by": [],
        "decision_id": decision_id,
        "origin": origin,
    }
    if sheet.first("lessons", name, row):
        _join(sheet, name, [signature])


def _join(sheet: Sheet, lesson_id: str, signatures: Iterable[str]) -> None:
    for signature in signatures:
        sheet.first("edges", key_of(signature, lesson_id), {"signature": signature, "lesson_id": lesson_id})


def _part(sheet: Sheet, lesson_id: str, signatures: Iterable[str]) -> None:
    for signature in signatures:
        sheet.drop("edges", key_of(signature, lesson_id))


def with_standing(row: Row, standing: str) -> dict[str, Any]:
    """Return the row with the standing, in its envelope too."""
    return {**row, "standing": standing, "envelope": {**row["envelope"], "status": standing}}


def admitted(sheet: Sheet, data: Mapping[str, Any]) -> None:
    """A lesson is born."""
    failures = data["lesson"]["derived_from"]["failures"]
    failure = sheet.get("terminations", failures[0]) if failures else None
    # A failure knows its session and commit; what a lesson says of its project stands in where the failure was erased.
    origin = {**data["envelope"]["project"], **(failure["origin"] if failure else {})}
    _born(sheet, data["lesson"], data["envelope"], data["decision_id"], origin)


def _grown(lesson: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lesson with the ids of `data` added to its own."""
    source = dict(lesson["derived_from"])
    grown = {**lesson, "derived_from": source}
    for field in _GROUNDS:
        holder = source if field in source else grown
        added = [name for name in data[field] if name not in holder[field]]
        holder[field] = [*holder[field], *added][: max(MOST_ITEMS[field], len(holder[field]))]
    return grown


def _supported(sheet: Sheet, data: Mapping[str, Any], signatures: list[str]) -> None:
    name = data["lesson_id"]
    row = sheet.get("lessons", name)
    if row is None:
        return
    new = [signature for signature in signatures if signature not in row["signatures"]]
    sheet.put("lessons", name, {**row, "lesson": _grown(row["lesson"], data), "signatures": [*row["signatures"], *new]})
    if row["standing"] in ("active", "flagged"):
        _join(sheet, name, new)
    fields = ("lesson_id", "decision_id", "failure_id", "origin", *_GROUNDS)
    said = {field: data[field] for field in fields if field in data}
    sheet.first("corroborations", key_of(name, sheet.made["event"]), said)


def merged(sheet: Sheet, data: Mapping[str, Any]) -> None:
    """A candidate said what a lesson says."""
    _supported(sheet, data, [data["signature"]])


def evidence_added(sheet: Sheet, data: Mapping[str, Any]) -> None:
    """A lesson gains grounds."""
    _supported(sheet, data, [])


def promoted(sheet: Sheet, data: Mapping[str, Any]) -> None:
    """A lesson rises."""
    row = sheet.get("lessons", data["lesson_id"])
    if row is not None:
        lesson = {**row["lesson"], "type": data["level"]}
        sheet.put("lessons", row["id"], {**row, "lesson": lesson, **_level(sheet, row, data["level"])})


def _level(sheet: Sheet, row: Row, level: str) -> dict[str, Any]:
    """Return what a change to `level` sets; nothing but the level itself where the lesson had it already."""
    if row["level"] == level:
        return {"level": level}
    return {"level": level, "since": sheet.made["time"], "since_level": _NO_COUNTS}


def _replaced(sheet: Sheet, name: str, by: str, standing: str) -> Row | None:
    """Take a lesson out of use in favour of `by`; return it as it was."""
    row = sheet.get("lessons", name)
    if row is not None:
        lesson = {**row["lesson"], "superseded_by": by}
        sheet.put("lessons", name, {**with_standing(row, standing), "lesson": lesson})
        _part(sheet, name, row["signatures"])
    return row


def demoted(sheet: Sheet, data: Mapping[str, Any]) -> None:
    """A successor takes the place of a lesson that falls."""
    successor = data["envelope"]["lesson_id"]
    old = _replaced(sheet, data["lesson_id"], successor, "superseded")
    project = data["envelope"]["project"]
    _born(sheet, data["successor"], data["envelope"], None, old["origin"] if old else project)
    if old is not None:
        _inherit(sheet, old, successor)


def superseded(sheet: Sheet, data: Mapping[str, Any]) -> None:
    """Another lesson takes its place."""
    old = _replaced(sheet, data["lesson_id"], data["by"], "superseded")
    if old is not None:
        _inherit(sheet, old, data["by"])


def _inherit(sheet: Sheet, old: Row, successor: str) -> None:
    """Join the successor to every signature that the old lesson explained."""
    row = sheet.get("lessons", successor)
    if row is not None:
        new = [signature for signature in old["signatures"] if signature not in row["signatures"]]
        sheet.put("lessons", successor, {**row, "signatures": [*row["signatures"], *new]})
        if row["standing"] in ("active", "flagged"):
            _join(sheet, successor, new)


def retired(sheet: Sheet, data: Mapping[str, Any]) -> None:
    """A lesson goes out of use."""
    _replaced(sheet, data["lesson_id"], data["tombstone_id"], "retired")


def restored(sheet: Sheet, data: Mapping[str, Any]) -> None:
    """A lesson comes back."""
    row = sheet.get("lessons", data["lesson_id"])
    if row is None:
        return
    lesson = {**row["lesson"], "superseded_by": None, "type": data["level"]}
    standing = "flagged" if row["withdrawn_by"] else "active"
    sheet.put("lessons", row["id"], {**with_standing(row, standing), "lesson": lesson, **_level(sheet, row, data["level"])})
    _join(sheet, row["id"], row["signatures"])
