"""The view of an evaluation, on every back end: what is in it, what moves it, what bounds it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_gate import schemas
from reflect_store import Store, StoreError, StoreView, ViewQuery, memory_store
from reflect_store.viewing import MOST_CANDIDATES, MOST_FAILURES, MOST_HOLDERS, MOST_ORIGINS

from .stores import Told

SIGNATURE = Told.SIGNATURE
OTHER = "c" * 64


def test_a_lesson_of_a_view_says_what_is_known_of_it(store: Store, told: type[Told]) -> None:
    """R-g2: standing, red flag, every signature, and where it was learned and corroborated, but not where it failed."""
    store.append([told.failed("f-1", origin={"repository": "acme/shop", "session": "s-1"}), told.admitted("l-1")])
    store.append([told.merged("l-1", "f-2", OTHER), told.supported("l-1", {"task": "t-3"}, successes=["s-3"])])
    store.append([told.supported("l-1", {"task": "t-4"}, counterexamples=["f-4"]), told.flagged("x", "l-1", withdraws=True)])
    (entry,) = store.view(SIGNATURE).lessons
    assert entry["signatures"] == [SIGNATURE, OTHER]
    assert (entry["standing"], entry["red_flag"]) == ("flagged", False)
    assert entry["origins"] == [{"repository": "acme/shop", "session": "s-1"}, {"repository": "acme/other"}, {"task": "t-3"}]


def test_a_successor_was_learned_where_its_elder_was(store: Store, told: type[Told]) -> None:
    """R-g1: a fall to a lower level does not make the old session an independent one."""
    store.append([told.failed("f-1"), told.admitted("l-1"), told.demoted("l-1", "l-2")])
    (entry,) = store.view(SIGNATURE).lessons
    assert (entry["id"], entry["origins"]) == ("l-2", [{"repository": "acme/shop"}])


def test_a_view_shows_earlier_failures_the_newest_first(store: Store, told: type[Told]) -> None:
    """R-d1: the same signature alone, with what was recalled into each attempt and the scope of where it happened."""
    store.append([told.admitted("l-1"), told.failed("f-1"), told.failed("f-2", recalled=["l-1"], scope="repo:acme/shop")])
    store.append([told.failed("f-3", signature=OTHER)])
    view = store.view(SIGNATURE)
    assert [entry["failure_id"] for entry in view.failures] == ["f-2", "f-1"]
    assert view.failures[0] == {
        "failure_id": "f-2",
        "signature": SIGNATURE,
        "origin": {"repository": "acme/shop"},
        "outcome": None,
        "recalled": ["l-1"],
        "scope": "repo:acme/shop",
    }
    assert view.failures[1]["scope"] == ""


def test_a_view_shows_candidates_that_wait(store: Store, told: type[Told]) -> None:
    """R-f1: what a held candidate says comes from its own event, else from its decision; a released one waits no longer."""
    reflection = {"candidate_lesson": "Return zero.", "scope": "lang:python"}
    store.append([told.failed("f-1"), told.decided("d-c-1", reflection=reflection), told.held("c-1")])
    given = {"failure_id": "f-9", "statement": "Return one.", "scope": "", "origin": {"task": "t"}}
    store.append([told.held("c-2", **given), told.held("c-3", **given), told.held("c-4")])
    store.append([told.held("c-5", signature=OTHER, **given)])
    store.append([Told.released("c-3")])
    first, second = store.view(SIGNATURE).candidates
    assert (first["candidate_id"], first["statement"], first["origin"]) == ("c-2", "Return one.", {"task": "t"})
    assert (second["candidate_id"], second["statement"], second["scope"]) == ("c-1", "Return zero.", "lang:python")
    assert (second["failure_id"], second["origin"]) == ("f-1", {"repository": "acme/shop"})


def test_what_is_erased_of_a_candidate_leaves_the_view(store: Store, told: type[Told]) -> None:
    """R-s1: a candidate whose decision was redacted has no statement left."""
    reflection = {"candidate_lesson": "Use hunter2.", "scope": ""}
    store.append([told.failed("f-1"), told.decided("d-c-1", reflection=reflection), told.held("c-1")])
    assert len(store.view(SIGNATURE).candidates) == 1
    store.redact(text="hunter2", reason="a credential")
    assert store.view(SIGNATURE).candidates == ()
    assert store.verify().sound


def test_a_view_is_a_valid_document_and_survives_it(store: Store, told: type[Told]) -> None:
    """R-d1: what the store shows is what a request may carry."""
    store.append([told.failed("f-1"), told.admitted("l-1"), told.held("c-1", failure_id="f-1", statement="Wait.")])
    view = store.view(SIGNATURE)
    schemas.check("store-view", view.to_json(), "view")
    again = StoreView.from_json(view.to_json())
    assert (again, again.digest) == (view, view.digest)
    assert view.failures
    assert view.candidates


# -- what moves it -----------------------------------------------------------------------------------------------------


def test_a_view_that_did_not_move_takes_the_decision(store: Store, told: type[Told]) -> None:
    """What happened elsewhere meanwhile does not matter: the version moved, the view did not."""
    store.append([told.admitted("l-1")])
    query = ViewQuery(SIGNATURE)
    before = store.view(query)
    store.append([told.admitted("l-2", OTHER), told.skipped("f-9")])
    after = store.view(query)
    assert (after.digest, after.version) == (before.digest, before.version + 2)
    assert store.append([told.merged("l-1", "f-2")], expected_view=(query, before.digest)) == (4,)


@pytest.mark.parametrize("change", ["lesson", "counter", "failure", "candidate", "standing"])
def test_a_view_that_moved_refuses_the_decision(store: Store, told: type[Told], change: str) -> None:
    """R-e1: anything that a decision was judged by may change it; the store is left as it was."""
    store.append([told.admitted("l-1")])
    query = ViewQuery(SIGNATURE)
    digest = store.view(query).digest
    changes = {
        "lesson": told.admitted("l-2"),
        "counter": told.outcome("o-1", "l-1"),
        "failure": told.failed("f-8"),
        "candidate": told.held("c-1", failure_id="f-1", statement="Wait."),
        "standing": told.flagged("x", "l-1", withdraws=True),
    }
    store.append([changes[change]])
    with pytest.raises(StoreError, match="another view") as caught:
        store.append([told.skipped("f-9")], expected_view=(query, digest))
    assert (caught.value.code, store.version) == ("store-moved", 2)


def test_an_answer_that_was_lost_is_given_again_though_the_view_moved(store: Store, told: type[Told]) -> None:
    """The decision itself moved the view; whoever tries again must not be refused for it."""
    query = ViewQuery(SIGNATURE)
    digest = store.view(query).digest
    drafts = [told.failed("f-1"), told.admitted("l-1")]
    assert store.append(drafts, expected_view=(query, digest)) == (1, 2)
    assert store.append(drafts, expected_view=(query, digest)) == (1, 2)


# -- lessons that say something alike ------------------------------------------------------------------------------------


def lessons(store: Store, **query: object) -> list[str]:
    """Return the ids of the lessons of a view of a signature that nothing is joined to."""
    return [entry["id"] for entry in store.view(ViewQuery("f" * 64, **query)).lessons]  # type: ignore[arg-type]


def test_lessons_that_share_rare_words_are_in_the_view(store: Store, told: type[Told]) -> None:
    """R-d1: a contradiction or a copy under another signature is found by what it says, those that share most first."""
    store.append([told.admitted("l-1", statement="Lock the ledger before rotating keys")])
    store.append([told.admitted("l-2", statement="Rotated ledgers need a checksum"), told.admitted("l-3")])
    assert lessons(store, words=("rotate", "ledger", "checksum")) == ["l-2", "l-1"]
    assert lessons(store, words=("generators",)) == ["l-3"]
    assert lessons(store, words=("unheard",)) == []


def test_a_shared_scope_adds_weight_and_finds_nothing_by_itself(store: Store, told: type[Told]) -> None:
    """R-d1: of two lessons that say as much, the one of the same error comes first."""
    store.append([told.admitted("l-1", scope="lang:go"), told.admitted("l-2", scope="error:keyerror")])
    assert lessons(store, words=("generator",)) == ["l-1", "l-2"]
    assert lessons(store, words=("generator",), scopes=("error:keyerror",)) == ["l-2", "l-1"]
    assert lessons(store, scopes=("error:keyerror",)) == []


def test_lessons_of_the_signature_come_first_and_the_limit_holds(store: Store, told: type[Told]) -> None:
    """R-P6: what the ledger joins is never crowded out by what only sounds alike."""
    store.append([told.admitted(f"l-{number}", OTHER) for number in range(9)])
    store.append([told.admitted("z-1"), told.admitted("z-2", OTHER)])
    view = store.view(ViewQuery(SIGNATURE, words=("generator",), lessons=("z-2",), limit=4))
    assert [entry["id"] for entry in view.lessons] == ["z-1", "z-2", "l-0", "l-1"]
    assert [edge["lesson_id"] for edge in view.edges] == ["z-1"]


def test_lessons_out_of_use_are_not_in_the_view_and_flagged_ones_are(store: Store, told: type[Told]) -> None:
    """R-g1: a retired lesson is no peer; one in doubt still is, or its copy would be admitted beside it."""
    store.append([told.admitted("l-1"), told.admitted("l-2"), told.changed("retired", "l-1", tombstone_id="t")])
    store.append([told.flagged("x", "l-2", withdraws=True)])
    assert lessons(store, words=("generator",)) == ["l-2"]


def test_every_part_of_a_view_is_bounded(told: type[Told]) -> None:
    """A flood of failures, candidates, corroborations or common words costs what a part of it costs."""
    store = memory_store()
    many = MOST_FAILURES + 20
    store.append([told.admitted("l-1"), *(told.failed(f"f-{number:03}") for number in range(many))])
    store.append([told.supported("l-1", {"task": f"t-{number}"}, failures=[f"f-{number}"]) for number in range(many)])
    store.append([told.held(f"c-{number:03}", failure_id="f-1", statement="Wait.") for number in range(many)])
    store.append([told.admitted(f"m-{number:03}", OTHER) for number in range(MOST_HOLDERS + 20)])
    view = store.view(ViewQuery(SIGNATURE, words=("generator",), limit=500, alike=250))
    assert (len(view.failures), len(view.candidates)) == (MOST_FAILURES, MOST_CANDIDATES)
    assert view.failures[0]["failure_id"] == f"f-{many - 1:03}"
    assert len(view.lessons[0]["origins"]) == MOST_ORIGINS - 1
    # The youngest stand for all that hold a common word.
    assert {entry["id"] for entry in view.lessons} == {"l-1", *(f"m-{number:03}" for number in range(20, MOST_HOLDERS + 20))}
    schemas.check("store-view", view.to_json(), "view")


@settings(max_examples=60, deadline=None)
@given(words=st.permutations(["ledger", "keys", "rotating", "the", "zebra", "generator"]))
def test_the_order_of_the_words_does_not_matter(words: list[str]) -> None:
    """A view is a function of the store and of what is asked."""
    assert lessons(_SHARED, words=tuple(words)) == ["l-1", "l-2", "l-3"]


_SHARED = memory_store()
_SHARED.append(
    [
        Told.admitted("l-1", statement="Lock the ledger before rotating keys"),
        Told.admitted("l-2", statement="The zebra"),
        Told.admitted("l-3"),
    ]
)
