"""R-d1: held candidates are judged again once more speaks for them, and one that earned it replaces what it contradicts."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from reflect_gate import Bundle
from reflect_gate.memory.applying import Applied, apply
from reflect_gate.memory.recording import Outcome, Proof, record
from reflect_gate.memory.rejudging import replay
from reflect_gate.memory.revisiting import revisit
from reflect_gate.memory.settling import sweep_all
from reflect_store import EventStore, memory_store

THIN = {
    "oracle": "self_written",
    "expected": "0",
    "actual": "12",
    "text": "tests/test_cart.py::test_total FAILED: assert 12 == 0",
}


class Shop:
    """A store in which the failure of the request keeps happening, in other repositories and sessions."""

    def __init__(self, bundle: Bundle, request: dict[str, Any]) -> None:
        self.bundle = bundle
        self.store: EventStore = memory_store()
        self._request = request

    def fails(self, failure: str, *, thin: bool = False, repository: str = "", **reflection: Any) -> Applied:
        """The failure happens and is reflected on; `thin`: only a check of the agent's own shows it."""
        request = copy.deepcopy(self._request)
        request["record"]["failure_id"] = failure
        test = request["record"]["traces"][2]
        if thin:
            del test["error_class"]
            test.update(THIN)
        request["reflection"].update(scope="task:checkout", **reflection)
        place = {"repository": repository or f"acme/{failure}", "task": "checkout", "session": f"s-{failure}"}
        return apply(self.store, {**request, "project": place}, self.bundle)

    def hurts(self, lesson: str, task: str) -> None:
        """A task gets worse with the lesson; nothing but the outcome is recorded."""
        outcome = Outcome("worse", "passing", Proof(exit_code=1), {"repository": "acme/other", "task": task})
        record(self.store, self.bundle, outcome, lessons=[lesson])

    def held(self) -> int:
        """Return how many candidates wait."""
        return self.store.count("candidates", {"status": "held"})


@pytest.fixture
def shop(structured: Bundle, request_document: dict[str, Any]) -> Shop:
    """Return an empty shop."""
    return Shop(structured, request_document)


@pytest.fixture
def opposite(request_document: dict[str, Any]) -> str:
    """Return a lesson that says the opposite of the request's."""
    lesson: str = request_document["reflection"]["candidate_lesson"]
    return lesson.replace("check its result", "do not check its result")


def test_what_was_thin_is_admitted_once_independent_failures_came(shop: Shop) -> None:
    """R-d1: two candidates wait; a third independent failure, whose own reflection is refused, bears them out."""
    for failure in ("f-a", "f-b"):
        assert shop.fails(failure, thin=True).action == "held"
    assert revisit(shop.store, shop.bundle) == []
    assert shop.fails("f-c", thin=True, evidence_ids=["ghost"]).action == "refused"
    (change,) = revisit(shop.store, shop.bundle)
    assert (change.action, change.rule, shop.held()) == ("admit", "admission/earned", 0)
    row = shop.store.get("lessons", change.lesson_id)
    assert row is not None
    assert row["lesson"]["derived_from"]["failures"] == ["f-a", "f-b"]
    assert shop.store.verify().sound


def test_what_has_gained_nothing_is_left_alone(shop: Shop) -> None:
    """R-d1: without new evidence a candidate is not judged again, and nothing is written."""
    shop.fails("f-a", thin=True)
    version = shop.store.version
    assert sweep_all(shop.store, shop.bundle) == []
    assert (shop.store.version, shop.held()) == (version, 1)


def test_repeats_of_one_session_bear_nothing_out(shop: Shop) -> None:
    """R-d1: failures that are not independent do not count, however many there are."""
    shop.fails("f-a", thin=True)
    for number in range(4):
        request = copy.deepcopy(shop._request)
        request["record"]["failure_id"] = f"f-again-{number}"
        request["record"]["traces"][2].update(THIN)
        request["reflection"].update(scope="task:checkout", evidence_ids=["ghost"])
        apply(shop.store, {**request, "project": {"repository": f"acme/{number}", "session": "s-f-a"}}, shop.bundle)
    assert revisit(shop.store, shop.bundle) == []


