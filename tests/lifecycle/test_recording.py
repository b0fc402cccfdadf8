"""R-i1: a task's end counts as applied, helped or hurt, by what was executed, once a task, and never as both."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from reflect_gate import Bundle, load_bundle, schemas
from reflect_gate.errors import ReflectGateError
from reflect_gate.measure.checks import Checks
from reflect_gate.memory.recording import Outcome, Proof, contradiction, record
from reflect_gate.stages import record as stage
from reflect_gate.stages._judgement import Judgement
from reflect_store import draft

from .world import World

AFTER, BEFORE = ("resolved", "worse", "unchanged"), ("failing", "passing", "unknown")
HERE = {"repository": "acme/other", "task": "fix the cart"}


def recalled(world: World, retrieval: str, *lessons: str, withheld: str = "", origin: Mapping[str, str] = HERE) -> None:
    """A retrieval shows lessons and withholds another."""
    kept = [withheld] if withheld else []
    payload = {"retrieval_id": retrieval, "lesson_ids": list(lessons), "withheld": kept, "origin": dict(origin)}
    world.tell(draft("lessons-recalled", {**payload, "query": "q"}))


def counts(world: World, name: str) -> tuple[int, int, int]:
    """Return how often a lesson was applied, helped and hurt."""
    lesson = world.row(name)["lesson"]
    return lesson["times_applied"], lesson["times_helped"], lesson["times_hurt"]


@pytest.mark.parametrize(
    ("after", "before", "proof", "expected"),
    [
        ("resolved", "failing", Proof(exit_code=0), (1, 1, 0)),
        ("resolved", "failing", Proof(checks=Checks(3, 0)), (1, 1, 0)),
        ("resolved", "unknown", Proof(exit_code=0), (1, 0, 0)),
        ("resolved", "passing", Proof(exit_code=0), (1, 0, 0)),
        ("resolved", "failing", Proof(note="the user says so"), (1, 0, 0)),
        ("worse", "passing", Proof(exit_code=1), (1, 0, 1)),
        ("worse", "unknown", Proof(checks=Checks(3, 1)), (1, 0, 1)),
        ("worse", "passing", Proof(note="the user says so"), (1, 0, 0)),
        ("unchanged", "failing", Proof(exit_code=1), (1, 0, 0)),
    ],
)
def test_what_counts(world: World, after: str, before: str, proof: Proof, expected: tuple[int, int, int]) -> None:
    """R-i1: helped is failing before and resolved, hurt is worse, both executed; everything else is applied."""
    name = world.lesson("l-1")
    done = record(world.store, world.bundle, Outcome(after, before, proof, HERE), lessons=[name])  # type: ignore[arg-type]
    assert counts(world, name) == expected
    assert tuple(done.lessons[name]) == expected


@pytest.mark.parametrize(
    ("after", "before", "proof", "word"),
    [
        ("resolved", "failing", Proof(exit_code=1), "failed"),
        ("resolved", "unknown", Proof(checks=Checks(9, 1)), "failed"),
        ("worse", "passing", Proof(exit_code=0), "passed"),
        ("unchanged", "failing", Proof(exit_code=0), "passed"),
        ("unchanged", "passing", Proof(checks=Checks(0, 2)), "failed"),
        ("resolved", "failing", Proof(exit_code=0, checks=Checks(1, 1)), "the exit code is 0"),
        ("resolved", "failing", Proof(exit_code=2, checks=Checks(1, 0)), "the exit code is 2"),
    ],
)
def test_a_claim_that_was_refuted_is_an_error(world: World, after: str, before: str, proof: Proof, word: str) -> None:
    """R-i1: no agent records its own outcome: an exit code or a report that says otherwise stops the record."""
    name = world.lesson("l-1")
    with pytest.raises(ReflectGateError) as error:
        record(world.store, world.bundle, Outcome(after, before, proof, HERE), lessons=[name])  # type: ignore[arg-type]
    assert (error.value.code, word in error.value.message) == ("outcome-contradicted", True)
    assert counts(world, name) == (0, 0, 0)


@pytest.mark.parametrize(("after", "before", "code"), list(itertools.product(AFTER, BEFORE, (0, 1, None))))
def test_no_outcome_is_refused_for_every_proof(after: str, before: str, code: int | None) -> None:
    """Every claim agrees with some proof; without a proof nothing contradicts it."""
    outcome = Outcome(after, before, Proof(exit_code=code), {})  # type: ignore[arg-type]
    other = outcome._replace(proof=Proof(exit_code=None if code is None else 1 - code))
    assert contradiction(outcome) is None or contradiction(other) is None


def test_recording_a_task_again_adds_nothing(world: World) -> None:
    """R-i1: idempotent per task; the same task in another session is another application."""
    name = world.lesson("l-1")
    outcome = Outcome("resolved", "failing", Proof(exit_code=0), HERE)
    first = record(world.store, world.bundle, outcome, lessons=[name])
    version = world.store.version
    again = record(world.store, world.bundle, outcome, lessons=[name])
    assert (first.added, again.added, world.store.version) == (True, False, version)
    assert (again.outcome_id, again.effects) == (first.outcome_id, {name: "helped"})
    other = outcome._replace(origin={**HERE, "session": "s-2"})
    assert record(world.store, world.bundle, other, lessons=[name]).added
    assert counts(world, name) == (2, 2, 0)


def test_a_task_has_one_outcome(world: World) -> None:
    """R-i1: helped XOR hurt: what was recorded as resolved cannot become worse."""
    name = world.lesson("l-1")
    record(world.store, world.bundle, Outcome("resolved", "failing", Proof(exit_code=0), HERE), lessons=[name])
    with pytest.raises(ReflectGateError) as error:
        record(world.store, world.bundle, Outcome("worse", "failing", Proof(exit_code=1), HERE), lessons=[name])
    assert error.value.code == "outcome-conflict"
    assert counts(world, name) == (1, 1, 0)


def test_a_retrieval_brings_lessons_and_task(world: World) -> None:
    """R-i1: the retrieval says which lessons were shown and which withheld; what is withheld counts as neither."""
    shown, kept = world.lesson("l-1"), world.lesson("l-2")
    recalled(world, "r-1", shown, withheld=kept)
    done = record(world.store, world.bundle, Outcome("resolved", "failing", Proof(exit_code=0), {}), retrieval_id="r-1")
    assert (done.effects, done.withheld) == ({shown: "helped"}, (kept,))
    assert (counts(world, shown), counts(world, kept)) == ((1, 1, 0), (0, 0, 0))
    row = world.store.get("outcomes", f"{done.outcome_id}\n{kept}")
    assert row is not None
    assert (row["withheld"], row["retrieval_id"], row["origin"]) == (True, "r-1", HERE)


def test_two_retrievals_of_one_task_are_one_application(world: World) -> None:
    """R-i1: a lesson shown at the start and again at the error was applied to one task."""
    first, second = world.lesson("l-1"), world.lesson("l-2")
    recalled(world, "r-1", first)
    recalled(world, "r-2", first, second)
    for retrieval in ("r-1", "r-2"):
        outcome = Outcome("resolved", "failing", Proof(exit_code=0), {})
        record(world.store, world.bundle, outcome, retrieval_id=retrieval)
    assert (counts(world, first), counts(world, second)) == ((1, 1, 0), (1, 1, 0))


def test_only_lessons_that_were_shown_can_be_named(world: World) -> None:
    """Of a retrieval a part may have been used; what it did not show was not recalled."""
    one, two = world.lesson("l-1"), world.lesson("l-2")
    recalled(world, "r-1", one)
    outcome = Outcome("resolved", "failing", Proof(exit_code=0), {})
    with pytest.raises(ReflectGateError) as error:
        record(world.store, world.bundle, outcome, retrieval_id="r-1", lessons=[two])
    assert error.value.code == "outcome-lessons"
    assert record(world.store, world.bundle, outcome, retrieval_id="r-1", lessons=[one]).effects == {one: "helped"}


def test_a_task_that_nothing_names_is_named_by_its_retrieval(world: World) -> None:
    """Recording twice must be harmless, so a task needs a name; without a retrieval that is an error."""
    name = world.lesson("l-1")
    recalled(world, "r-1", name, origin={})
    outcome = Outcome("resolved", "failing", Proof(exit_code=0), {})
    assert record(world.store, world.bundle, outcome, retrieval_id="r-1").added
    assert not record(world.store, world.bundle, outcome, retrieval_id="r-1").added
    with pytest.raises(ReflectGateError) as error:
        record(world.store, world.bundle, outcome, lessons=[name])
    assert error.value.code == "outcome-task"


def test_what_is_not_there_is_named(world: World) -> None:
    """An unknown retrieval or lesson, and a retrieval without lessons, are errors of their own."""
    outcome = Outcome("resolved", "failing", Proof(exit_code=0), HERE)
    recalled(world, "empty")
    wrong: dict[str, dict[str, Any]] = {
        "retrieval-unknown": {"retrieval_id": "nope"},
        "lesson-unknown": {"lessons": ["nope"]},
        "outcome-lessons": {"retrieval_id": "empty"},
    }
    for code, options in wrong.items():
        with pytest.raises(ReflectGateError) as error:
            record(world.store, world.bundle, outcome, **options)
        assert error.value.code == code


@pytest.mark.parametrize("origin", [{"task": "t", "commit": "c" * 5_000}, {"task": "t" * 70_000}, {"task": "bytes \udcff"}])
def test_a_place_that_cannot_be_kept_is_an_error(world: World, origin: dict[str, str]) -> None:
    """R-s1: what is written must hold to the schema of events, or another store could not import it."""
    name = world.lesson("l-1")
    with pytest.raises(ReflectGateError) as error:
        record(world.store, world.bundle, Outcome("resolved", "failing", Proof(exit_code=0), origin), lessons=[name])
    assert error.value.code == "outcome-origin"


def test_every_event_holds_to_its_schema(world: World) -> None:
    """R-s1: what record and sweep write is what `store import` takes elsewhere."""
    name = world.lesson("l-1")
    for after in ("resolved",) * 3 + ("worse",) * 6:
        world.ends(after, name)
    written = [event for event in world.store.events() if event.type.startswith(("outcome", "lesson"))]
    assert {event.type for event in written} >= {"outcome-recorded", "lesson-promoted", "lesson-demoted", "lesson-retired"}
    for event in written:
        schemas.check("event", event.to_json(), event.type)


def test_a_secret_in_the_evidence_is_not_kept(world: World) -> None:
    """R-b1: what shows the outcome may have been pasted from a terminal."""
    name, secret = world.lesson("l-1"), "ghp_" + "A1b2C3d4E5f6" * 3
    proof = Proof(exit_code=0, note=f"token {secret}")
    record(world.store, world.bundle, Outcome("resolved", "failing", proof, HERE), lessons=[name])
    assert secret not in str(world.last("outcome-recorded"))
    assert "redacted" in world.last("outcome-recorded")["evidence"]["report"]


def test_an_outcome_on_a_demoted_lesson_counts_for_its_successor(world: World) -> None:
    """R-g1: the figures shown are those of the lesson that the outcome counts for."""
    name = world.lesson("l-1")
    for _ in range(3):
        world.ends("resolved", name)
    for _ in range(3):
        world.ends("worse", name)
    done = world.ends("resolved", name)
    by = str(world.row(name)["lesson"]["superseded_by"])
    assert {lesson: tuple(found) for lesson, found in done.lessons.items()} == {by: (1, 1, 0)}


def test_counts_are_those_before_the_lifecycle_answers(world: World) -> None:
    """R-i1: the figures are of the lesson that the outcome counts for, not of the successor that it brings about."""
    name = world.lesson("l-1")
    for _ in range(3):
        world.ends("resolved", name)
    done = [world.ends("worse", name) for _ in range(3)][-1]
    assert [change.action for change in done.changes] == ["demote"]
    assert {lesson: tuple(found) for lesson, found in done.lessons.items()} == {name: (6, 3, 3)}


def test_recording_again_makes_up_for_a_sweep_that_was_cut_off(world: World, structured: Bundle) -> None:
    """R-i1: the outcome is kept before its lessons are swept; recorded again it adds nothing, and the sweep is done."""
    name = world.lesson("l-1")
    world.bundle = load_bundle("structured", disable=["lifecycle"], cache=False)
    for number in range(3):
        assert world.ends("resolved", name, task=f"t-{number}").changes == ()
    world.bundle = structured
    again = world.ends("resolved", name, task="t-2")
    assert (again.added, [change.action for change in again.changes]) == (False, ["promote"])


def test_intervals_are_wilsons(world: World) -> None:
    """R-i1: three of three helped is between 44 and 100 per cent."""
    name = world.lesson("l-1")
    done = [world.ends("resolved", name) for _ in range(3)][-1]
    assert done.lessons[name].intervals["helped"] == pytest.approx((0.4385, 1.0), abs=1e-4)


@pytest.mark.parametrize(("verdict", "helped", "hurt"), [("applied", 0, 0), ("helped", 1, 0), ("hurt", 0, 1)])
def test_the_stage_output_counts_one_thing(verdict: str, helped: int, hurt: int) -> None:
    """R-i1: `times_applied` always, then helped XOR hurt or neither, S2 3.9."""
    lesson = {"times_applied": 5, "times_helped": 2, "times_hurt": 1}
    after = stage.conclude(lesson, Judgement(verdict, ()))
    assert after == {"times_applied": 6, "times_helped": 2 + helped, "times_hurt": 1 + hurt}
