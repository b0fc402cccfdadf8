"""What a person changes by hand: a lesson taken out of use, and an event taken back. Each is an event with the rule `manual`.

Nothing is rewritten. An event is taken back by a later one that restores what was before, and only while nothing else has
changed it since.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..errors import ReflectGateError
from .tracing import CHANGES, lesson_row

if TYPE_CHECKING:
    from reflect_store import Draft, Event, Row, Store

__all__ = ["MANUAL", "Changed", "retire", "undo"]

MANUAL: Final = "manual"
"""The rule that an event names which a person caused."""

_ATTEMPTS: Final = 8


class Changed(NamedTuple):
    """What a person changed: the lesson or, where none is meant, the flag or candidate; the events that say so."""

    subject: str
    events: tuple[str, ...]
    version: int


def _draft(type_: str, reason: str, **fields: Any) -> Draft:
    from reflect_store import draft

    return draft(type_, {**fields, "rule": MANUAL, "reason": reason})


def _commit(store: Store, decide: Callable[[], tuple[str, Sequence[Draft]]]) -> Changed:
    """Append what `decide` says of the store as it is; where the store has moved meanwhile, decide again."""
    from reflect_store import StoreError

    for attempt in range(_ATTEMPTS):
        version = store.version
        subject, drafts = decide()
        try:
            store.append(drafts, expected_version=version)
        except StoreError as error:
            if error.code != "store-moved" or attempt == _ATTEMPTS - 1:
                raise
        else:
            return Changed(subject, tuple(entry.id for entry in drafts), store.version)
    raise AssertionError("unreachable")


def _retired(row: Row, reason: str) -> Draft:
    from .sweeping import IN_USE, retirement

    if row["standing"] not in IN_USE:
        raise ReflectGateError("lesson-out-of-use", f"lesson `{row['id']}` is {row['standing']} already")
    return retirement(row, MANUAL, reason)[1]


def retire(store: Store, lesson_id: str, *, reason: str) -> Changed:
    """Take a lesson out of use, for a reason.

    Raises:
        ReflectGateError: `lesson-unknown`, `lesson-out-of-use` where it is retired or superseded already, `reason-missing`.
        StoreError: the store cannot be written.
    """
    said = _said(reason)
    return _commit(store, lambda: (lesson_id, [_retired(lesson_row(store, lesson_id), said)]))


def _said(reason: str) -> str:
    text = " ".join(reason.split())
    if not text:
        raise ReflectGateError("reason-missing", "a change by hand needs a reason")
    return text


def undo(store: Store, event_id: str, *, reason: str) -> Changed:
    """Take an event back by one or two later ones.

    A retirement, supersession, demotion or promotion is taken back by restoring the lesson to the level and use that it had (the
    successor of a demotion is superseded by it); an admission by retiring the lesson; a raised flag by resolving it; a held
    candidate by releasing it. What else happened stays: evidence and outcomes are history, not a state.

    Raises:
        ReflectGateError: `event-unknown`, `event-redacted`, `event-final` where no event takes that kind back, `event-overtaken`
            where something later must be undone first, `reason-missing`.
        StoreError: the store cannot be written.
    """
    said = _said(reason)
    return _commit(store, lambda: _taken_back(store, event_id, said))


def _taken_back(store: Store, event_id: str, reason: str) -> tuple[str, Sequence[Draft]]:
    event = store.event(event_id)
    if event is None:
        raise ReflectGateError("event-unknown", f"no event `{event_id}`")
    data = event.data()
    if data is None:
        raise ReflectGateError("event-redacted", f"event `{event_id}` was redacted, so what it changed is not known any more")
    taking = _UNDO.get(event.type)
    if taking is None:
        kinds = ", ".join(sorted(_UNDO))
        raise ReflectGateError("event-final", f"an event `{event.type}` cannot be taken back, only: {kinds}")
    return taking(store, event, data, reason)


def _last_change(store: Store, lesson_id: str) -> str | None:
    """Return the event that last changed a lesson's level or standing, `None` where none has since its birth."""
    for row in store.iterate("history", {"lesson_id": lesson_id}, newest=True):
        if row["type"] in CHANGES:
            event = store.event(row["event"])
            data = event.data() if event else None
            # A supersession is a part of the life of both lessons, and changes the one.
            if data is None or data["lesson_id"] == lesson_id:
                return str(row["event"])
    return None


def _only_if_last(store: Store, event: Event, lesson_id: str) -> Row:
    """Return the lesson, unless something has changed it since `event`."""
    row = lesson_row(store, lesson_id)
    last = _last_change(store, lesson_id)
    if last != event.id:
        raise ReflectGateError("event-overtaken", f"event `{last}` has changed lesson `{lesson_id}` since; undo that first")
    return row


