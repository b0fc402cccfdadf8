"""From an event to the rows that it changes: one pure function, the same for every back end.

Folding never fails: an event that speaks of what is not there (its lesson was erased) changes nothing. Events are folded in the
order of time and id, so the rows are a function of the set of events: two stores that hold the same events hold the same rows,
in whatever order they came together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from .events import Event
from .protocol import Get, Row
from .shapes import REDACTED
from .tables import KEY_SEPARATOR, TableName

__all__ = ["Change", "fold", "key_of", "lesson_ids", "unknown_references"]

MOST_ITEMS: Final = {"failures": 2_000, "successes": 2_000, "counterexamples": 2_000, "evidence": 4_096}
"""How many ids a lesson lists (`lesson.schema.json`); all are kept as corroborations."""

_NO_COUNTS: Final = {"applied": 0, "helped": 0, "hurt": 0}
_GROUNDS: Final = ("evidence", "failures", "successes", "counterexamples")


class Change(NamedTuple):
    """A row to be written, or removed where `row` is `None`."""

    table: TableName
    key: str
    row: Row | None


class _Sheet:
    """The rows as one event sees and changes them."""

    def __init__(self, event: Event, get: Get) -> None:
        self.made: Mapping[str, str] = {"event": event.id, "time": event.time}
        self._get = get
        self._changes: dict[tuple[TableName, str], Row | None] = {}

    def get(self, table: TableName, key: str) -> Row | None:
        if (table, key) in self._changes:
            return self._changes[table, key]
        return self._get(table, key)

    def put(self, table: TableName, key: str, row: Row) -> None:
        self._changes[table, key] = row

    def first(self, table: TableName, key: str, row: Row) -> bool:
        """Write a new row unless one has its key; return whether it was written."""
        if self.get(table, key) is not None:
            return False
        self.put(table, key, {**row, **self.made})
        return True

    def drop(self, table: TableName, key: str) -> None:
        self._changes[table, key] = None

    def changes(self) -> list[Change]:
        return [Change(table, key, row) for (table, key), row in self._changes.items()]


def key_of(*parts: str) -> str:
    """Return the key of a row that several ids name."""
    return KEY_SEPARATOR.join(parts)


def fold(event: Event, get: Get) -> list[Change]:
    """Return what `event` changes in the rows that `get` reads; nothing once its payload is erased."""
    data = event.data()
    if data is None:
        return []
    sheet = _Sheet(event, get)
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


def _termination(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    origin = data["origin"]
    row = {
        "failure_id": data["failure_id"],
        "signature": data["signature"],
        "outcome": data["record"].get("outcome"),
        "repository": origin.get("repository", ""),
        "origin": origin,
        "recalled": data["recalled"],
    }
    sheet.first("terminations", data["failure_id"], row)


def _success(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    row = {"success_id": data["success_id"], "failure_id": data.get("failure_id", ""), "origin": data["origin"]}
    sheet.first("successes", data["success_id"], row)


def _not_reflected(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    sheet.first("not_reflected", data["failure_id"], data)


def _violation(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    row = {field: data[field] for field in ("violation_id", "failure_id", "code", "message")}
    sheet.first("violations", data["violation_id"], row)


def _decision(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    decision = data["decision"]
    envelope = decision["envelope"]
    row = {field: decision[field] for field in ("decision_id", "failure_id", "signature", "status", "reason")}
    row["lesson_id"] = envelope["lesson_id"] if envelope else None
    row["bundle"] = decision["bundle"].get("digest", "")
    sheet.first("decisions", decision["decision_id"], row)


def _candidate_held(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    sheet.first("candidates", data["candidate_id"], {**data, "status": "held"})


def _candidate_released(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    row = sheet.get("candidates", data["candidate_id"])
    if row is not None:
        sheet.put("candidates", data["candidate_id"], {**row, "status": "released", "outcome": data["outcome"]})


# -- a lesson ------------------------------------------------------------------------------------------------------------


def _born(sheet: _Sheet, lesson: Mapping[str, Any], envelope: Mapping[str, Any], decision_id: str | None) -> None:
    name, signature = envelope["lesson_id"], envelope["signature"]
    row = {
        "id": name,
        "lesson": lesson,
        "envelope": {**envelope, "status": "active"},
        "signature": signature,
        "level": lesson["type"],
        "standing": "active",
        "signatures": [signature],
        "since_level": _NO_COUNTS,
        "withdrawn_by": [],
        "decision_id": decision_id,
    }
    if sheet.first("lessons", name, row):
        _join(sheet, name, [signature])


def _join(sheet: _Sheet, lesson_id: str, signatures: Iterable[str]) -> None:
    for signature in signatures:
        sheet.first("edges", key_of(signature, lesson_id), {"signature": signature, "lesson_id": lesson_id})


def _part(sheet: _Sheet, lesson_id: str, signatures: Iterable[str]) -> None:
    for signature in signatures:
        sheet.drop("edges", key_of(signature, lesson_id))


def _with_standing(row: Row, standing: str) -> dict[str, Any]:
    return {**row, "standing": standing, "envelope": {**row["envelope"], "status": standing}}


def _admitted(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    _born(sheet, data["lesson"], data["envelope"], data["decision_id"])


def _grown(lesson: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lesson with the ids of `data` added to its own."""
    source = dict(lesson["derived_from"])
    grown = {**lesson, "derived_from": source}
    for field in _GROUNDS:
        holder = source if field in source else grown
        added = [name for name in data[field] if name not in holder[field]]
        holder[field] = [*holder[field], *added][: max(MOST_ITEMS[field], len(holder[field]))]
    return grown


def _supported(sheet: _Sheet, data: Mapping[str, Any], signatures: list[str]) -> None:
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


