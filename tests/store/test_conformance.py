"""What every back end must do: append, fold, read, and say what it refuses."""

from __future__ import annotations

import pytest

from reflect_store import EMPTY_VIEW, GENESIS, TABLES, Head, Store, StoreError, TableName, draft

from .stores import Make, Told


def code(caught: pytest.ExceptionInfo[StoreError]) -> str:
    """Return the stable code of an error."""
    return caught.value.code


def test_a_new_store_is_empty(store: Store) -> None:
    """R-s1: it begins with nothing, at version 0."""
    assert (store.version, store.head()) == (0, Head(0, GENESIS))
    assert store.view("a" * 64) == EMPTY_VIEW
    assert all(store.count(table) == 0 for table in TABLES)
    assert store.verify().sound


def test_events_are_numbered_chained_and_read_back(store: Store, told: type[Told]) -> None:
    """R-s1: what was appended is there as it was said, in order, each linked to the one before."""
    assert store.append([told.failed("f-1"), told.skipped("f-1")]) == (1, 2)
    first, second = store.events()
    assert (first.type, second.type) == ("termination-recorded", "not-reflected")
    assert second.data() == {"failure_id": "f-1", "reason": "switched off"}
    assert store.head() == (2, second.hash)
    assert [event.seq for event in store.events(after=1)] == [2]
    assert store.event(first.id) == first


def test_a_view_holds_the_lessons_of_a_signature_and_those_named(store: Store, told: type[Told]) -> None:
    """R-P6: the failure ledger joins a signature to its lessons; the version is that of the same moment."""
    store.append([told.admitted("l-1"), told.admitted("l-2", "c" * 64), told.admitted("l-3", "d" * 64)])
    view = store.view(told.SIGNATURE, lessons=["l-3", "nowhere"])
    assert view.version == 3
    assert [entry["id"] for entry in view.lessons] == ["l-1", "l-3"]
    assert view.edges == ({"signature": told.SIGNATURE, "lesson_id": "l-1"},)
    assert view.lessons[0]["lesson"] == told.lesson()


def test_keys_are_found_by_their_beginning(store: Store, told: type[Told]) -> None:
    """In their order, a whole key among them, and no more than asked for."""
    store.append([told.admitted(name) for name in ("l-2b", "l-2", "l-1", "l-2a", "l-3")])
    assert store.keys("lessons", "l-2", 9) == ["l-2", "l-2a", "l-2b"]
    assert store.keys("lessons", "l-2", 2) == ["l-2", "l-2a"]
    assert store.keys("lessons", "m", 9) == []


def test_a_store_that_moved_refuses_the_decision(store: Store, told: type[Told]) -> None:
    """A decision that was made on an older view writes nothing."""
    store.append([told.skipped("f-1")])
    with pytest.raises(StoreError, match="at version `1`, not at `0`") as caught:
        store.append([told.admitted("l-1")], expected_version=0)
    assert code(caught) == "store-moved"
    assert (store.version, store.get("lessons", "l-1")) == (1, None)
    assert store.append([told.admitted("l-1")], expected_version=1) == (2,)


def test_appending_again_after_a_lost_answer_adds_nothing(store: Store, told: type[Told]) -> None:
    """Whoever did not hear that a decision was stored may try again, even where the version has moved since."""
    drafts = [told.failed("f-1"), told.admitted("l-1")]
    assert store.append(drafts, expected_version=0) == (1, 2)
    store.append([told.skipped("f-2")])
    assert store.append(drafts, expected_version=0) == (1, 2)
    assert store.version == 3


def test_an_id_names_one_event(store: Store, told: type[Told]) -> None:
    """R-s1: nothing is overwritten: another event of a known id is refused, and so is half of a known decision."""
    store.append([told.skipped("f-1", id_="one")])
    for drafts in ([told.skipped("f-2", id_="one")], [told.skipped("f-1", id_="one"), told.skipped("f-3")]):
        with pytest.raises(StoreError) as caught:
            store.append(drafts)
        assert code(caught) == "store-conflict"
    assert store.version == 1


