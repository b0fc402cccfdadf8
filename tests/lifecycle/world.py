"""A small world for lessons to live in: a store in memory with a clock that ticks, and tasks that end in it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from reflect_gate import Bundle
from reflect_gate.memory.recording import Outcome, Proof, Recorded, record
from reflect_store import Draft, EventStore, Row, draft, memory_store, new_lesson

__all__ = ["HOME", "SIGNATURE", "World", "snapshot"]

SIGNATURE = "a" * 64
HOME = "acme/shop"
STATEMENT = "Copy what a reader returns before the second pass, because a generator is exhausted after the first."


def _ticking() -> Callable[[], datetime]:
    seconds = itertools.count()
    return lambda: datetime(2026, 11, 30, 9, 30, tzinfo=UTC) + timedelta(seconds=next(seconds))


class World:
    """A store, and what happens in it; `tasks` numbers the tasks so that each is another one."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.store: EventStore = memory_store(clock=_ticking())
        self._tasks = itertools.count(1)

    def tell(self, *drafts: Draft) -> None:
        """Append events."""
        self.store.append(drafts)

    def fails(
        self, failure: str, *, repository: str = HOME, recalled: Sequence[str] = (), session: str = "", **more: Any
    ) -> None:
        """A run fails."""
        item = {"id": "e", "component": 12, "kind": "error", "seq": 0, "text": "IndexError: list index out of range"}
        record_: dict[str, Any] = {"failure_id": failure, "outcome": "escalated", "traces": [item], "diagnosis": None}
        whole = {**record_, "repair_delta": None, "successful_trajectory": []}
        origin = {key: value for key, value in (("repository", repository), ("session", session), ("task", failure)) if value}
        payload = {"failure_id": failure, "signature": SIGNATURE, "record": whole, "origin": origin, "recalled": list(recalled)}
        self.tell(draft("termination-recorded", {**payload, **more}))

    def lesson(self, name: str, *, red_flag: bool = False, statement: str = STATEMENT, supersedes: str | None = None) -> str:
        """A failure at home teaches a lesson; return its id."""
        failure = f"f-{name}"
        self.fails(failure)
        born = new_lesson(statement, "lang:python", failures=[failure], evidence=["e"], confidence=0.5, supersedes=supersedes)
        envelope = {"lesson_id": name, "signature": SIGNATURE, "project": {"repository": HOME}, "red_flag": red_flag}
        payload = {"lesson": born, "envelope": {**envelope, "bundle": "b" * 64}, "decision_id": f"d-{name}"}
        self.tell(draft("lesson-admitted", payload))
        return name

    def contradicted_by(self, name: str, failure: str) -> None:
        """A recalled lesson did not keep an executed failure of its signature from happening."""
        self.fails(failure, repository="acme/other", recalled=[name])
        grounds = {"evidence": [], "failures": [], "successes": [], "counterexamples": [failure]}
        self.tell(draft("evidence-added", {"lesson_id": name, "origin": {"repository": "acme/other"}, **grounds}))

    def ends(
        self, after: str, *lessons: str, before: str = "failing", repository: str = "acme/other", task: str = ""
    ) -> Recorded:
        """A task ends for which lessons were recalled."""
        name = task or f"task-{next(self._tasks)}"
        proof = Proof(exit_code=0 if after == "resolved" else 1)
        outcome = Outcome(after, before, proof, {"repository": repository, "task": name})  # type: ignore[arg-type]
        return record(self.store, self.bundle, outcome, lessons=lessons)

    def raw(self, after: str, effect: str, *lessons: str, repository: str = "acme/other", task: str = "") -> None:
        """A task ends, and nothing is swept."""
        name = task or f"task-{next(self._tasks)}"
        payload = {
            "outcome_id": f"o-{name}",
            "lesson_ids": list(lessons),
            "outcome": after,
            "withheld": False,
            "before": "failing",
        }
        where = {"origin": {"repository": repository, "task": name}, "evidence": {"exit_code": int(after != "resolved")}}
        self.tell(draft("outcome-recorded", {**payload, **where, "effects": dict.fromkeys(lessons, effect)}))

    def row(self, name: str) -> Row:
        """Return a lesson's row."""
        found = self.store.get("lessons", name)
        assert found is not None
        return found

    def last(self, type_: str) -> dict[str, Any]:
        """Return the payload of the last event of a type."""
        found = [event.data() for event in self.store.events() if event.type == type_]
        assert found
        assert found[-1] is not None
        return found[-1]


def snapshot(store: EventStore) -> list[tuple[str, dict[str, Any]]]:
    """Return every row that a lifecycle could change."""
    tables = ("lessons", "edges", "flags", "candidates", "outcomes", "history")
    return [(table, dict(row)) for table in tables for row in store.iterate(table)]  # type: ignore[arg-type]
