"""R-g1: lessons rise by helping elsewhere, fall by hurting, go by one counterexample; every change is one event with its rule."""

from __future__ import annotations

import pytest

from reflect_gate import Bundle, load_bundle, schemas
from reflect_gate.errors import ReflectGateError
from reflect_gate.memory.sweeping import Change, sweep
from reflect_store import draft

from .world import HOME, SIGNATURE, World, snapshot


def actions(changes: list[Change] | tuple[Change, ...]) -> list[tuple[str, str]]:
    """Return what was done to which lesson."""
    return [(change.action, change.lesson_id) for change in changes]


def test_three_tasks_in_other_repositories_promote(world: World) -> None:
    """R-g1: the third helpful application elsewhere raises the lesson a level, and the event names the rule."""
    name = world.lesson("l-1")
    for repository in ("acme/a", "acme/b"):
        assert world.ends("resolved", name, repository=repository).changes == ()
    changes = world.ends("resolved", name, repository="acme/a").changes
    assert actions(changes) == [("promote", name)]
    assert world.row(name)["lesson"]["type"] == "procedural"
    event = world.last("lesson-promoted")
    assert (event["rule"], event["level"]) == ("lifecycle/helps-elsewhere", "procedural")
    assert "helped elsewhere 3, repositories 2" in event["reason"]


def test_help_at_home_does_not_promote(world: World) -> None:
    """R-g1: what a lesson did where it was learned says nothing of other places; a URL of home is home."""
    name = world.lesson("l-1")
    for repository in (HOME, f"https://github.com/{HOME}.git", f"git@github.com:{HOME}.git", ""):
        world.ends("resolved", name, repository=repository)
    assert world.row(name)["lesson"]["times_helped"] == 4
    assert world.row(name)["level"] == "episodic"


def test_a_corroborating_repository_is_home_too(world: World) -> None:
    """R-g1: a lesson comes from every repository in which a failure taught it."""
    name = world.lesson("l-1")
    world.fails("f-2", repository="acme/b")
    grounds = {"evidence": [], "failures": ["f-2"], "successes": [], "counterexamples": []}
    named = {"lesson_id": name, "decision_id": "d-2", "failure_id": "f-2", "signature": SIGNATURE}
    world.tell(draft("lesson-merged", {**named, "origin": {"repository": "acme/b"}, **grounds}))
    for _ in range(3):
        world.ends("resolved", name, repository="acme/b")
    assert world.row(name)["level"] == "episodic"
    for _ in range(3):
        world.ends("resolved", name, repository="acme/c")
    assert world.row(name)["level"] == "procedural"


def test_one_task_counts_once(world: World) -> None:
    """R-g1: a task that is run in three sessions is one task."""
    name = world.lesson("l-1")
    for session in ("s-1", "s-2", "s-3"):
        where = {"repository": "acme/a", "task": "the same", "session": session}
        outcome = {"outcome_id": session, "lesson_ids": [name], "outcome": "resolved", "withheld": False, "origin": where}
        world.tell(draft("outcome-recorded", {**outcome, "evidence": {"exit_code": 0}, "effects": {name: "helped"}}))
    assert sweep(world.store, world.bundle) == []


def test_levels_are_counted_anew(world: World) -> None:
    """R-g1: after a rise the count starts at nothing, and there is no level above the top."""
    name = world.lesson("l-1")
    seen = []
    for _ in range(10):
        world.ends("resolved", name)
        seen.append(world.row(name)["level"])
    assert seen == ["episodic"] * 2 + ["procedural"] * 3 + ["meta_strategy"] * 5


def test_three_hurts_demote_by_a_successor(world: World) -> None:
    """R-g1: the successor stands one level down with its lineage, takes over every edge, and is counted anew."""
    name = world.lesson("l-1")
    for _ in range(3):
        world.ends("resolved", name)
    changes = [world.ends("worse", name).changes for _ in range(3)][-1]
    assert actions(changes) == [("demote", name)]
    by = changes[0].superseded_by or ""
    old, new = world.row(name), world.row(by)
    assert (old["standing"], old["lesson"]["superseded_by"]) == ("superseded", by)
    assert (new["level"], new["lesson"]["supersedes"], new["lesson"]["times_applied"]) == ("episodic", name, 0)
    assert [edge["lesson_id"] for edge in world.store.iterate("edges")] == [by]
    assert world.store.verify().sound