def test_the_new_decision_can_be_replayed(shop: Shop) -> None:
    """R-x2: a candidate that was judged again has a decision of its own, which gives the same bytes again; the old one stays."""
    for failure in ("f-a", "f-b"):
        shop.fails(failure, thin=True)
    shop.fails("f-c", thin=True, evidence_ids=["ghost"])
    before = {row["decision_id"] for row in shop.store.iterate("decisions")}
    revisit(shop.store, shop.bundle)
    after = {row["decision_id"] for row in shop.store.iterate("decisions")}
    assert (before < after, len(after - before)) == (True, 1)
    assert all(replay(shop.store, decision, shop.bundle).identical for decision in after)


def test_a_dry_run_admits_nothing(shop: Shop) -> None:
    """R-d1: what is due is said for each candidate, and the store stays as it is."""
    for failure in ("f-a", "f-b"):
        shop.fails(failure, thin=True)
    shop.fails("f-c", thin=True, evidence_ids=["ghost"])
    version = shop.store.version
    due = revisit(shop.store, shop.bundle, dry_run=True)
    assert [change.action for change in due] == ["admit", "admit"]
    assert (shop.store.version, shop.held()) == (version, 2)


def test_a_candidate_takes_the_place_of_what_it_contradicted(shop: Shop, opposite: str) -> None:
    """R-d1: harm of the lesson and independent voices for the candidate: it is judged as if the lesson were not there."""
    lesson = shop.fails("f-a").lesson_id or ""
    for failure in ("f-b", "f-c", "f-d"):
        assert shop.fails(failure, candidate_lesson=opposite).action == "held"
    shop.hurts(lesson, "t-1")
    assert sweep_all(shop.store, shop.bundle) == []
    shop.hurts(lesson, "t-2")
    found = sweep_all(shop.store, shop.bundle)
    assert [change.action for change in found] == ["replace", "close", "close"]
    old, new = (shop.store.get("lessons", name) for name in (lesson, found[0].superseded_by or ""))
    assert old is not None
    assert new is not None
    assert (old["standing"], new["standing"], new["lesson"]["supersedes"]) == ("superseded", "active", lesson)
    assert (new["lesson"]["statement"], shop.held()) == (opposite, 0)
    assert sweep_all(shop.store, shop.bundle) == []


def test_a_candidate_is_free_once_what_it_contradicted_is_gone(shop: Shop, opposite: str) -> None:
    """R-d1: three hurts retire the lesson; the sweep closes the flag and admits the candidate on its own evidence."""
    lesson = shop.fails("f-a").lesson_id or ""
    assert shop.fails("f-b", candidate_lesson=opposite).action == "held"
    for task in ("t-1", "t-2", "t-3"):
        shop.hurts(lesson, task)
    assert [change.action for change in sweep_all(shop.store, shop.bundle)] == ["close", "admit"]
    assert (shop.held(), shop.store.count("lessons", {"standing": "active"})) == (0, 1)


def test_a_flood_of_contradictions_leaves_the_lesson_in_use(shop: Shop, opposite: str) -> None:
    """R-d1: whoever only contradicts switches nothing off, however many independent-looking candidates he brings."""
    lesson = shop.fails("f-a").lesson_id or ""
    for number in range(12):
        shop.fails(f"f-flood-{number}", candidate_lesson=opposite)
    assert sweep_all(shop.store, shop.bundle) == []
    row = shop.store.get("lessons", lesson)
    assert row is not None
    assert (row["standing"], shop.held()) == ("active", 12)


def test_a_redacted_candidate_is_passed_over(shop: Shop) -> None:
    """R-s1: a candidate whose decision was erased cannot be judged again."""
    for failure in ("f-a", "f-b"):
        shop.fails(failure, thin=True)
    shop.fails("f-c", thin=True, evidence_ids=["ghost"])
    shop.store.redact(events=[row["event"] for row in shop.store.iterate("decisions")], reason="a test")
    assert revisit(shop.store, shop.bundle) == []