def test_a_decision_is_written_whole_or_not_at_all(store: Store, told: type[Told]) -> None:
    """One transaction a decision: the second event is refused, so the first is not there either."""
    with pytest.raises(StoreError, match="there is no lesson `gone`") as caught:
        store.append([told.admitted("l-1"), told.merged("gone", "f-2")])
    assert code(caught) == "store-reference"
    assert (store.version, store.count("lessons"), store.count("edges")) == (0, 0, 0)
    assert store.verify().sound


def test_a_lesson_is_born_once(store: Store, told: type[Told]) -> None:
    """R-s1: a lesson of a known id does not replace the one that is there."""
    store.append([told.admitted("l-1")])
    with pytest.raises(StoreError, match="there is a lesson `l-1` already"):
        store.append([told.admitted("l-1", statement="something else")])


def test_a_merge_adds_evidence_and_an_edge(store: Store, told: type[Told]) -> None:
    """R-P6: the lesson stays one, gains grounds, and is found by the other signature too."""
    store.append([told.admitted("l-1"), told.merged("l-1", "f-2", "c" * 64)])
    (entry,) = store.view("c" * 64).lessons
    assert entry["lesson"]["derived_from"]["failures"] == ["f-1", "f-2"]
    assert entry["lesson"]["evidence"] == ["t-1", "t-f-2"]
    assert [row["failure_id"] for row in store.iterate("corroborations", {"lesson_id": "l-1"})] == ["f-2"]


def test_outcomes_are_counted_once_and_not_where_withheld(store: Store, told: type[Told]) -> None:
    """R-i1: applied, helped and hurt count tasks; the same outcome again and one withheld for comparison count nothing."""
    store.append([told.admitted("l-1"), told.outcome("o-1", "l-1"), told.outcome("o-2", "l-1", outcome="worse")])
    store.append([told.outcome("o-1", "l-1"), told.outcome("o-3", "l-1", withheld=True)])
    row = store.get("lessons", "l-1")
    assert row is not None
    assert (row["lesson"]["times_applied"], row["lesson"]["times_helped"], row["lesson"]["times_hurt"]) == (2, 1, 1)
    assert store.count("outcomes", {"lesson_id": "l-1"}) == 3


def test_effects_that_were_measured_are_counted_lesson_by_lesson(store: Store, told: type[Told]) -> None:
    """R-i1: of the lessons shown for a task, one helped, one hurt, and one that nothing is said of was applied and no more."""
    store.append([told.admitted(name) for name in ("l-1", "l-2", "l-3")])
    effects = {"l-1": "helped", "l-2": "hurt"}
    store.append(
        [told.outcome("o-1", "l-1", "l-2", "l-3", effects=effects, before="failing", origin={"repository": "acme/shop"})]
    )
    rows = {row["lesson_id"]: row for row in store.iterate("outcomes", {"repository": "acme/shop"})}
    assert {name: row["effect"] for name, row in rows.items()} == {"l-1": "helped", "l-2": "hurt", "l-3": "applied"}
    assert {row["before"] for row in rows.values()} == {"failing"}
    counts = [store.get("lessons", name)["since_level"] for name in rows]  # type: ignore[index]
    assert counts == [
        {"applied": 1, "helped": 1, "hurt": 0},
        {"applied": 1, "helped": 0, "hurt": 1},
        {"applied": 1, "helped": 0, "hurt": 0},
    ]


@pytest.mark.parametrize(("outcome", "effect"), [("resolved", "helped"), ("worse", "hurt"), ("unchanged", "applied")])
def test_an_outcome_without_effects_speaks_for_every_lesson(store: Store, told: type[Told], outcome: str, effect: str) -> None:
    """R-i1: the effect of a row can be looked up, also where only the task as a whole was judged."""
    store.append([told.admitted("l-1"), told.outcome("o-1", "l-1", outcome=outcome)])
    assert store.count("outcomes", {"counted_on": "l-1", "effect": effect}) == 1