def test_outcomes_follow_to_the_successor_until_it_goes(world: World) -> None:
    """R-g1: three more hurts on the old id retire the episodic successor, with a tombstone and without edges."""
    name = world.lesson("l-1")
    for _ in range(3):
        world.ends("resolved", name)
    for _ in range(5):
        world.ends("worse", name)
    changes = world.ends("worse", name).changes
    assert actions(changes) == [("retire", str(world.row(name)["lesson"]["superseded_by"]))]
    gone = world.row(changes[0].lesson_id)
    assert (gone["standing"], gone["lesson"]["superseded_by"]) == ("retired", changes[0].superseded_by)
    assert str(changes[0].superseded_by).startswith("tombstone-")
    assert world.store.count("edges") == 0
    assert world.ends("worse", name).changes == ()


@pytest.mark.parametrize("rises", [0, 3, 6])
def test_one_counterexample_retires_at_once(world: World, rises: int) -> None:
    """R-g1, R-x2 (8): an executed failure of its signature after it was recalled takes a lesson of any level out of use."""
    name = world.lesson("l-1")
    for _ in range(rises):
        world.ends("resolved", name)
    world.contradicted_by(name, "f-against")
    changes = sweep(world.store, world.bundle, lessons=[name])
    assert actions(changes) == [("retire", name)]
    assert world.last("lesson-retired")["rule"] == "lifecycle/falsified"
    assert world.store.count("edges") == 0


def test_a_counterexample_without_a_recall_falsifies_nothing(world: World) -> None:
    """R-g1: a failure into which the lesson was not recalled only narrowed it."""
    name = world.lesson("l-1")
    world.fails("f-against", repository="acme/other")
    grounds = {"evidence": [], "failures": [], "successes": [], "counterexamples": ["f-against"]}
    world.tell(draft("evidence-added", {"lesson_id": name, "origin": {}, **grounds}))
    assert sweep(world.store, world.bundle) == []


def test_a_counterexample_of_an_ancestor_counts_for_the_successor(world: World) -> None:
    """R-g1: what was recalled under the old id was this lesson."""
    name = world.lesson("l-1")
    for _ in range(3):
        world.ends("resolved", name)
    for _ in range(3):
        world.ends("worse", name)
    by = str(world.row(name)["lesson"]["superseded_by"])
    world.fails("f-against", repository="acme/other", recalled=[name])
    grounds = {"evidence": [], "failures": [], "successes": [], "counterexamples": ["f-against"]}
    world.tell(draft("evidence-added", {"lesson_id": by, "origin": {}, **grounds}))
    assert actions(sweep(world.store, world.bundle)) == [("retire", by)]


def test_a_replaced_lesson_is_no_ancestor(world: World) -> None:
    """R-g1: a failure after another lesson was recalled does not falsify the lesson that took its place."""
    world.lesson("l-1")
    name = world.lesson("l-2", statement="Read the file at once, because a second pass is free.", supersedes="l-1")
    world.tell(draft("lesson-superseded", {"lesson_id": "l-1", "by": name, "rule": "", "reason": "a test"}))
    world.fails("f-against", repository="acme/other", recalled=["l-1"])
    grounds = {"evidence": [], "failures": [], "successes": [], "counterexamples": ["f-against"]}
    world.tell(draft("evidence-added", {"lesson_id": name, "origin": {}, **grounds}))
    assert sweep(world.store, world.bundle) == []


def test_a_red_flagged_lesson_is_never_promoted(world: World) -> None:
    """R-g2: help does not raise what blames outward, and harm takes it out all the same."""
    name = world.lesson("l-1", red_flag=True)
    for _ in range(6):
        world.ends("resolved", name)
    assert world.row(name)["level"] == "episodic"
    changes = [world.ends("worse", name).changes for _ in range(3)][-1]
    assert actions(changes) == [("retire", name)]
    assert changes[0].output()["confidence_cap"] == "lowest"


def test_the_output_is_that_of_the_stage(world: World) -> None:
    """R-g1: `level, action, superseded_by, red_flag_class, confidence_cap` of each change hold to the schema of S2 3.7."""
    name = world.lesson("l-1")
    found = [change for after in ("resolved",) * 3 + ("worse",) * 6 for change in world.ends(after, name).changes]
    assert [change.action for change in found] == ["promote", "demote", "retire"]
    for change in found:
        schemas.check("stage-lifecycle", change.output(), "output")


