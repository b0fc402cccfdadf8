"""R-d1: a contradiction is settled by later evidence alone; the lesson is upheld, replaced, or both wait; nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest

from reflect_gate.memory.adjudicating import adjudicate
from reflect_gate.memory.settling import sweep_all
from reflect_store import draft

from .world import HOME, SIGNATURE, World, snapshot

RIVAL = "Read the whole file at once, because a second pass over a reader costs nothing."


def flag(world: World, *lessons: str, candidate: str | None = None, kind: str = "contradiction", withdraws: bool = False) -> None:
    """A contradiction is noted."""
    payload = {
        "flag_id": "flag-1",
        "kind": kind,
        "lesson_ids": list(lessons),
        "withdraws": withdraws,
        "rule": "",
        "reason": "a test",
    }
    world.tell(draft("flag-raised", payload if candidate is None else {**payload, "candidate_id": candidate}))


def hold(world: World, name: str, conflict: str) -> str:
    """A candidate that contradicts a lesson waits."""
    world.fails(f"f-{name}", repository=f"acme/{name}")
    payload: dict[str, Any] = {
        "candidate_id": name,
        "decision_id": f"d-{name}",
        "signature": SIGNATURE,
        "reason": "contradiction",
    }
    more = {"failure_id": f"f-{name}", "statement": RIVAL, "scope": "lang:python", "origin": {"repository": f"acme/{name}"}}
    world.tell(draft("candidate-held", {**payload, "conflicts": [conflict], **more}))
    return name


def corroborate(world: World, lesson: str, *failures: str) -> None:
    """Independent failures bear a lesson out."""
    for failure in failures:
        world.fails(failure, repository=f"acme/{failure}")
        grounds = {"evidence": [], "failures": [failure], "successes": [], "counterexamples": []}
        origin = {"repository": f"acme/{failure}", "task": failure}
        world.tell(draft("evidence-added", {"lesson_id": lesson, "origin": origin, **grounds}))


def status(world: World) -> tuple[str, str]:
    """Return how the flag stands and how it was settled."""
    row = world.store.get("flags", "flag-1")
    assert row is not None
    return row["status"], row.get("resolution", "")


def test_words_alone_settle_nothing(world: World) -> None:
    """R-d1: a flood of candidates that contradict a lesson leaves it in use."""
    name = world.lesson("l-1")
    flag(world, name, candidate=hold(world, "c-0", name))
    for number in range(1, 30):
        hold(world, f"c-{number}", name)
    version = world.store.version
    assert adjudicate(world.store, world.bundle) == []
    assert (world.store.version, world.row(name)["standing"], status(world)[0]) == (version, "active", "open")


def test_later_help_upholds_the_lesson_and_refutes_the_candidate(world: World) -> None:
    """R-d1: three tasks helped since, none hurt: the flag is resolved, the candidate released, the lesson untouched."""
    name = world.lesson("l-1")
    flag(world, name, candidate=hold(world, "c-1", name))
    for _ in range(3):
        world.raw("resolved", "helped", name)
    before = world.row(name)
    (change,) = adjudicate(world.store, world.bundle)
    assert (change.action, change.lesson_id, change.about) == ("uphold", name, "flag-1")
    assert (change.rule, change.measured) == ("adjudication/upheld", {"helped": 3, "hurt": 0, "for_candidate": 0})
    assert status(world) == ("resolved", "upheld")
    candidate = world.store.get("candidates", "c-1")
    assert candidate is not None
    assert (candidate["status"], candidate["outcome"].startswith("refuted: ")) == ("released", True)
    assert world.row(name) == before


def test_help_before_the_contradiction_does_not_count(world: World) -> None:
    """R-d1: only *later* evidence settles it."""
    name = world.lesson("l-1")
    for _ in range(3):
        world.raw("resolved", "helped", name)
    flag(world, name, candidate=hold(world, "c-1", name))
    assert adjudicate(world.store, world.bundle) == []


def test_a_rival_that_was_refuted_is_retired(world: World) -> None:
    """R-d1: of two lessons that both wait, the one that helps comes back into use and the other goes, with a tombstone."""
    name, rival = world.lesson("l-1"), world.lesson("l-2", statement=RIVAL)
    flag(world, name, rival, withdraws=True)
    assert world.row(name)["standing"] == "flagged"
    for _ in range(3):
        world.raw("resolved", "helped", name)
    (change,) = adjudicate(world.store, world.bundle)
    assert change.action == "uphold"
    assert (world.row(name)["standing"], world.row(rival)["standing"]) == ("active", "retired")
    assert [edge["lesson_id"] for edge in world.store.iterate("edges")] == [name]


def test_harm_and_corroboration_replace_the_lesson(world: World) -> None:
    """R-d1: a rival that independent failures bear out takes the place of a lesson that hurt; the old one keeps its lineage."""
    name, rival = world.lesson("l-1"), world.lesson("l-2", statement=RIVAL)
    flag(world, name, rival)
    corroborate(world, rival, "f-a", "f-b")
    world.raw("worse", "hurt", name)
    assert adjudicate(world.store, world.bundle) == []
    world.raw("worse", "hurt", name)
    (change,) = adjudicate(world.store, world.bundle)
    assert (change.action, change.superseded_by, change.rule) == ("replace", rival, "adjudication/outweighed")
    old = world.row(name)
    assert (old["standing"], old["lesson"]["superseded_by"]) == ("superseded", rival)
    assert status(world) == ("resolved", "replaced")
    assert world.store.verify().sound


def test_what_comes_from_one_place_is_one_corroboration(world: World) -> None:
    """R-d1: corroboration is independent or it does not count."""
    name, rival = world.lesson("l-1"), world.lesson("l-2", statement=RIVAL)
    flag(world, name, rival)
    for failure in ("f-a", "f-b"):
        world.fails(failure, session="s-1")
        grounds = {"evidence": [], "failures": [failure], "successes": [], "counterexamples": []}
        world.tell(draft("evidence-added", {"lesson_id": rival, "origin": {"session": "s-1", "task": failure}, **grounds}))
    for _ in range(2):
        world.raw("worse", "hurt", name)
    assert adjudicate(world.store, world.bundle) == []


def test_a_counterexample_counts_as_harm(world: World) -> None:
    """R-d1: an executed failure after the lesson was recalled speaks against it as a hurt task does."""
    name, rival = world.lesson("l-1"), world.lesson("l-2", statement=RIVAL)
    flag(world, name, rival)
    corroborate(world, rival, "f-a", "f-b")
    world.raw("worse", "hurt", name)
    world.contradicted_by(name, "f-against")
    assert [change.action for change in adjudicate(world.store, world.bundle)] == ["replace"]


@pytest.mark.parametrize("gone", ["lesson", "candidate"])
def test_a_flag_that_lost_a_party_is_closed(world: World, gone: str) -> None:
    """R-d1: where one side is out of use nothing is left to settle, and no rule is named."""
    name = world.lesson("l-1")
    flag(world, name, candidate=hold(world, "c-1", name))
    if gone == "lesson":
        why = {"rule": "", "reason": "a test"}
        world.tell(draft("lesson-retired", {"lesson_id": name, "tombstone_id": "gone", **why}))
    else:
        world.tell(draft("candidate-released", {"candidate_id": "c-1", "outcome": "a test"}))
    (change,) = adjudicate(world.store, world.bundle)
    assert (change.action, change.rule, status(world)) == ("close", "", ("resolved", "closed"))


def test_a_closed_flag_gives_the_other_lesson_back(world: World) -> None:
    """R-d1: a lesson that was only withdrawn because of its rival is in use again once the rival is gone."""
    name, rival = world.lesson("l-1"), world.lesson("l-2", statement=RIVAL)
    flag(world, name, rival, withdraws=True)
    why = {"rule": "", "reason": "a test"}
    world.tell(draft("lesson-retired", {"lesson_id": rival, "tombstone_id": "gone", **why}))
    assert [change.action for change in adjudicate(world.store, world.bundle)] == ["close"]
    assert world.row(name)["standing"] == "active"


def test_other_doubts_are_for_a_person(world: World) -> None:
    """A flag that is no contradiction waits for a person."""
    name = world.lesson("l-1")
    flag(world, name, kind="recurrence")
    for _ in range(3):
        world.raw("resolved", "helped", name)
    assert adjudicate(world.store, world.bundle) == []


def test_a_dry_run_changes_nothing(world: World) -> None:
    """What is due is said, and the store stays as it is; the named lessons alone are looked at."""
    name = world.lesson("l-1")
    flag(world, name, candidate=hold(world, "c-1", name))
    for _ in range(3):
        world.raw("resolved", "helped", name)
    before, version = snapshot(world.store), world.store.version
    assert [change.action for change in adjudicate(world.store, world.bundle, dry_run=True)] == ["uphold"]
    assert adjudicate(world.store, world.bundle, lessons=["l-9"]) == []
    assert (snapshot(world.store), world.store.version) == (before, version)


def test_settling_one_flag_settles_the_other(world: World) -> None:
    """R-g1: a sweep goes on until nothing is left: the rival that the second flag retires closes the first."""
    name, rival = world.lesson("l-1"), world.lesson("l-2", statement=RIVAL)
    flag(world, name, rival)
    world.raw("worse", "hurt", name)
    later = {
        "flag_id": "flag-2",
        "kind": "contradiction",
        "lesson_ids": [name, rival],
        "withdraws": False,
        "rule": "",
        "reason": "",
    }
    world.tell(draft("flag-raised", later))
    for _ in range(3):
        world.raw("resolved", "helped", name, repository=HOME)
    found = sweep_all(world.store, world.bundle)
    assert [(change.action, change.about) for change in found] == [("uphold", "flag-2"), ("close", "flag-1")]
