"""The back ends that the tests run on (a server's is in `tenants.py`), and events as a gate would tell them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from reflect_store import Draft, EventStore, draft, memory_store, new_lesson, open_store

__all__ = ["BACKENDS", "Make", "Told", "ticking"]

Make: TypeAlias = Callable[[], EventStore]
Clock: TypeAlias = Callable[[], datetime]

BACKENDS: Mapping[str, Callable[[Path, Clock], EventStore]] = {
    "memory": lambda _path, clock: memory_store(clock=clock),
    "sqlite": lambda path, clock: open_store(path, create=True, clock=clock),
}


def ticking(start: datetime = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)) -> Clock:
    """Return a clock that moves a second at every look."""
    seconds = itertools.count()
    return lambda: start + timedelta(seconds=next(seconds))


class Told:
    """Events as a gate would tell them, with ids that a test can name."""

    SIGNATURE = "a" * 64

    @staticmethod
    def lesson(**changes: Any) -> Any:
        """Return a lesson."""
        given: dict[str, Any] = {
            "statement": "Copy what a reader returns before the second pass, because a generator is exhausted after the first.",
            "scope": "lang:python",
            "failures": ["f-1"],
            "evidence": ["t-1"],
            "confidence": 0.5,
        }
        return new_lesson(**(given | changes))

    @classmethod
    def envelope(cls, name: str, signature: str = SIGNATURE) -> dict[str, Any]:
        """Return what is kept beside a lesson."""
        return {"lesson_id": name, "signature": signature, "project": {}, "red_flag": False, "bundle": "b" * 64}

    @classmethod
    def admitted(cls, name: str, signature: str = SIGNATURE, **changes: Any) -> Draft:
        """A lesson is born."""
        payload = {"lesson": cls.lesson(**changes), "envelope": cls.envelope(name, signature), "decision_id": f"d-{name}"}
        return draft("lesson-admitted", payload)

    @classmethod
    def merged(cls, name: str, failure: str, signature: str = SIGNATURE) -> Draft:
        """A later failure says the same."""
        grounds = {"evidence": [f"t-{failure}"], "failures": [failure], "successes": [], "counterexamples": []}
        named = {"lesson_id": name, "decision_id": f"d-{failure}", "failure_id": failure, "signature": signature}
        return draft("lesson-merged", {**named, "origin": {"repository": "acme/other"}, **grounds})

    @staticmethod
    def outcome(name: str, *lessons: str, outcome: str = "resolved", withheld: bool = False, **more: Any) -> Draft:
        """A task ends."""
        payload = {"outcome_id": name, "lesson_ids": list(lessons), "outcome": outcome, "withheld": withheld}
        return draft("outcome-recorded", {**payload, "origin": {"task": name}, "evidence": {"exit_code": 0}} | more)

    @staticmethod
    def recalled(name: str, *lessons: str, withheld: tuple[str, ...] = (), **origin: str) -> Draft:
        """Lessons are shown for a task."""
        payload = {"retrieval_id": name, "lesson_ids": list(lessons), "withheld": list(withheld), "origin": origin}
        return draft("lessons-recalled", {**payload, "query": "e" * 64})

    @classmethod
    def held(cls, name: str, **fields: Any) -> Draft:
        """A candidate waits."""
        payload = {"candidate_id": name, "decision_id": f"d-{name}", "signature": cls.SIGNATURE, "reason": "contradicts"}
        return draft("candidate-held", {**payload, "conflicts": []} | fields)

    @staticmethod
    def released(name: str) -> Draft:
        """A candidate waits no longer."""
        return draft("candidate-released", {"candidate_id": name, "outcome": "dropped"})

    @staticmethod
    def supported(name: str, origin: dict[str, str], **grounds: list[str]) -> Draft:
        """A lesson gains grounds."""
        none: dict[str, list[str]] = {"evidence": [], "failures": [], "successes": [], "counterexamples": []}
        return draft("evidence-added", {"lesson_id": name, "origin": origin, **none, **grounds})

    @classmethod
    def demoted(cls, name: str, successor: str) -> Draft:
        """A lesson falls a level."""
        payload = {"lesson_id": name, "successor": cls.lesson(supersedes=name), "envelope": cls.envelope(successor)}
        return draft("lesson-demoted", {**payload, "rule": "lifecycle/hurts", "reason": "hurts"})

    @staticmethod
    def changed(kind: str, name: str, **fields: Any) -> Draft:
        """A lesson's standing or level changes."""
        return draft(f"lesson-{kind}", {"lesson_id": name, "rule": "", "reason": "a test", **fields})

    @staticmethod
    def flagged(flag: str, *lessons: str, withdraws: bool) -> Draft:
        """Lessons are in doubt."""
        payload = {"flag_id": flag, "kind": "contradiction", "lesson_ids": list(lessons), "withdraws": withdraws}
        return draft("flag-raised", {**payload, "rule": "", "reason": "a test"})

    @staticmethod
    def resolved(flag: str) -> Draft:
        """A doubt is settled."""
        return draft("flag-resolved", {"flag_id": flag, "resolution": "kept", "rule": "", "reason": "a test"})

    @staticmethod
    def skipped(name: str, reason: str = "switched off", id_: str | None = None) -> Draft:
        """A failure is not reflected on: the smallest event."""
        return draft("not-reflected", {"failure_id": name, "reason": reason}, id_=id_)

    @classmethod
    def failed(cls, name: str, text: str = "", **more: Any) -> Draft:
        """A run fails."""
        record: dict[str, Any] = {"failure_id": name, "outcome": None, "traces": [], "diagnosis": None, "repair_delta": None}
        item = {"id": "e", "component": 12, "kind": "error", "seq": 0, "text": text}
        whole = {**record, "traces": [item], "successful_trajectory": []}
        payload = {"failure_id": name, "signature": cls.SIGNATURE, "record": whole, "origin": {"repository": "acme/shop"}}
        return draft("termination-recorded", {**payload, "recalled": []} | more)

    @classmethod
    def decided(cls, name: str, lesson: str | None = None, view: dict[str, Any] | None = None, **inputs: Any) -> Draft:
        """The gate decides; of the decision only what the store reads."""
        decision: dict[str, Any] = {
            "decision_id": name,
            "failure_id": "f-1",
            "signature": cls.SIGNATURE,
            "bundle": {"digest": "b" * 64},
        }
        decision |= {"status": "admitted" if lesson else "refused", "reason": None if lesson else "shallow"}
        decision |= {"lesson": cls.lesson() if lesson else None, "envelope": cls.envelope(lesson) if lesson else None}
        return draft("decision-made", {"decision": decision, "inputs": inputs | ({"store_view": view} if view else {})})
