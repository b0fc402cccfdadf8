"""From an event to the rows that it changes: one pure function, the same for every back end.

Folding never fails: an event that speaks of what is not there (its lesson was erased) changes nothing. Events are folded in the
order of time and id, so the rows are a function of the set of events: two stores that hold the same events hold the same rows,
in whatever order they came together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from . import _fold_lessons as lessons
from . import _fold_use as use
from ._sheet import Change, Sheet, key_of
from .events import Event
from .protocol import Get
from .shapes import REDACTED
from .tables import TableName

__all__ = ["Change", "fold", "key_of", "lesson_ids", "unknown_references"]


def fold(event: Event, get: Get) -> list[Change]:
    """Return what `event` changes in the rows that `get` reads; nothing once its payload is erased."""
    data = event.data()
    if data is None:
        return []
    sheet = Sheet(event, get)
    _FOLDS[event.type](sheet, data)
    for name in lesson_ids(event.type, data):
        sheet.first("history", key_of(name, event.id), {"lesson_id": name, "type": event.type})
    return sheet.changes()


def lesson_ids(type_: str, data: Mapping[str, Any]) -> list[str]:
    """Return the lessons of whose life an event is a part, each once."""
    found: list[str] = []
    if type_ == "decision-made":
        envelope = data["decision"]["envelope"]
        found += [envelope["lesson_id"]] if envelope else []
    elif type_ in ("lesson-admitted", "lesson-demoted"):
        found.append(data["envelope"]["lesson_id"])
    if "lesson_id" in data:
        found.append(data["lesson_id"])
    if type_ == "lesson-superseded":
        found.append(data["by"])
    found += data.get("lesson_ids", ())
    found += data["withheld"] if type_ == "lessons-recalled" else ()
    return list(dict.fromkeys(found))


def unknown_references(event: Event, get: Get) -> list[str]:
    """Return what a new event speaks of that is not there, in words; a decision only proposes its lesson."""
    data = event.data() or {}
    wrong = []
    if event.type == "lesson-admitted":
        name = data["envelope"]["lesson_id"]
        wrong += [f"there is a lesson `{name}` already"] if get("lessons", name) else []
    elif event.type == "lesson-demoted":
        name = data["envelope"]["lesson_id"]
        wrong += [f"there is a lesson `{name}` already"] if get("lessons", name) else []
        wrong += _absent("lessons", [data["lesson_id"]], get)
    elif event.type != "decision-made":
        wrong += _absent("lessons", lesson_ids(event.type, data), get)
    if event.type == "flag-resolved":
        wrong += _absent("flags", [data["flag_id"]], get)
    if event.type == "candidate-released":
        wrong += _absent("candidates", [data["candidate_id"]], get)
    return wrong


def _absent(table: TableName, keys: Iterable[str], get: Get) -> list[str]:
    return [f"there is no {table[:-1]} `{key}`" for key in keys if get(table, key) is None]


# -- what happened -------------------------------------------------------------------------------------------------------


def _termination(sheet: Sheet, data: Mapping[str, Any]) -> None:
    origin = data["origin"]
    row = {
        "failure_id": data["failure_id"],
        "signature": data["signature"],
        "outcome": data["record"].get("outcome"),
        "repository": origin.get("repository", ""),
        "origin": origin,
        "recalled": data["recalled"],
        "scope": data.get("scope", ""),
    }
    sheet.first("terminations", data["failure_id"], row)


def _success(sheet: Sheet, data: Mapping[str, Any]) -> None:
    row = {"success_id": data["success_id"], "failure_id": data.get("failure_id", ""), "origin": data["origin"]}
    sheet.first("successes", data["success_id"], row)


def _not_reflected(sheet: Sheet, data: Mapping[str, Any]) -> None:
    sheet.first("not_reflected", data["failure_id"], data)


def _violation(sheet: Sheet, data: Mapping[str, Any]) -> None:
    row = {field: data[field] for field in ("violation_id", "failure_id", "code", "message")}
    sheet.first("violations", data["violation_id"], row)


def _decision(sheet: Sheet, data: Mapping[str, Any]) -> None:
    decision = data["decision"]
    envelope = decision["envelope"]
    row = {field: decision[field] for field in ("decision_id", "failure_id", "signature", "status", "reason")}
    row["lesson_id"] = envelope["lesson_id"] if envelope else None
    row["bundle"] = decision["bundle"].get("digest", "")
    reflection = data["inputs"].get("reflection", {})
    row["statement"], row["scope"] = reflection.get("candidate_lesson", ""), reflection.get("scope", "")
    sheet.first("decisions", decision["decision_id"], row)


def _candidate_held(sheet: Sheet, data: Mapping[str, Any]) -> None:
    # What the event leaves out is known from the decision, and of the place from the failure, while these are kept.
    decision = sheet.get("decisions", data["decision_id"]) or {}
    given = {field: data.get(field, decision.get(field, "")) for field in ("failure_id", "statement", "scope")}
    failure = sheet.get("terminations", given["failure_id"]) or {}
    origin = data.get("origin", failure.get("origin", {}))
    sheet.first("candidates", data["candidate_id"], {**data, **given, "origin": origin, "status": "held"})


def _candidate_released(sheet: Sheet, data: Mapping[str, Any]) -> None:
    row = sheet.get("candidates", data["candidate_id"])
    if row is not None:
        sheet.put("candidates", data["candidate_id"], {**row, "status": "released", "outcome": data["outcome"]})


def _redacted(sheet: Sheet, data: Mapping[str, Any]) -> None:
    for name in data["events"]:
        sheet.first("redactions", name, {"redacted": name, "reason": data["reason"]})


_FOLDS: Final[Mapping[str, Callable[[Sheet, Mapping[str, Any]], None]]] = {
    "termination-recorded": _termination,
    "success-recorded": _success,
    "not-reflected": _not_reflected,
    "violation-recorded": _violation,
    "decision-made": _decision,
    "candidate-held": _candidate_held,
    "candidate-released": _candidate_released,
    "lesson-admitted": lessons.admitted,
    "lesson-merged": lessons.merged,
    "evidence-added": lessons.evidence_added,
    "lessons-recalled": use.recalled,
    "outcome-recorded": use.outcome_recorded,
    "lesson-promoted": lessons.promoted,
    "lesson-demoted": lessons.demoted,
    "lesson-superseded": lessons.superseded,
    "lesson-retired": lessons.retired,
    "lesson-restored": lessons.restored,
    "flag-raised": use.flag_raised,
    "flag-resolved": use.flag_resolved,
    REDACTED: _redacted,
}
