"""What the use of lessons and doubt about them change: retrievals, outcomes and flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ._fold_lessons import with_standing
from ._sheet import Sheet, key_of
from .lineage import successor_in_words
from .protocol import Row

__all__ = ["flag_raised", "flag_resolved", "outcome_recorded", "recalled"]


_EFFECTS: Final = {"resolved": "helped", "worse": "hurt", "unchanged": "applied"}
"""What an outcome says of a lesson where nothing more was measured."""


def recalled(sheet: Sheet, data: Mapping[str, Any]) -> None:
    """Lessons were shown for a task."""
    origin = data["origin"]
    row = {**data, "session": origin.get("session", ""), "task": origin.get("task", "")}
    sheet.first("retrievals", data["retrieval_id"], row)


def outcome_recorded(sheet: Sheet, data: Mapping[str, Any]) -> None:
    """A task ended."""
    for name in data["lesson_ids"]:
        known = sheet.get("lessons", name)
        counted = successor_in_words(known, sheet.get) if known is not None else None
        effect = "withheld" if data["withheld"] else _effect(data, name)
        row = {
            "outcome_id": data["outcome_id"],
            "lesson_id": name,
            "counted_on": counted["id"] if counted else None,
            "outcome": data["outcome"],
            "before": data.get("before", "unknown"),
            "effect": effect,
            "withheld": data["withheld"],
            "repository": data["origin"].get("repository", ""),
            "origin": data["origin"],
            "retrieval_id": data.get("retrieval_id"),
        }
        if sheet.first("outcomes", key_of(data["outcome_id"], name), row) and counted is not None and not data["withheld"]:
            _count(sheet, counted, effect)


def _effect(data: Mapping[str, Any], lesson_id: str) -> str:
    """Return what the outcome was for one lesson; where effects were measured, a lesson without one was applied and no more."""
    effects = data.get("effects")
    return _EFFECTS[data["outcome"]] if effects is None else str(effects.get(lesson_id, "applied"))


def _count(sheet: Sheet, row: Row, effect: str) -> None:
    steps = {"applied": 1, "helped": int(effect == "helped"), "hurt": int(effect == "hurt")}
    lesson = {**row["lesson"], **{f"times_{name}": row["lesson"][f"times_{name}"] + step for name, step in steps.items()}}
    since = {name: row["since_level"][name] + step for name, step in steps.items()}
    sheet.put("lessons", row["id"], {**row, "lesson": lesson, "since_level": since})


def flag_raised(sheet: Sheet, data: Mapping[str, Any]) -> None:
    """Lessons are in doubt."""
    flag = data["flag_id"]
    if not sheet.first("flags", flag, {**data, "status": "open"}) or not data["withdraws"]:
        return
    for name in data["lesson_ids"]:
        row = sheet.get("lessons", name)
        if row is not None:
            standing = "flagged" if row["standing"] == "active" else row["standing"]
            sheet.put("lessons", name, {**with_standing(row, standing), "withdrawn_by": [*row["withdrawn_by"], flag]})


def flag_resolved(sheet: Sheet, data: Mapping[str, Any]) -> None:
    """A doubt is settled."""
    flag = sheet.get("flags", data["flag_id"])
    if flag is None or flag["status"] != "open":
        return
    sheet.put("flags", flag["flag_id"], {**flag, "status": "resolved", "resolution": data["resolution"]})
    for name in flag["lesson_ids"]:
        row = sheet.get("lessons", name)
        if row is not None:
            left = [other for other in row["withdrawn_by"] if other != flag["flag_id"]]
            standing = "active" if row["standing"] == "flagged" and not left else row["standing"]
            sheet.put("lessons", name, {**with_standing(row, standing), "withdrawn_by": left})