def test_a_withheld_lesson_has_no_effect(store: Store, told: type[Told]) -> None:
    """R-i1: a task that went well without the lesson says nothing for it, whatever effects are claimed."""
    store.append([told.admitted("l-1"), told.outcome("o-1", "l-1", withheld=True, effects={"l-1": "helped"})])
    assert store.count("outcomes", {"effect": "withheld"}) == 1
    row = store.get("lessons", "l-1")
    assert row is not None
    assert row["since_level"] == {"applied": 0, "helped": 0, "hurt": 0}


def test_outcomes_are_found_by_the_lesson_that_they_were_counted_on(store: Store, told: type[Told]) -> None:
    """R-g1: what is told of a lesson that fell is looked up by its successor."""
    store.append([told.admitted("l-1"), told.demoted("l-1", "l-2"), told.outcome("o-1", "l-1")])
    assert [row["lesson_id"] for row in store.iterate("outcomes", {"counted_on": "l-2"})] == ["l-1"]


def test_a_retrieval_is_kept_and_part_of_each_lessons_history(store: Store, told: type[Told]) -> None:
    """R-h1: which lessons were shown, and which withheld, is found by the task and the session."""
    store.append([told.admitted("l-1"), told.admitted("l-2")])
    store.append([told.recalled("r-1", "l-1", withheld=("l-2",), task="t-1", session="s-1")])
    store.append([told.recalled("r-1", "l-2", task="t-2")])
    (row,) = store.iterate("retrievals", {"task": "t-1"})
    assert (row["lesson_ids"], row["withheld"], row["session"]) == (["l-1"], ["l-2"], "s-1")
    assert store.count("retrievals") == store.count("retrievals", {"session": "s-1"}) == 1
    assert "lessons-recalled" in {row["type"] for row in store.iterate("history", {"lesson_id": "l-2"})}
    with pytest.raises(StoreError, match="there is no lesson `gone`"):
        store.append([told.recalled("r-2", "l-1", withheld=("gone",))])


def test_a_lesson_says_since_when_it_has_its_level(store: Store, told: type[Told]) -> None:
    """R-g1: what counts toward the next level is what happened since; being told the level that it has changes nothing."""
    store.append([told.admitted("l-1"), told.outcome("o-1", "l-1")])
    times = [event.time for event in store.events()]
    assert store.get("lessons", "l-1")["since"] == times[0]  # type: ignore[index]
    store.append([told.changed("promoted", "l-1", level="procedural"), told.changed("promoted", "l-1", level="procedural")])
    rise = [event.time for event in store.events()][2]
    assert store.get("lessons", "l-1")["since"] == rise  # type: ignore[index]
    store.append([told.changed("retired", "l-1", tombstone_id="t")])
    store.append([told.changed("restored", "l-1", level="procedural", undoes="e")])
    assert store.get("lessons", "l-1")["since"] == rise  # type: ignore[index]


def test_a_promotion_counts_anew(store: Store, told: type[Told]) -> None:
    """R-g1: after a change of level only what follows counts toward the next; the totals stay."""
    store.append([told.admitted("l-1"), told.outcome("o-1", "l-1"), told.changed("promoted", "l-1", level="procedural")])
    store.append([told.outcome("o-2", "l-1")])
    row = store.get("lessons", "l-1")
    assert row is not None
    assert (row["level"], row["lesson"]["type"], row["lesson"]["times_helped"]) == ("procedural", "procedural", 2)
    assert row["since_level"] == {"applied": 1, "helped": 1, "hurt": 0}


def test_a_demotion_leaves_a_successor_to_which_outcomes_go(store: Store, told: type[Told]) -> None:
    """R-g1: the old lesson is superseded, its edges lead to the successor, and so do outcomes on the old id."""
    store.append([told.admitted("l-1"), told.merged("l-1", "f-2", "c" * 64), told.demoted("l-1", "l-2")])
    store.append([told.outcome("o-1", "l-1", outcome="worse")])
    old, new = store.get("lessons", "l-1"), store.get("lessons", "l-2")
    assert old is not None
    assert new is not None
    assert (old["standing"], old["lesson"]["superseded_by"], old["lesson"]["times_hurt"]) == ("superseded", "l-2", 0)
    assert (new["lesson"]["supersedes"], new["lesson"]["times_hurt"]) == ("l-1", 1)
    for signature in (told.SIGNATURE, "c" * 64):
        assert [entry["id"] for entry in store.view(signature).lessons] == ["l-2"]