def _undo_leaving(store: Store, event: Event, data: Mapping[str, Any], reason: str) -> tuple[str, Sequence[Draft]]:
    row = _only_if_last(store, event, data["lesson_id"])
    restored = _draft("lesson-restored", reason, lesson_id=row["id"], level=row["level"], undoes=event.id)
    return row["id"], [restored]


def _undo_demotion(store: Store, event: Event, data: Mapping[str, Any], reason: str) -> tuple[str, Sequence[Draft]]:
    successor = lesson_row(store, data["envelope"]["lesson_id"])
    changed = _last_change(store, successor["id"])
    if changed is not None:
        message = f"event `{changed}` has changed its successor `{successor['id']}` since; undo that first"
        raise ReflectGateError("event-overtaken", message)
    name, drafts = _undo_leaving(store, event, data, reason)
    return name, [*drafts, _draft("lesson-superseded", reason, lesson_id=successor["id"], by=name)]


def _undo_promotion(store: Store, event: Event, data: Mapping[str, Any], reason: str) -> tuple[str, Sequence[Draft]]:
    row = _only_if_last(store, event, data["lesson_id"])
    level = _level_before(store, event, row["id"])
    return row["id"], [_draft("lesson-restored", reason, lesson_id=row["id"], level=level, undoes=event.id)]


def _level_before(store: Store, event: Event, lesson_id: str) -> str:
    """Return the level that a lesson had before an event of its life."""
    level = "episodic"
    for row in store.iterate("history", {"lesson_id": lesson_id}):
        if row["event"] == event.id:
            break
        earlier = store.event(row["event"])
        data = (earlier.data() if earlier else None) or {}
        if row["type"] in ("lesson-promoted", "lesson-restored"):
            level = data.get("level", level)
        elif row["type"] == "lesson-demoted" and data and data["envelope"]["lesson_id"] == lesson_id:
            level = data["successor"]["type"]
        elif row["type"] == "lesson-admitted" and data:
            level = data["lesson"]["type"]
    return level


def _undo_restoration(store: Store, event: Event, data: Mapping[str, Any], reason: str) -> tuple[str, Sequence[Draft]]:
    row = _only_if_last(store, event, data["lesson_id"])
    undone = store.event(data["undoes"])
    before = (undone.data() if undone else None) or {}
    if undone is not None and undone.type == "lesson-promoted" and "level" in before:
        return row["id"], [_draft("lesson-promoted", reason, lesson_id=row["id"], level=before["level"])]
    if undone is not None and undone.type in ("lesson-retired", "lesson-admitted"):
        return row["id"], [_retired(row, reason)]
    raise ReflectGateError("event-final", f"what event `{event.id}` restored can only be retired")


def _undo_admission(store: Store, event: Event, data: Mapping[str, Any], reason: str) -> tuple[str, Sequence[Draft]]:
    row = lesson_row(store, data["envelope"]["lesson_id"])
    if row["event"] != event.id:
        raise ReflectGateError("event-final", f"lesson `{row['id']}` was born by event `{row['event']}`, not by this one")
    return row["id"], [_retired(row, reason)]


def _undo_flag(store: Store, _event: Event, data: Mapping[str, Any], reason: str) -> tuple[str, Sequence[Draft]]:
    flag = store.get("flags", data["flag_id"])
    if flag is None or flag["status"] != "open":
        raise ReflectGateError("event-overtaken", f"flag `{data['flag_id']}` is not open any more")
    return data["flag_id"], [_draft("flag-resolved", reason, flag_id=data["flag_id"], resolution="withdrawn")]


def _undo_hold(store: Store, _event: Event, data: Mapping[str, Any], reason: str) -> tuple[str, Sequence[Draft]]:
    from reflect_store import draft

    candidate = store.get("candidates", data["candidate_id"])
    if candidate is None or candidate["status"] != "held":
        raise ReflectGateError("event-overtaken", f"candidate `{data['candidate_id']}` is not held any more")
    released = {"candidate_id": data["candidate_id"], "outcome": f"withdrawn: {reason}"}
    return data["candidate_id"], [draft("candidate-released", released)]


_Undo = Callable[["Store", "Event", Mapping[str, Any], str], tuple[str, Sequence["Draft"]]]
_UNDO: Final[Mapping[str, _Undo]] = {
    "lesson-retired": _undo_leaving,
    "lesson-superseded": _undo_leaving,
    "lesson-demoted": _undo_demotion,
    "lesson-promoted": _undo_promotion,
    "lesson-restored": _undo_restoration,
    "lesson-admitted": _undo_admission,
    "flag-raised": _undo_flag,
    "candidate-held": _undo_hold,
}
"""How each type of event is taken back."""