def _merged(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    _supported(sheet, data, [data["signature"]])


def _evidence(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    _supported(sheet, data, [])


def _promoted(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    row = sheet.get("lessons", data["lesson_id"])
    if row is not None:
        lesson = {**row["lesson"], "type": data["level"]}
        sheet.put("lessons", row["id"], {**row, "lesson": lesson, "level": data["level"], "since_level": _NO_COUNTS})


def _replaced(sheet: _Sheet, name: str, by: str, standing: str) -> Row | None:
    """Take a lesson out of use in favour of `by`; return it as it was."""
    row = sheet.get("lessons", name)
    if row is not None:
        lesson = {**row["lesson"], "superseded_by": by}
        sheet.put("lessons", name, {**_with_standing(row, standing), "lesson": lesson})
        _part(sheet, name, row["signatures"])
    return row


def _demoted(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    successor = data["envelope"]["lesson_id"]
    old = _replaced(sheet, data["lesson_id"], successor, "superseded")
    _born(sheet, data["successor"], data["envelope"], None)
    if old is not None:
        _inherit(sheet, old, successor)


def _superseded(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    old = _replaced(sheet, data["lesson_id"], data["by"], "superseded")
    if old is not None:
        _inherit(sheet, old, data["by"])


def _inherit(sheet: _Sheet, old: Row, successor: str) -> None:
    """Join the successor to every signature that the old lesson explained."""
    row = sheet.get("lessons", successor)
    if row is not None:
        new = [signature for signature in old["signatures"] if signature not in row["signatures"]]
        sheet.put("lessons", successor, {**row, "signatures": [*row["signatures"], *new]})
        if row["standing"] in ("active", "flagged"):
            _join(sheet, successor, new)


def _retired(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    _replaced(sheet, data["lesson_id"], data["tombstone_id"], "retired")


def _restored(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    row = sheet.get("lessons", data["lesson_id"])
    if row is None:
        return
    lesson = {**row["lesson"], "superseded_by": None, "type": data["level"]}
    standing = "flagged" if row["withdrawn_by"] else "active"
    sheet.put("lessons", row["id"], {**_with_standing(row, standing), "lesson": lesson, "level": data["level"]})
    _join(sheet, row["id"], row["signatures"])


# -- use and doubt -------------------------------------------------------------------------------------------------------


def _outcome(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    for name in data["lesson_ids"]:
        counted = _successor(sheet, name)
        row = {
            "outcome_id": data["outcome_id"],
            "lesson_id": name,
            "counted_on": counted["id"] if counted else None,
            "outcome": data["outcome"],
            "withheld": data["withheld"],
            "origin": data["origin"],
        }
        if sheet.first("outcomes", key_of(data["outcome_id"], name), row) and counted is not None and not data["withheld"]:
            _count(sheet, counted, data["outcome"])


def _successor(sheet: _Sheet, name: str) -> Row | None:
    """Return the lesson that stands for `name` now: outcomes follow a demoted lesson to its successor."""
    seen: set[str] = set()
    row = sheet.get("lessons", name)
    while row is not None and row["standing"] == "superseded" and row["id"] not in seen:
        seen.add(row["id"])
        row = sheet.get("lessons", row["lesson"]["superseded_by"]) or row
    return row


def _count(sheet: _Sheet, row: Row, outcome: str) -> None:
    steps = {"applied": 1, "helped": int(outcome == "resolved"), "hurt": int(outcome == "worse")}
    lesson = {**row["lesson"], **{f"times_{name}": row["lesson"][f"times_{name}"] + step for name, step in steps.items()}}
    since = {name: row["since_level"][name] + step for name, step in steps.items()}
    sheet.put("lessons", row["id"], {**row, "lesson": lesson, "since_level": since})


def _flag_raised(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    flag = data["flag_id"]
    if not sheet.first("flags", flag, {**data, "status": "open"}) or not data["withdraws"]:
        return
    for name in data["lesson_ids"]:
        row = sheet.get("lessons", name)
        if row is not None:
            standing = "flagged" if row["standing"] == "active" else row["standing"]
            sheet.put("lessons", name, {**_with_standing(row, standing), "withdrawn_by": [*row["withdrawn_by"], flag]})


def _flag_resolved(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    flag = sheet.get("flags", data["flag_id"])
    if flag is None or flag["status"] != "open":
        return
    sheet.put("flags", flag["flag_id"], {**flag, "status": "resolved", "resolution": data["resolution"]})
    for name in flag["lesson_ids"]:
        row = sheet.get("lessons", name)
        if row is not None:
            left = [other for other in row["withdrawn_by"] if other != flag["flag_id"]]
            standing = "active" if row["standing"] == "flagged" and not left else row["standing"]
            sheet.put("lessons", name, {**_with_standing(row, standing), "withdrawn_by": left})


def _redacted(sheet: _Sheet, data: Mapping[str, Any]) -> None:
    for name in data["events"]:
        sheet.first("redactions", name, {"redacted": name, "reason": data["reason"]})


_FOLDS: Final[Mapping[str, Callable[[_Sheet, Mapping[str, Any]], None]]] = {
    "termination-recorded": _termination,
    "success-recorded": _success,
    "not-reflected": _not_reflected,
    "violation-recorded": _violation,
    "decision-made": _decision,
    "candidate-held": _candidate_held,
    "candidate-released": _candidate_released,
    "lesson-admitted": _admitted,
    "lesson-merged": _merged,
    "evidence-added": _evidence,
    "outcome-recorded": _outcome,
    "lesson-promoted": _promoted,
    "lesson-demoted": _demoted,
    "lesson-superseded": _superseded,
    "lesson-retired": _retired,
    "lesson-restored": _restored,
    "flag-raised": _flag_raised,
    "flag-resolved": _flag_resolved,
    REDACTED: _redacted,
}
