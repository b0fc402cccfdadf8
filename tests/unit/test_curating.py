"""What a person changes by hand: each change is an event, and an event is taken back by another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reflect_gate import ReflectGateError
from reflect_gate.memory.curating import MANUAL, retire, undo
from reflect_gate.memory.tracing import history
from reflect_store import EventStore, draft, memory_store, new_lesson

SIGNATURE = "a" * 64


def born(store: EventStore, name: str = "l", **changes: Any) -> str:
    """Add a lesson and return the event of its birth."""
    given: dict[str, Any] = {"failures": ["f"], "evidence": ["e"], "confidence": 0.5} | changes
    lesson = new_lesson("Check the result before use, because it may be empty.", "lang:python", **given)
    envelope = {"lesson_id": name, "signature": SIGNATURE, "project": {}, "red_flag": False, "bundle": "b" * 64}
    return added(store, "lesson-admitted", lesson=lesson, envelope=envelope, decision_id="d")


def added(store: EventStore, type_: str, **payload: Any) -> str:
    """Add an event and return its id."""
    event = draft(type_, payload)
    store.append([event])
    return event.id


def row(store: EventStore, name: str = "l") -> Any:
    """Return a lesson as it stands."""
    return store.get("lessons", name)


@pytest.fixture
def store() -> EventStore:
    """A store with one lesson in use."""
    made = memory_store()
    born(made)
    return made


def test_retiring_is_an_event_with_a_reason(store: EventStore) -> None:
    """R-g1: the lesson is out of use under a tombstone, its edge is gone, and history says who and why."""
    done = retire(store, "l", reason="the API  is\ngone")
    assert row(store)["standing"] == "retired"
    assert store.count("edges") == 0
    (event,) = [event for event in history(store, "l")[0] if event["type"] == "lesson-retired"]
    assert (event["event"], event["rule"], event["reason"]) == (done.events[0], MANUAL, "the API is gone")


def test_a_retirement_is_undone(store: EventStore) -> None:
    """The lesson is in use as before; both events stay."""
    before = row(store)
    retired = retire(store, "l", reason="a mistake").events[0]
    done = undo(store, retired, reason="it was right")
    assert row(store) == before
    assert store.count("edges") == 1
    assert [event["type"] for event in history(store, "l")[0]] == ["lesson-admitted", "lesson-retired", "lesson-restored"]
    assert (done.subject, done.version) == ("l", 3)


def test_undoing_an_undo_retires_again(store: EventStore) -> None:
    """A restoration is an event like another."""
    restored = undo(store, retire(store, "l", reason="a").events[0], reason="b").events[0]
    undo(store, restored, reason="c")
    assert row(store)["standing"] == "retired"


def test_a_promotion_is_undone_to_the_level_before(store: EventStore) -> None:
    """The level is the one of the promotion before, not the lowest."""
    why = {"rule": "lifecycle/helped", "reason": "helped"}
    added(store, "lesson-promoted", lesson_id="l", level="procedural", **why)
    last = added(store, "lesson-promoted", lesson_id="l", level="meta_strategy", **why)
    undone = undo(store, last, reason="counted wrongly").events[0]
    assert (row(store)["level"], row(store)["lesson"]["type"]) == ("procedural", "procedural")
    undo(store, undone, reason="counted rightly")
    assert row(store)["level"] == "meta_strategy"


def test_a_demotion_is_undone_with_its_successor(store: EventStore) -> None:
    """The lesson comes back at its level, and its successor is superseded by it, so that outcomes on it count for the lesson."""
    successor = new_lesson("Check the result.", "", failures=["f"], evidence=["e"], confidence=0.5, supersedes="l")
    envelope = {"lesson_id": "s", "signature": SIGNATURE, "project": {}, "red_flag": False, "bundle": "b" * 64}
    why = {"rule": "lifecycle/hurt", "reason": "hurt"}
    demoted = added(store, "lesson-demoted", lesson_id="l", successor=successor, envelope=envelope, **why)
    assert (row(store)["standing"], row(store, "s")["standing"]) == ("superseded", "active")
    undo(store, demoted, reason="hurts were another lesson's")
    assert (row(store)["standing"], row(store, "s")["standing"]) == ("active", "superseded")
    assert row(store, "s")["lesson"]["superseded_by"] == "l"
    assert store.verify().sound


def test_a_demotion_whose_successor_changed_is_not_undone(store: EventStore) -> None:
    """What happened to the successor must be taken back first."""
    successor = new_lesson("Check the result.", "", failures=["f"], evidence=["e"], confidence=0.5, supersedes="l")
    envelope = {"lesson_id": "s", "signature": SIGNATURE, "project": {}, "red_flag": False, "bundle": "b" * 64}
    demoted = added(store, "lesson-demoted", lesson_id="l", successor=successor, envelope=envelope, rule="r", reason="hurt")
    later = retire(store, "s", reason="it hurt, too").events[0]
    with pytest.raises(ReflectGateError, match=later) as caught:
        undo(store, demoted, reason="x")
    assert caught.value.code == "event-overtaken"


def test_an_admission_is_undone_by_retiring(store: EventStore) -> None:
    """What was born cannot be unborn; it goes out of use."""
    undo(store, born(store, "other"), reason="forged log")
    assert row(store, "other")["standing"] == "retired"


def test_a_flag_is_resolved(store: EventStore) -> None:
    """Undoing a flag that withdraws a lesson puts it back to use."""
    flag = added(store, "flag-raised", flag_id="x", kind="doubt", lesson_ids=["l"], withdraws=True, rule="", reason="seems odd")
    assert row(store)["standing"] == "flagged"
    undo(store, flag, reason="it is right")
    assert row(store)["standing"] == "active"
    with pytest.raises(ReflectGateError, match="not open any more"):
        undo(store, flag, reason="again")


def test_a_held_candidate_is_released(store: EventStore) -> None:
    """A candidate that a person dismisses waits no longer."""
    held = {"candidate_id": "c", "decision_id": "d", "signature": SIGNATURE, "reason": "thin_evidence", "conflicts": ["l"]}
    undo(store, added(store, "candidate-held", **held), reason="noise")
    found = store.get("candidates", "c")
    assert found is not None
    assert (found["status"], found["outcome"]) == ("released", "withdrawn: noise")


def test_only_the_last_change_is_undone(store: EventStore) -> None:
    """An older change would restore what a later one has already changed; the later one is named."""
    promoted = added(store, "lesson-promoted", lesson_id="l", level="procedural", rule="r", reason="helped")
    retired = retire(store, "l", reason="x").events[0]
    with pytest.raises(ReflectGateError, match=retired) as caught:
        undo(store, promoted, reason="y")
    assert caught.value.code == "event-overtaken"


@pytest.mark.parametrize(
    ("type_", "payload"),
    [
        ("not-reflected", {"failure_id": "f", "reason": "switched off"}),
        (
            "evidence-added",
            {"lesson_id": "l", "origin": {}, "evidence": [], "failures": ["g"], "successes": [], "counterexamples": []},
        ),
    ],
)
def test_what_is_history_is_not_undone(store: EventStore, type_: str, payload: dict[str, Any]) -> None:
    """Evidence and runs happened; no event takes them back."""
    with pytest.raises(ReflectGateError) as caught:
        undo(store, added(store, type_, **payload), reason="x")
    assert caught.value.code == "event-final"


def test_what_is_not_there_is_an_error(store: EventStore) -> None:
    """Unknown lessons and events, a lesson out of use, and a change without a reason."""
    wrong: dict[str, Callable[[], object]] = {
        "lesson-unknown": lambda: retire(store, "m", reason="x"),
        "event-unknown": lambda: undo(store, "m", reason="x"),
        "reason-missing": lambda: retire(store, "l", reason=" \n"),
    }
    for code, act in wrong.items():
        with pytest.raises(ReflectGateError) as caught:
            act()
        assert caught.value.code == code
    retire(store, "l", reason="x")
    with pytest.raises(ReflectGateError, match="retired already"):
        retire(store, "l", reason="x")


def test_an_erased_event_is_not_undone(store: EventStore) -> None:
    """What it changed is not known any more, and is not guessed."""
    retired = retire(store, "l", reason="x").events[0]
    store.redact(events=[retired], reason="test")
    with pytest.raises(ReflectGateError) as caught:
        undo(store, retired, reason="y")
    assert caught.value.code == "event-redacted"


def test_a_store_that_moves_is_read_again(store: EventStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer between reading and writing does not make a person try again."""
    real, moved = store.append, list[int]()

    def append(*arguments: Any, **options: Any) -> Any:
        if not moved:
            moved.append(1)
            real([draft("not-reflected", {"failure_id": "z", "reason": "busy"})])
        return real(*arguments, **options)

    monkeypatch.setattr(store, "append", append)
    retire(store, "l", reason="x")
    assert row(store)["standing"] == "retired"
