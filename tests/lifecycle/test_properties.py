"""Whatever happens to lessons: helped XOR hurt, one level at a time, no edge to what is out of use, sweeping twice is once."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reflect_gate import Bundle
from reflect_gate.errors import ReflectGateError
from reflect_gate.memory.recording import Recorded
from reflect_gate.memory.settling import sweep_all
from reflect_gate.memory.sweeping import LEVELS, Change
from reflect_store import draft

from .world import HOME, World, snapshot

LESSONS = ("l-0", "l-1")
REPOSITORIES = st.sampled_from((HOME, "acme/a", "acme/b", ""))
LESSON = st.sampled_from(LESSONS)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ends"), LESSON, st.sampled_from(("resolved", "worse", "unchanged")), REPOSITORIES, st.integers(0, 30)),
        # Runs of one kind are what moves a lesson; single steps seldom do.
        st.tuples(st.just("run"), LESSON, st.just("resolved"), st.just("acme/a"), st.integers(3, 7)),
        st.tuples(st.just("run"), LESSON, st.just("worse"), REPOSITORIES, st.integers(2, 4)),
        st.tuples(st.just("arc"), LESSON, st.integers(1, 3)),
        st.tuples(st.just("against"), LESSON),
        st.tuples(st.just("restore"), LESSON),
        st.tuples(st.just("flag"), st.booleans()),
        st.tuples(st.just("sweep")),
    ),
    max_size=12,
)
FEW = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def standing_for(world: World, name: str) -> str:
    """Return the lesson that stands for an id now."""
    row = world.row(name)
    while row["standing"] == "superseded":
        row = world.row(row["lesson"]["superseded_by"])
    return str(row["id"])


class Played:
    """A world in which steps were played, with every change that the lifecycle made."""

    def __init__(self, bundle: Bundle, steps: list[tuple[Any, ...]]) -> None:
        self.world = World(bundle)
        self.changes: list[Change] = []
        self.number = 0
        for name in LESSONS:
            self.world.lesson(name)
        for kind, *arguments in steps:
            getattr(self, f"_{kind}")(*arguments)

    def _record(self, after: str, lesson: str, repository: str, task: str) -> None:
        try:
            done: Recorded = self.world.ends(
                after, lesson, before="unknown" if after == "unchanged" else "failing", repository=repository, task=task
            )
        except ReflectGateError as error:
            assert error.code == "outcome-conflict"  # noqa: PT017 - the one refusal that a task's second end may meet
            return
        self.changes += done.changes

    def _ends(self, lesson: str, after: str, repository: str, task: int) -> None:
        self._record(after, lesson, repository, f"task-{task}")

    def _run(self, lesson: str, after: str, repository: str, times: int) -> None:
        for _ in range(times):
            self.number += 1
            self._record(after, lesson, repository, f"run-{self.number}")

    def _arc(self, lesson: str, rises: int) -> None:
        """A lesson rises, perhaps to the top, and falls a step."""
        self._run(lesson, "resolved", "acme/b", 3 * rises)
        self._run(lesson, "worse", "acme/b", 3)

    def _against(self, lesson: str) -> None:
        self.number += 1
        self.world.contradicted_by(standing_for(self.world, lesson), f"f-against-{self.number}")

    def _restore(self, lesson: str) -> None:
        row = self.world.row(standing_for(self.world, lesson))
        if row["standing"] == "retired":
            why = {"rule": "manual", "reason": "a test", "undoes": "e"}
            self.world.tell(draft("lesson-restored", {"lesson_id": row["id"], "level": row["level"], **why}))

    def _flag(self, withdraws: bool) -> None:
        self.number += 1
        payload = {"flag_id": f"flag-{self.number}", "kind": "contradiction", "lesson_ids": list(LESSONS), "withdraws": withdraws}
        self.world.tell(draft("flag-raised", {**payload, "rule": "", "reason": "a test"}))

    def _sweep(self) -> None:
        self.changes += sweep_all(self.world.store, self.world.bundle)


@FEW
@given(steps=STEPS)
def test_helped_or_hurt_and_never_both(structured: Bundle, steps: list[tuple[Any, ...]]) -> None:
    """R-i1: each outcome counts once for a lesson, and the counts are those of its outcomes."""
    world = Played(structured, steps).world
    outcomes = list(world.store.iterate("outcomes"))
    for row in world.store.iterate("lessons"):
        own = [outcome["effect"] for outcome in outcomes if outcome["counted_on"] == row["id"]]
        lesson = row["lesson"]
        assert (lesson["times_applied"], lesson["times_helped"], lesson["times_hurt"]) == (
            len(own),
            own.count("helped"),
            own.count("hurt"),
        )


@FEW
@given(steps=STEPS)
def test_levels_move_one_step(structured: Bundle, steps: list[tuple[Any, ...]]) -> None:
    """R-g1: up one on promotion, down one on demotion, not at all when a lesson goes."""
    for change in Played(structured, steps).changes:
        step = {"promote": 1, "demote": -1}.get(change.action, 0)
        assert LEVELS.index(change.level) - LEVELS.index(change.before) == step


@FEW
@given(steps=STEPS)
def test_nothing_out_of_use_explains_a_failure(structured: Bundle, steps: list[tuple[Any, ...]]) -> None:
    """R-g1: edges lead to lessons in use alone, each of them has its edge, and one that is not names what stands in its place."""
    world = Played(structured, steps).world
    joined = {edge["lesson_id"] for edge in world.store.iterate("edges")}
    rows = list(world.store.iterate("lessons"))
    assert joined == {row["id"] for row in rows if row["standing"] in ("active", "flagged")}
    for row in rows:
        assert (row["lesson"]["superseded_by"] is None) == (row["id"] in joined)


@FEW
@given(steps=STEPS)
def test_sweeping_comes_to_rest(structured: Bundle, steps: list[tuple[Any, ...]]) -> None:
    """R-g1: a sweep leaves nothing for a second one, and a dry run of it says nothing and writes nothing."""
    world = Played(structured, [*steps, ("sweep",)]).world
    version = world.store.version
    assert sweep_all(world.store, world.bundle, dry_run=True) == []
    assert sweep_all(world.store, world.bundle) == []
    assert world.store.version == version


@FEW
@given(steps=STEPS)
def test_a_dry_run_writes_nothing(structured: Bundle, steps: list[tuple[Any, ...]]) -> None:
    """R-g1: before and after a dry run the store is the same, and its first step is that of the sweep that follows."""
    world = Played(structured, steps).world
    before, version = snapshot(world.store), world.store.version
    due = sweep_all(world.store, world.bundle, dry_run=True)
    assert (snapshot(world.store), world.store.version) == (before, version)
    done = [change._replace(events=()) for change in sweep_all(world.store, world.bundle)]
    assert done[:1] == due[:1]


@FEW
@given(steps=STEPS)
def test_the_rows_follow_from_the_events(structured: Bundle, steps: list[tuple[Any, ...]]) -> None:
    """R-s1: whatever the lifecycle did, folding its events anew gives the same rows."""
    assert Played(structured, steps).world.store.verify().problems == ()