def test_a_retired_lesson_loses_its_edges_and_can_come_back(store: Store, told: type[Told]) -> None:
    """R-g1: edges are cleaned with their lesson; undoing is an event that brings both back."""
    store.append([told.admitted("l-1"), told.changed("retired", "l-1", tombstone_id="tomb")])
    assert store.view(told.SIGNATURE, lessons=["l-1"]).lessons == ()
    assert store.count("edges") == 0
    store.append([told.changed("restored", "l-1", level="episodic", undoes="whatever")])
    (entry,) = store.view(told.SIGNATURE).lessons
    assert entry["lesson"]["superseded_by"] is None
    assert store.count("history", {"lesson_id": "l-1"}) == 3


def test_supersession_keeps_the_lineage(store: Store, told: type[Told]) -> None:
    """R-s1: the older lesson stays, out of use, and names the younger."""
    store.append([told.admitted("l-1"), told.admitted("l-2", "c" * 64, supersedes="l-1")])
    store.append([told.changed("superseded", "l-1", by="l-2")])
    assert [entry["id"] for entry in store.view(told.SIGNATURE).lessons] == ["l-2"]
    row = store.get("lessons", "l-1")
    assert row is not None
    assert (row["standing"], row["envelope"]["status"]) == ("superseded", "superseded")


def test_outcomes_do_not_follow_to_other_words(store: Store, told: type[Told]) -> None:
    """R-i1: what was recalled was the older lesson; the one that took its place with other words gains nothing by it."""
    store.append([told.admitted("l-1"), told.admitted("l-2", "c" * 64, supersedes="l-1", statement="Say something else.")])
    store.append([told.changed("superseded", "l-1", by="l-2"), told.outcome("o-1", "l-1")])
    rows = [store.get("lessons", name) for name in ("l-1", "l-2")]
    assert [row["lesson"]["times_helped"] for row in rows if row is not None] == [1, 0]


def test_only_a_flag_that_withdraws_changes_the_standing(store: Store, told: type[Told]) -> None:
    """A flood of contradictions leaves a lesson in use; two that withdraw it must both be resolved."""
    flags = [told.flagged(f"x-{number}", "l-1", withdraws=False) for number in range(20)]
    store.append([told.admitted("l-1"), *flags])
    assert store.count("lessons", {"standing": "active"}) == 1
    store.append([told.flagged("y-1", "l-1", withdraws=True), told.flagged("y-2", "l-1", withdraws=True), told.resolved("y-1")])
    assert store.count("lessons", {"standing": "flagged"}) == 1
    store.append([told.resolved("y-2")])
    assert store.count("lessons", {"standing": "active"}) == 1
    assert store.count("flags", {"status": "open"}) == 20


def test_every_other_projection_is_filled(store: Store, told: type[Told]) -> None:
    """R-s1: terminations, successes, decisions, violations and candidates are kept, whether or not anything was admitted."""
    held = {"candidate_id": "c-1", "decision_id": "d-1", "signature": told.SIGNATURE, "reason": "contradicts", "conflicts": []}
    violation = {"violation_id": "v-1", "failure_id": "f-1", "code": "schema", "message": "no causal field", "response": "secret"}
    drafts = [told.failed("f-1"), told.skipped("f-1"), told.decided("d-1"), draft("candidate-held", held)]
    drafts += [draft("violation-recorded", violation), draft("candidate-released", {"candidate_id": "c-1", "outcome": "dropped"})]
    drafts.append(draft("success-recorded", {"success_id": "s-1", "trajectory": [], "origin": {}}))
    store.append(drafts)
    tables: tuple[TableName, ...] = ("terminations", "successes", "not_reflected", "violations", "decisions", "candidates")
    assert [store.count(table) for table in tables] == [1] * 6
    assert [row["outcome"] for row in store.iterate("candidates", {"status": "released"})] == ["dropped"]
    violated = store.get("violations", "v-1")
    assert violated is not None
    assert "response" not in violated
    decision = store.get("decisions", "d-1")
    assert decision is not None
    event = store.event(decision["event"])
    assert event is not None
    assert (event.data() or {})["decision"]["status"] == decision["status"] == "refused"


