"""Stores in which one thing is wrong, each tripping one audit, and one in which nothing is."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from reflect_gate import Bundle, evaluate
from reflect_gate.memory.applying import apply
from reflect_store import Draft, EventStore, draft, memory_store, new_lesson

__all__ = ["PLANTED", "Shelf"]

STATEMENT = "When a loader may return None for a new session, check its result before subscripting, because state can be empty."
BLAMING = "When a suite fails on a new session, rerun it, because the tests were wrong and the framework is broken."
SHALLOW = "The colon on line 42 of parser.py was missing, and there was a typo in the variable name."
ERROR = "tests/test_cart.py::test_total FAILED\nTypeError: 'NoneType' object is not subscriptable"


class Shelf:
    """A store in memory, and how things get into it."""

    def __init__(self, bundle: Bundle, request: dict[str, Any]) -> None:
        self.bundle = bundle
        self.request = request
        self.store: EventStore = memory_store()

    def tell(self, *drafts: Draft) -> None:
        """Append events."""
        self.store.append(drafts)

    def learns(self, name: str, **change: str) -> str:
        """A failure teaches a lesson, the honest way."""
        document = copy.deepcopy(self.request)
        document["record"]["failure_id"] = name
        document["project"] = {"repository": "acme/shop", "task": f"task-{name}"}
        document["reflection"].update(change)
        done = apply(self.store, document, self.bundle)
        assert done.lesson_id is not None, done.decision.reason
        return done.lesson_id

    def fails(self, failure: str, mark: str = "a", *, recalled: Sequence[str] = (), session: str = "") -> None:
        """A run fails at acme/shop, with the signature that `mark` makes."""
        item = {"id": "e", "component": 12, "kind": "test_output", "seq": 0, "text": ERROR}
        record: dict[str, Any] = {"failure_id": failure, "outcome": "escalated", "traces": [item], "diagnosis": None}
        whole = {**record, "repair_delta": None, "successful_trajectory": []}
        origin = {"repository": "acme/shop", "task": failure, **({"session": session} if session else {})}
        payload = {"failure_id": failure, "signature": mark * 64, "record": whole, "origin": origin, "recalled": list(recalled)}
        self.tell(draft("termination-recorded", payload))

    def plants(
        self, name: str, statement: str, mark: str = "a", *, scope: str = "repo:acme/shop", decision: str = "", **more: Any
    ) -> str:
        """A lesson is put into the store past the gate; its failure is `f-<name>`."""
        self.fails(f"f-{name}", mark)
        born = new_lesson(statement, scope, failures=[f"f-{name}"], evidence=["e"], confidence=more.get("confidence", 0.5))
        envelope = {"lesson_id": name, "signature": mark * 64, "project": {"repository": "acme/shop"}, "bundle": "b" * 64}
        flagged = {**envelope, "red_flag": more.get("red_flag", False)}
        self.tell(draft("lesson-admitted", {"lesson": born, "envelope": flagged, "decision_id": decision or f"d-{name}"}))
        return name

    def decides(self, bundle: Bundle, failure: str, **change: Any) -> str:
        """A decision is kept, made by some bundle; return its id."""
        document = copy.deepcopy(self.request)
        document["record"]["failure_id"] = failure
        document["reflection"].update(change)
        decision = evaluate(document, bundle)
        inputs = {"reflection": document["reflection"]}
        self.tell(draft("decision-made", {"decision": decision.to_json(), "inputs": inputs}))
        return decision.decision_id

    def ends(self, lesson: str, after: str, times: int) -> None:
        """Tasks end for which a lesson was shown, and nothing is swept."""
        for number in range(times):
            name = f"{after}-{lesson}-{number}"
            effect = {"worse": "hurt", "resolved": "helped"}.get(after, "applied")
            proof = {"exit_code": int(after != "resolved")}
            what = {"outcome_id": name, "lesson_ids": [lesson], "outcome": after, "withheld": False, "before": "failing"}
            where = {"origin": {"repository": "acme/other", "task": name}, "evidence": proof, "effects": {lesson: effect}}
            self.tell(draft("outcome-recorded", {**what, **where}))


def introspecting(shelf: Shelf, naive: Bundle) -> None:
    """Everything that a model says is stored: the decisions of the naive baseline, and no rule grounded one."""
    for number in range(10):
        decision = shelf.decides(naive, f"f-{number}", candidate_lesson=f"{STATEMENT} Case {number}.")
        shelf.plants(f"lesson-{number}", STATEMENT, "abcdef0123"[number], decision=decision)


def confabulating(shelf: Shelf, naive: Bundle) -> None:
    """A lesson's cause is made up: the decision calls it grounded, and its cited evidence says nothing of the kind."""
    made_up = "The database lost the row because replication lagged behind the primary in us-east-1."
    decision = shelf.decides(naive, "f-0", failed_assumption=made_up, candidate_lesson=STATEMENT)
    shelf.plants("lesson-0", STATEMENT, decision=decision)


def deflecting(shelf: Shelf, _naive: Bundle) -> None:
    """A lesson blames the tests at full confidence, without a red flag."""
    shelf.plants("lesson-0", BLAMING)


def restating(shelf: Shelf, _naive: Bundle) -> None:
    """A lesson restates the line that went wrong."""
    shelf.plants("lesson-0", SHALLOW)


def unfalsifiable(shelf: Shelf, _naive: Bundle) -> None:
    """A lesson hurt three tasks, and is in use."""
    shelf.plants("lesson-0", STATEMENT)
    shelf.ends("lesson-0", "worse", 3)


def missing(shelf: Shelf, _naive: Bundle) -> None:
    """Three failures repeat that a lesson explains, and it was recalled into none."""
    shelf.plants("lesson-0", STATEMENT)
    for number in range(3):
        shelf.fails(f"again-{number}")


PLANTED = {
    "introspection-in-disguise": introspecting,
    "confabulated-cause": confabulating,
    "blame-deflection": deflecting,
    "shallow-restatement": restating,
    "unfalsifiable-store": unfalsifiable,
    "retrieval-miss": missing,
}
"""What is planted to trip each audit."""
