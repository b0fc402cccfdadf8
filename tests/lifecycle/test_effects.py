"""The effect of lessons: tasks that got one beside tasks from which it was withheld, and an honest word where they are few."""

from __future__ import annotations

from typing import Any

import pytest

from reflect_gate.errors import ReflectGateError
from reflect_gate.memory.effects import TOO_FEW, Effect, Side, effect_of, effects, least_compared
from reflect_store import draft

from .world import World


def task(world: World, name: str, lesson: str, after: str, *, withheld: bool = False, **fields: Any) -> None:
    """A task ends for which a retrieval showed or withheld a lesson."""
    origin = {"repository": "acme/other", "task": str(fields.pop("task", name))}
    payload = {"outcome_id": f"o-{name}", "lesson_ids": [lesson], "outcome": after, "withheld": withheld, "origin": origin}
    given = {"evidence": {"exit_code": 0}, "before": "failing", "retrieval_id": f"r-{name}", **fields}
    world.tell(draft("outcome-recorded", {**payload, **{key: value for key, value in given.items() if value is not None}}))


def test_tasks_are_told_apart_by_what_they_got(world: World) -> None:
    """R-i1: those that got the lesson on one side, those from which it was withheld on the other."""
    name = world.lesson("l-1")
    for number, after in enumerate(("resolved", "resolved", "unchanged")):
        task(world, f"given-{number}", name, after)
    for number, after in enumerate(("resolved", "worse")):
        task(world, f"withheld-{number}", name, after, withheld=True)
    assert effect_of(world.store, name) == Effect(name, Side(3, 3, 2, 0), Side(2, 2, 1, 1))


@pytest.mark.parametrize(
    ("fields", "counted"),
    [
        ({}, Side(1, 1, 1, 0)),
        ({"evidence": {"passed": 3, "failed": 0}}, Side(1, 1, 1, 0)),
        ({"evidence": {"report": "the user says so"}}, Side()),
        ({"retrieval_id": None}, Side()),
        ({"before": "passing"}, Side(1, 0, 0, 0)),
    ],
)
def test_what_is_compared(world: World, fields: dict[str, Any], counted: Side) -> None:
    """Only executed ends count, of tasks whose lesson could have been withheld; as resolved, only where failing before."""
    name = world.lesson("l-1")
    task(world, "t", name, "resolved", **fields)
    assert effect_of(world.store, name).given == counted


def test_a_task_counts_once(world: World) -> None:
    """Sessions of one task end alike, so they are one task, by its first end."""
    name = world.lesson("l-1")
    for number, after in enumerate(("unchanged", "resolved", "resolved")):
        task(world, f"t-{number}", name, after, task="the same")
    assert effect_of(world.store, name).given == Side(1, 1, 0, 0)


def test_tasks_of_an_ancestor_belong_to_its_successor(world: World) -> None:
    """A demoted lesson's figures are those of the lesson that stands for it."""
    name = world.lesson("l-1")
    task(world, "before", name, "resolved")
    for _ in range(3):
        world.ends("resolved", name)
    for _ in range(3):
        world.ends("worse", name)
    task(world, "after", name, "resolved")
    by = str(world.row(name)["lesson"]["superseded_by"])
    assert effect_of(world.store, name) == Effect(by, Side(2, 2, 2, 0), Side())


def test_all_lessons_come_first_then_those_that_were_withheld(world: World) -> None:
    """A lesson that was never withheld has nothing to be compared with; it counts in the total alone."""
    one, two, three = (world.lesson(f"l-{number}") for number in range(3))
    task(world, "a", one, "resolved")
    task(world, "b", two, "resolved", withheld=True)
    for number in range(2):
        task(world, f"c-{number}", three, "unchanged", withheld=bool(number))
    found = effects(world.store)
    assert [effect.lesson_id for effect in found] == ["", three, two]
    assert found[0] == Effect("", Side(2, 2, 1, 0), Side(2, 2, 1, 0))
    assert [effect.lesson_id for effect in effects(World(world.bundle).store)] == [""]


def test_an_unknown_lesson_is_an_error(world: World) -> None:
    """A misspelt id is not an effect of nothing."""
    with pytest.raises(ReflectGateError) as error:
        effect_of(world.store, "nope")
    assert error.value.code == "lesson-unknown"


@pytest.mark.parametrize(
    ("given", "withheld", "says"),
    [
        (Side(9, 9, 9, 0), Side(50, 50, 5, 0), TOO_FEW),
        (Side(50, 50, 45, 0), Side(9, 9, 0, 0), TOO_FEW),
        (Side(50, 0, 0, 0), Side(50, 0, 0, 0), TOO_FEW),
        (Side(), Side(), TOO_FEW),
        (Side(40, 40, 36, 0), Side(10, 10, 3, 0), "helps"),
        (Side(40, 40, 20, 0), Side(10, 10, 5, 0), "no difference seen"),
        (Side(40, 40, 4, 0), Side(10, 10, 8, 0), "hurts"),
        (Side(40, 40, 36, 30), Side(40, 40, 10, 0), "hurts"),
    ],
)
def test_what_can_be_said(world: World, given: Side, withheld: Side, says: str) -> None:
    """Nothing below the setting; then only what the interval of the difference leaves no doubt about."""
    assert Effect("l-1", given, withheld).says(least_compared(world.bundle)) == says
