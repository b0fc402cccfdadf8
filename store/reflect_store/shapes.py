"""The types of events as data: what each says, and the fields that its payload must and may have.

`schemas/event.schema.json` says the same with every bound, and a test holds the two to each other. The store checks these shapes
whenever an event is added, so that folding an event can never fail; the schema is checked where events come from outside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from .errors import Place, StoreError
from .events import REDACTED
from .records import LESSON_FIELDS

__all__ = ["EFFECTS", "EVENT_TYPES", "KINDS", "REDACTED", "Shape", "check_payload"]


class Shape(NamedTuple):
    """What events of one type say; `required` and `optional` map a field to the kind of its value (`KINDS`)."""

    doc: str
    required: Mapping[str, str]
    optional: Mapping[str, str] = {}


EFFECTS: Final = ("applied", "helped", "hurt")
"""What a recalled lesson did for a task: it was shown and no more, or it helped, or it hurt."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ENVELOPE = {"lesson_id", "signature", "project", "red_flag", "bundle"}
_DECISION = {"decision_id", "failure_id", "signature", "status", "reason", "bundle", "lesson", "envelope"}


def _is_id(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 256 and not _CONTROL.search(value)


def _is_ids(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_id, value)) and len(set(value)) == len(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_origin(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(inner, str) for inner in value.values())


def _is_effects(value: object) -> bool:
    return isinstance(value, dict) and all(_is_id(name) and effect in EFFECTS for name, effect in value.items())


def _is_lesson(value: object) -> bool:
    if not isinstance(value, dict) or set(value) != set(LESSON_FIELDS):
        return False
    source = value["derived_from"]
    lists = (value["evidence"], value["counterexamples"])
    counts = (value["times_applied"], value["times_helped"], value["times_hurt"])
    return (
        isinstance(source, dict)
        and set(source) == {"failures", "successes"}
        and all(_is_ids(ids) for ids in (*lists, *source.values()))
        and all(type(count) is int for count in counts)
        and value["type"] in ("episodic", "procedural", "meta_strategy")
    )


def _is_envelope(value: object) -> bool:
    if not isinstance(value, dict) or set(value) - {"tags"} != _ENVELOPE:
        return False
    tags = value.get("tags", [])
    return _is_id(value["lesson_id"]) and _is_id(value["signature"]) and isinstance(tags, list) and all(map(_is_text, tags))


def _is_decision(value: object) -> bool:
    if not isinstance(value, dict) or not set(value) >= _DECISION:
        return False
    named = all(_is_id(value[field]) for field in ("decision_id", "failure_id", "signature", "status"))
    envelope = value["envelope"]
    return named and isinstance(value["bundle"], dict) and (envelope is None or _is_envelope(envelope))


KINDS: Final[Mapping[str, Callable[[object], bool]]] = {
    "id": _is_id,
    "id or null": lambda value: value is None or _is_id(value),
    "ids": _is_ids,
    "text": _is_text,
    "flag": lambda value: isinstance(value, bool),
    "level": lambda value: value in ("episodic", "procedural", "meta_strategy"),
    "outcome": lambda value: value in ("resolved", "worse", "unchanged"),
    "before": lambda value: value in ("failing", "passing", "unknown"),
    "effects": _is_effects,
    "object": _is_object,
    "objects": lambda value: isinstance(value, list) and all(map(_is_object, value)),
    "origin": _is_origin,
    "lesson": _is_lesson,
    "envelope": _is_envelope,
    "decision": _is_decision,
}
"""How a value of each kind is recognised."""

_EXECUTED = {"evidence": "object"}
_WHY = {"rule": "text", "reason": "text"}
_GROUNDS = {"evidence": "ids", "failures": "ids", "successes": "ids", "counterexamples": "ids"}

EVENT_TYPES: Final[Mapping[str, Shape]] = {
    "termination-recorded": Shape(
        "A run failed; what is known of it, whether or not anything is learned from it.",
        {"failure_id": "id", "signature": "id", "record": "object", "origin": "origin", "recalled": "ids"},
        {"context": "object", "scope": "text"},
    ),
    "success-recorded": Shape(
        "A run succeeded.", {"success_id": "id", "trajectory": "objects", "origin": "origin"}, {"failure_id": "id"}
    ),
    "not-reflected": Shape("A failure was not reflected on.", {"failure_id": "id", "reason": "text"}),
    "violation-recorded": Shape(
        "What a model answered was no candidate.",
        {"violation_id": "id", "failure_id": "id", "code": "text", "message": "text"},
        {"response": "text"},
    ),
    "decision-made": Shape("The gate decided on a candidate.", {"decision": "decision", "inputs": "object"}),
    "candidate-held": Shape(
        "A candidate waits for evidence instead of being attached.",
        {"candidate_id": "id", "decision_id": "id", "signature": "id", "reason": "text", "conflicts": "ids"},
        {"failure_id": "id", "statement": "text", "scope": "text", "origin": "origin"},
    ),
    "candidate-released": Shape("A candidate waits no longer.", {"candidate_id": "id", "outcome": "text"}, {"decision_id": "id"}),
    "lesson-admitted": Shape("A lesson was born.", {"lesson": "lesson", "envelope": "envelope", "decision_id": "id"}),
    "lesson-merged": Shape(
        "A candidate said what a lesson says already.",
        {"lesson_id": "id", "decision_id": "id", "failure_id": "id", "signature": "id", "origin": "origin", **_GROUNDS},
    ),
    "evidence-added": Shape(
        "A lesson gained evidence or a counterexample.", {"lesson_id": "id", "origin": "origin", **_GROUNDS}, {"rule": "text"}
    ),
    "lessons-recalled": Shape(
        "Lessons were shown for a task, or withheld to compare.",
        {"retrieval_id": "id", "lesson_ids": "ids", "withheld": "ids", "origin": "origin", "query": "id"},
    ),
    "outcome-recorded": Shape(
        "A task ended for which lessons were recalled, or withheld to compare.",
        {"outcome_id": "id", "lesson_ids": "ids", "outcome": "outcome", "withheld": "flag", "origin": "origin", **_EXECUTED},
        {"retrieval_id": "id", "before": "before", "effects": "effects"},
    ),
    "lesson-promoted": Shape("A lesson rose a level.", {"lesson_id": "id", "level": "level", **_WHY}),
    "lesson-demoted": Shape(
        "A lesson fell a level: a successor takes its place.",
        {"lesson_id": "id", "successor": "lesson", "envelope": "envelope", **_WHY},
    ),
    "lesson-superseded": Shape("Another lesson took a lesson's place.", {"lesson_id": "id", "by": "id", **_WHY}),
    "lesson-retired": Shape("A lesson is out of use.", {"lesson_id": "id", "tombstone_id": "id", **_WHY}),
    "lesson-restored": Shape(
        "A demotion, supersession or retirement was undone.", {"lesson_id": "id", "level": "level", "undoes": "id", **_WHY}
    ),
    "flag-raised": Shape(
        "Lessons need adjudication; `withdraws` keeps them from use until then.",
        {"flag_id": "id", "kind": "text", "lesson_ids": "ids", "withdraws": "flag", **_WHY},
        {"candidate_id": "id"},
    ),
    "flag-resolved": Shape("A flag was adjudicated.", {"flag_id": "id", "resolution": "text", **_WHY}),
    REDACTED: Shape("Payloads of other events were erased.", {"events": "ids", "reason": "text"}),
}
"""Every type of event, in the order in which a lesson's life brings them."""


def check_payload(type_: str, payload: Mapping[str, Any], place: Place | None = None) -> None:
    """Raise `store-payload` with everything that is wrong with the payload of an event of type `type_`."""
    shape = EVENT_TYPES.get(type_)
    if shape is None:
        raise StoreError("store-payload", f"unknown event type `{type_}`", place)
    known = {**shape.required, **shape.optional}
    wrong = [f"missing field `{field}`" for field in shape.required if field not in payload]
    wrong += [f"unknown field `{field}`" for field in payload if field not in known]
    given = {field: known[field] for field in payload if field in known}
    wrong += [f"`{field}` is no {kind}" for field, kind in given.items() if not KINDS[kind](payload[field])]
    if wrong:
        raise StoreError("store-payload", f"event `{type_}`: {'; '.join(wrong)}", place)
