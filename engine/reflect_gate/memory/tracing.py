"""What became of a lesson and why: its history event by event, and the decision, rules and evidence behind it.

Everything here is read from the store's events; a payload that was redacted is said to be gone, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from ..errors import ReflectGateError

if TYPE_CHECKING:
    from reflect_store import Row, Store

__all__ = ["CHANGES", "history", "inputs_of", "lesson_row", "why"]

CHANGES: Final = ("lesson-promoted", "lesson-demoted", "lesson-superseded", "lesson-retired", "lesson-restored")
"""Types of events that change a lesson's level or standing."""

_TOLD: Final = tuple(
    "decision_id failure_id candidate_id outcome withheld level by tombstone_id undoes flag_id kind resolution retrieval_id "
    "outcome_id rule reason".split()
)
"""Fields of payloads that a history repeats as they are."""

_LISTED: Final = ("evidence", "failures", "successes", "counterexamples")
MOST_EVENTS: Final = 10_000
"""What is told of one lesson at most, the newest."""


def lesson_row(store: Store, lesson_id: str) -> Row:
    """Return a lesson as it stands; `lesson-unknown` where the store has none of that id."""
    row = store.get("lessons", lesson_id)
    if row is None:
        raise ReflectGateError("lesson-unknown", f"no lesson `{lesson_id}`")
    return row


def history(
    store: Store, lesson_id: str, *, after: str | None = None, limit: int = 100
) -> tuple[list[dict[str, Any]], str | None]:
    """Return the events of a lesson's life in the order of time, and the cursor of those that follow.

    Each has `event`, `type`, `time`, `seq` and what its payload says in short; `redacted` is true where that was erased.

    Raises:
        ReflectGateError: `lesson-unknown`.
    """
    lesson_row(store, lesson_id)
    page = store.page("history", {"lesson_id": lesson_id}, after=after, limit=limit)
    return [_told(store, row, lesson_id) for row in page.rows], page.cursor


def _told(store: Store, row: Row, lesson_id: str) -> dict[str, Any]:
    event = store.event(row["event"])
    data = event.data() if event else None
    told: dict[str, Any] = {"event": row["event"], "type": row["type"], "time": row["time"], "seq": event.seq if event else 0}
    if data is None:
        return {**told, "redacted": True}
    return {**told, **_short(row["type"], data, lesson_id)}


def _short(type_: str, data: Mapping[str, Any], lesson_id: str) -> dict[str, Any]:
    if type_ == "decision-made":
        decision = data["decision"]
        return {field: decision[field] for field in ("decision_id", "failure_id") if field in decision}
    short = {field: data[field] for field in _TOLD if data.get(field) not in (None, "")}
    short |= {field: data[field] for field in _LISTED if data.get(field)}
    if data.get("origin"):
        short["origin"] = data["origin"]
    if type_ == "lesson-demoted":
        short["by"] = data["envelope"]["lesson_id"]
        short["level"] = data["successor"]["type"]
    effect = data.get("effects", {}).get(lesson_id)
    return {**short, "effect": effect} if effect else short


def _born_as(store: Store, row: Row) -> Row:
    """Return the lesson that a successor goes back to: the one whose admission was decided."""
    seen = {row["id"]}
    while row["decision_id"] is None and row["lesson"]["supersedes"] not in (None, *seen):
        older = store.get("lessons", row["lesson"]["supersedes"])
        if older is None:
            break
        row = older
        seen.add(row["id"])
    return row


def why(store: Store, lesson_id: str) -> dict[str, Any]:
    """Return what is behind a lesson.

    `decision` is the decision that admitted it, with its findings and the places of their rules, `None` where it was redacted;
    `evidence` holds the cited items word for word; `corroborations` and `counterexamples` say what spoke for and against it
    since; `changes` are the changes of its level and standing with the rule behind each; `lineage` lists the lessons that it
    goes back to.

    Raises:
        ReflectGateError: `lesson-unknown`.
    """
    row = lesson_row(store, lesson_id)
    born = _born_as(store, row)
    decision = _decision(store, born["decision_id"])
    spoke = list(islice(store.iterate("corroborations", {"lesson_id": lesson_id}, newest=True), MOST_EVENTS))[::-1]
    return {
        "lesson": row["lesson"],
        "envelope": row["envelope"],
        "lineage": _lineage(store, row),
        "decision": decision,
        "evidence": _cited(decision, born["lesson"]["evidence"]),
        "corroborations": [_spoke(entry) for entry in spoke if not entry["counterexamples"]],
        "counterexamples": [_spoke(entry) for entry in spoke if entry["counterexamples"]],
        "changes": _changes(store, lesson_id),
    }


def _changes(store: Store, lesson_id: str) -> list[dict[str, Any]]:
    rows = (row for row in store.iterate("history", {"lesson_id": lesson_id}, newest=True) if row["type"] in CHANGES)
    return [_told(store, row, lesson_id) for row in islice(rows, MOST_EVENTS)][::-1]


def _lineage(store: Store, row: Row) -> list[str]:
    names: list[str] = []
    older = row["lesson"]["supersedes"]
    while older is not None and older not in names:
        names.append(older)
        found = store.get("lessons", older)
        older = found["lesson"]["supersedes"] if found else None
    return names


def _decision(store: Store, decision_id: str | None) -> dict[str, Any] | None:
    row = store.get("decisions", decision_id) if decision_id else None
    event = store.event(row["event"]) if row else None
    data = event.data() if event else None
    return None if data is None else dict(data["decision"])


def inputs_of(store: Store, lesson_id: str) -> dict[str, Any] | None:
    """Return what the decision that made a lesson was given beside the record, `None` where that was redacted.

    Raises:
        ReflectGateError: `lesson-unknown`.
    """
    decision_id = _born_as(store, lesson_row(store, lesson_id))["decision_id"]
    row = store.get("decisions", decision_id) if decision_id else None
    event = store.event(row["event"]) if row else None
    data = event.data() if event else None
    return None if data is None else dict(data["inputs"])


def _cited(decision: Mapping[str, Any] | None, cited: Sequence[str]) -> list[dict[str, Any]]:
    if decision is None:
        return []
    record = decision["stages"]["evidence"]
    items = [*record["traces"], record["diagnosis"], record["repair_delta"], *record["successful_trajectory"]]
    wanted = set(cited)
    return [item for item in items if item is not None and item["id"] in wanted]


def _spoke(row: Row) -> dict[str, Any]:
    return {field: row[field] for field in ("event", "time", "failure_id", "decision_id", "origin", *_LISTED) if row.get(field)}