@pytest.mark.parametrize("newest", [False, True])
def test_pages_are_in_the_order_of_time_and_complete(store: Store, told: type[Told], newest: bool) -> None:
    """Pages follow each other without gap or repetition, whatever is asked for first."""
    names = [f"f-{number:02}" for number in range(23)]
    store.append([told.skipped(name) for name in names])
    found, after, pages = [], None, 0
    while True:
        page = store.page("not_reflected", after=after, limit=5, newest=newest)
        found += [row["failure_id"] for row in page.rows]
        pages, after = pages + 1, page.cursor
        if after is None:
            break
    assert pages == 5
    assert found == (names[::-1] if newest else names)
    assert [row["failure_id"] for row in store.iterate("not_reflected", newest=newest)] == found


def test_what_cannot_be_looked_up_is_said(store: Store) -> None:
    """A misspelt table, column or cursor is an error, not an empty answer."""
    for ask in (
        lambda: store.page("lesson"),  # type: ignore[arg-type]
        lambda: store.page("lessons", {"statement": "x"}),
        lambda: store.page("lessons", after="junk"),
        lambda: store.count("lessons", {"nowhere": "x"}),
    ):
        with pytest.raises(StoreError) as caught:
            ask()
        assert code(caught) == "store-unknown"


@pytest.mark.parametrize(
    ("kind", "payload", "message"),
    [
        ("lesson-born", {}, "unknown event type `lesson-born`"),
        ("not-reflected", {"failure_id": "f"}, "missing field `reason`"),
        ("not-reflected", {"failure_id": "f", "reason": "", "more": 1}, "unknown field `more`"),
        ("not-reflected", {"failure_id": "a\nb", "reason": ""}, "`failure_id` is no id"),
        ("not-reflected", {"failure_id": "f", "reason": {1}}, "plain JSON"),
        ("outcome-recorded", {"before": "broken", "effects": {"l": "cured"}}, "`before` is no before; `effects` is no effects"),
        (
            "lesson-admitted",
            {"lesson": {}, "envelope": {}, "decision_id": "d"},
            "`envelope` is no envelope; `lesson` is no lesson",
        ),
    ],
)
def test_a_malformed_event_is_not_made(kind: str, payload: dict[str, object], message: str) -> None:
    """R-f2: everything that is wrong is named at once, before a store sees it."""
    with pytest.raises(StoreError, match=message) as caught:
        draft(kind, payload)
    assert code(caught) == "store-payload"


def test_time_moves_on_when_the_clock_does_not(make: Make, told: type[Told]) -> None:
    """The order of time is the order of the events, even where the clock runs back."""
    store = make()
    store.append([told.skipped("f-1")])
    store._clock = lambda clock=store._clock: clock().replace(year=2020)  # type: ignore[misc]
    store.append([told.skipped("f-2"), told.skipped("f-3")])
    times = [event.time for event in store.events()]
    assert times == sorted(set(times))


def test_rows_that_are_handed_out_are_copies(store: Store, told: type[Told]) -> None:
    """A caller that changes what it read does not change the store."""
    store.append([told.admitted("l-1")])
    row = store.get("lessons", "l-1")
    assert row is not None
    row["lesson"]["evidence"].clear()
    assert store.verify().sound


def test_status_counts_what_is_there(store: Store, told: type[Told]) -> None:
    """The head that status prints is one that `verify` can be asked for later."""
    store.append([told.admitted("l-1")])
    status = store.status()
    assert (status.head.seq, status.redacted, status.rows["lessons"]) == (1, 0, 1)
    store.append([told.skipped("f-1")])
    assert store.verify(expected=status.head).sound
    assert not store.verify(expected=Head(1, "0" * 64)).sound