def test_a_dry_run_changes_nothing_and_says_what_is_due(world: World) -> None:
    """R-g1: the store stays as it is, and the real sweep then does what was said."""
    name = world.lesson("l-1")
    for _ in range(3):
        world.raw("resolved", "helped", name)
    before, version = snapshot(world.store), world.store.version
    due = sweep(world.store, world.bundle, dry_run=True)
    assert (snapshot(world.store), world.store.version) == (before, version)
    done = sweep(world.store, world.bundle)
    assert [change._replace(events=()) for change in done] == due
    assert [len(change.events) for change in done] == [1]


def test_a_second_sweep_changes_nothing(world: World) -> None:
    """R-g1: what was decided is decided; the store does not move."""
    for name in ("l-1", "l-2"):
        world.lesson(name)
        for _ in range(3):
            world.raw("resolved" if name == "l-1" else "worse", "helped" if name == "l-1" else "hurt", name)
    assert actions(sweep(world.store, world.bundle)) == [("promote", "l-1"), ("retire", "l-2")]
    version = world.store.version
    assert (sweep(world.store, world.bundle), world.store.version) == ([], version)


def test_only_the_named_lessons_are_looked_at(world: World) -> None:
    """An older id means the lesson that stands for it; an unknown one is an error."""
    for name in ("l-1", "l-2"):
        world.lesson(name)
        for _ in range(3):
            world.raw("worse", "hurt", name)
    assert actions(sweep(world.store, world.bundle, lessons=["l-2"])) == [("retire", "l-2")]
    with pytest.raises(ReflectGateError) as error:
        sweep(world.store, world.bundle, lessons=["l-2", "nope"])
    assert (error.value.code, "`nope`" in error.value.message) == ("lesson-unknown", True)


def test_what_a_person_restored_is_counted_anew(world: World) -> None:
    """A person who brings a lesson back has judged what took it out; it goes again only by what comes after."""
    name = world.lesson("l-1")
    world.contradicted_by(name, "f-against")
    gone = sweep(world.store, world.bundle)[0]
    why = {"rule": "manual", "reason": "the check was broken"}
    world.tell(draft("lesson-restored", {"lesson_id": name, "level": "episodic", "undoes": gone.event, **why}))
    assert sweep(world.store, world.bundle) == []
    world.contradicted_by(name, "f-again")
    assert actions(sweep(world.store, world.bundle)) == [("retire", name)]


def test_a_restored_lesson_can_fall_again(world: World) -> None:
    """A second demotion of one lesson has a successor of its own."""
    name = world.lesson("l-1")
    for _ in range(3):
        world.ends("resolved", name)
    first = next(change for _ in range(3) for change in world.ends("worse", name).changes)
    why = {"rule": "manual", "reason": "a flaky machine"}
    world.tell(
        draft("lesson-restored", {"lesson_id": name, "level": "procedural", "undoes": first.event, **why}),
        draft("lesson-superseded", {"lesson_id": first.superseded_by, "by": name, **why}),
    )
    second = next(change for _ in range(3) for change in world.ends("worse", name).changes)
    assert (second.action, second.lesson_id) == ("demote", name)
    assert second.superseded_by != first.superseded_by


def test_a_store_that_moves_is_judged_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sweeps at once make a change once: the event is only added to the state that was judged."""
    name = world.lesson("l-1")
    for _ in range(3):
        world.raw("resolved", "helped", name)
    append = world.store.append
    others: list[tuple[str, str]] = []

    def late(*arguments: object, **options: object) -> object:
        if not others:
            monkeypatch.setattr(world.store, "append", append)
            others.extend(actions(sweep(world.store, world.bundle)))
        return append(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(world.store, "append", late)
    assert sweep(world.store, world.bundle) == []
    assert others == [("promote", name)]
    assert world.row(name)["level"] == "procedural"


def test_thresholds_are_settings(structured: Bundle) -> None:
    """R-g1: a policy may ask for less or more; a rule set that is off moves nothing."""
    assert structured.setting("lifecycle.promote_after") == 3
    world = World(load_bundle("structured", set_=["lifecycle.promote_after=1"], cache=False))
    assert actions(world.ends("resolved", world.lesson("l-1")).changes) == [("promote", "l-1")]
    still = World(load_bundle("structured", disable=["lifecycle"], cache=False))
    still.lesson("l-1")
    still.contradicted_by("l-1", "f-against")
    assert sweep(still.store, still.bundle) == []
