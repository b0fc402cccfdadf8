"""Retrieval over a store: what is offered, in which order, what never is, and what is kept of it (R-h1, R-P4, R-k2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reflect_gate import Bundle, load_bundle, schemas
from reflect_gate.errors import ReflectGateError
from reflect_gate.memory.retrieving import CAP, Query, Recalled, log, retrieve
from reflect_gate.stages.ledger import signature
from reflect_store import Draft, EventStore, draft

from ..lessons import born, store_of

CART = "When a cart may be empty for a new session, check what the loader returns for None before subscripting the cart."
READER = "Copy what a reader returns before the second pass, because a generator is exhausted after the first."
CLOCK = "Compare deadlines by a monotonic clock, because the wall clock jumps when daylight saving begins."
PYTHON = "lang:python"
ASKED = Query("The total of a cart fails for new sessions: the loader returns None.", language="python")


@pytest.fixture(scope="module")
def with_settings() -> Callable[..., Bundle]:
    """Return the bundle with some settings changed."""

    def load(*settings: str, name: str = "structured") -> Bundle:
        return load_bundle(name, set_=settings, cache=False)._replace(engine="compiled", cross_check=False)

    return load


@pytest.fixture
def store() -> EventStore:
    """Three lessons of one language."""
    return store_of(
        born("l-cart", CART, PYTHON),
        born("l-reader", READER, PYTHON, signature="c"),
        born("l-clock", CLOCK, PYTHON, signature="d"),
    )


def test_the_lesson_that_fits_is_offered_and_no_other(store: EventStore, bundle: Bundle) -> None:
    """R-h1: the words of the task lead to its lesson; the rest of the store stays silent."""
    assert retrieve(store, ASKED, bundle, limit=CAP).lesson_ids == ("l-cart",)


def test_the_durable_engine_offers_the_same(store: EventStore, structured: Bundle, bundle: Bundle) -> None:
    """Both engines judge a retrieval, and agree."""
    assert retrieve(store, ASKED, structured).output == retrieve(store, ASKED, bundle).output


def test_silence_below_the_threshold(store: EventStore, bundle: Bundle) -> None:
    """R-P4: an unrelated task gets nothing, though a word of it is in the store."""
    answer = retrieve(store, Query("Name the capital of the country that the second empire returned to."), bundle)
    assert answer.proposed > 0
    assert (answer.lesson_ids, answer.to_json()["status"]) == ((), "abstained")


def test_a_store_of_one_lesson_is_no_other(bundle: Bundle) -> None:
    """The threshold means the same in a store of one, where no word is rare."""
    assert retrieve(store_of(born("l-cart", CART, PYTHON)), ASKED, bundle).lesson_ids == ("l-cart",)


def test_the_known_failure_comes_first(store: EventStore, bundle: Bundle) -> None:
    """R-h1: a lesson that explains the very signature stands before one whose words match better."""
    answer = retrieve(store, ASKED._replace(signature="d" * 64), bundle)
    assert answer.lesson_ids == ("l-clock", "l-cart")
    assert answer.shown[0].reasons == ("known-failure",)


def test_the_signature_is_read_off_the_error_text(bundle: Bundle) -> None:
    """The ledger's own code reads it: delivery at the failing action needs nothing but what the tool printed."""
    known = signature("KeyError", "'total'", "")["signature"]
    store = store_of(born("l-1", CLOCK, signature=known))
    answer = retrieve(store, Query(error="KeyError: 'total'"), bundle)
    assert (answer.signature, answer.lesson_ids) == (known, ("l-1",))


def test_a_scope_that_does_not_hold_bars_the_best_match(bundle: Bundle) -> None:
    """R-h1: however well the words match."""
    store = store_of(born("l-other", CART, "path:src/billing"), born("l-mine", CART, "path:src/shop", signature="c"))
    assert retrieve(store, ASKED._replace(paths=("src/shop/cart.py",)), bundle).lesson_ids == ("l-mine",)


def test_a_scope_that_does_not_hold_bars_the_known_failure(bundle: Bundle) -> None:
    """Not even the exact signature brings a lesson of another place."""
    store = store_of(born("l-other", CART, "path:src/billing"))
    assert not retrieve(store, ASKED._replace(paths=("src/shop",), signature="a" * 64), bundle).found


def test_the_place_alone_is_enough_where_it_is_narrow(bundle: Bundle) -> None:
    """A lesson bound to this very task is offered whatever its words; one bound to the language is not."""
    store = store_of(born("l-task", CLOCK, "task:checkout"), born("l-lang", READER, "lang:python", signature="c"))
    assert retrieve(store, Query(task="checkout", language="python"), bundle).lesson_ids == ("l-task",)


def test_scope_match_ranks_before_words_alone(bundle: Bundle) -> None:
    """R-h1: of two lessons that say the same, the one whose scope matches more stands first."""
    store = store_of(born("l-a", CART, "lang:python"), born("l-b", CART, "lang:python path:src/shop", signature="c"))
    assert retrieve(store, ASKED._replace(paths=("src/shop/cart.py",)), bundle).lesson_ids == ("l-b", "l-a")


def test_ties_are_broken_by_id(bundle: Bundle) -> None:
    """R-h1: whatever the order in which they were stored."""
    store = store_of(*[born(f"l-{number}", CART, PYTHON, signature=f"{number}") for number in (3, 1, 4, 2)])
    assert retrieve(store, ASKED, bundle, limit=CAP).lesson_ids == ("l-1", "l-2", "l-3", "l-4")


def test_never_more_than_five(bundle: Bundle) -> None:
    """R-h1: the cap holds however many match."""
    store = store_of(*[born(f"l-{number:02}", CART, PYTHON, signature=f"{number % 10}") for number in range(12)])
    output = retrieve(store, ASKED, bundle, limit=CAP).output
    assert (len(output["lessons"]), output["cap"]) == (5, 5)
    schemas.check("stage-retrieve", output, "output")


def test_a_better_match_late_in_the_list_is_not_lost(bundle: Bundle) -> None:
    """The rules are asked again where the best matches are all barred."""
    barred = [born(f"l-{number:02}", CART, "path:src/billing", signature=f"{number % 10}") for number in range(12)]
    store = store_of(*barred, born("l-zz", CART, "path:src/shop", signature="f"))
    assert retrieve(store, ASKED._replace(paths=("src/shop",)), bundle).lesson_ids == ("l-zz",)


@pytest.mark.parametrize("limit", [0, -1, CAP + 1])
def test_a_limit_beyond_the_cap_is_an_error(store: EventStore, bundle: Bundle, limit: int) -> None:
    """Nobody can ask for more."""
    with pytest.raises(ReflectGateError, match="between 1 and 5"):
        retrieve(store, ASKED, bundle, limit=limit)


def test_an_empty_query_is_an_error(store: EventStore, bundle: Bundle) -> None:
    """Nothing said is a mistake of the caller, not a reason to keep silent."""
    with pytest.raises(ReflectGateError, match="no word"):
        retrieve(store, Query(" ", session="s-1"), bundle)


RETIRED = draft("lesson-retired", {"lesson_id": "l-cart", "tombstone_id": "t-1", "rule": "r", "reason": "x"})
FLAGGED = draft(
    "flag-raised",
    {"flag_id": "g-1", "kind": "dispute", "lesson_ids": ["l-cart"], "withdraws": True, "rule": "r", "reason": "x"},
)


@pytest.mark.parametrize("name", ["structured", "ablate-retrieval"])
@pytest.mark.parametrize(
    "drafts",
    [
        [born("l-cart", CART, PYTHON), RETIRED],
        [born("l-cart", CART, PYTHON), FLAGGED],
        [born("l-cart", CART, PYTHON, red_flag=True)],
    ],
    ids=["retired", "flagged", "red-flagged"],
)
def test_what_is_out_of_use_is_never_shown(drafts: list[Draft], name: str, with_settings: Callable[..., Bundle]) -> None:
    """R-g2: neither a retired, flagged-away nor red-flagged lesson, not even where ranking is ablated or the failure is known."""
    assert not retrieve(store_of(*drafts), ASKED._replace(signature="a" * 64), with_settings(name=name)).found


def test_ablation_shows_what_the_index_finds(store: EventStore, with_settings: Callable[..., Bundle]) -> None:
    """R-m5: without the rule set nothing is judged, and the order is the index's."""
    asked = Query("Name the capital of the country that the second empire returned to.")
    answer = retrieve(store, asked, with_settings(name="ablate-retrieval"))
    assert answer.lesson_ids
    assert {reason for shown in answer.shown for reason in shown.reasons} == {"not-judged"}


def test_a_hypothesis_leads_where_the_task_does_not(store: EventStore, bundle: Bundle) -> None:
    """R-k2: text that the harness already has amplifies the query; no model is asked."""
    asked = Query("The report is empty when it is printed twice.")
    assert not retrieve(store, asked, bundle).found
    supposed = asked._replace(hypothesis="A generator was exhausted by the first pass, so the second pass read nothing.")
    assert retrieve(store, supposed, bundle).lesson_ids == ("l-reader",)


def test_hints_are_words_or_terms_of_a_scope(bundle: Bundle) -> None:
    """R-k2: a tag adds words, a scope term tells of the place."""
    store = store_of(born("l-go", CLOCK, "lang:go"), born("l-py", CLOCK, "lang:python", signature="c"))
    assert retrieve(store, Query(hints=("monotonic clock", "deadlines", "lang:golang")), bundle).lesson_ids == ("l-go",)


def test_the_same_question_has_the_same_answer(store: EventStore, bundle: Bundle) -> None:
    """R-h1: to the byte, as long as the store is the same."""
    assert retrieve(store, ASKED, bundle) == retrieve(store, ASKED, bundle)


@pytest.mark.parametrize(
    "text", ["cart \ud800 loader", "cart\0loader session", "\u202ecart loader None", "\U000e0041 cart loader session"]
)
def test_any_text_can_be_asked(store: EventStore, bundle: Bundle, text: str) -> None:
    """Lone surrogates, controls and what shows nothing are no reason to fail."""
    answer = retrieve(store, Query(text, error=text, hints=(text,), task=text), bundle)
    assert log(store, answer) == answer.found


# -- what is kept -------------------------------------------------------------------------------------------------------------


def logged(store: EventStore) -> list[dict[str, Any]]:
    """Return the events of retrievals."""
    return [event.data() or {} for event in store.events() if event.type == "lessons-recalled"]


def test_what_was_shown_is_logged(store: EventStore, bundle: Bundle) -> None:
    """With its place, and a digest in place of the words of the task."""
    answer = retrieve(store, ASKED._replace(session="s-1", task="T-7", repository="acme/shop"), bundle)
    assert log(store, answer)
    (event,) = logged(store)
    origin = {"session": "s-1", "task": "T-7", "repository": "acme/shop", "language": "python"}
    assert event == {
        "retrieval_id": answer.retrieval_id,
        "lesson_ids": ["l-cart"],
        "withheld": [],
        "origin": origin,
        "query": answer.query,
    }


def test_logging_an_answer_again_adds_nothing(store: EventStore, bundle: Bundle) -> None:
    """Two processes with one answer are one retrieval."""
    answer = retrieve(store, ASKED, bundle)
    assert [log(store, answer) for _ in range(2)] == [True, True]
    assert len(logged(store)) == 1


def test_a_later_retrieval_is_another_one(store: EventStore, bundle: Bundle) -> None:
    """Each is recorded by itself, even where nothing names the task."""
    first = retrieve(store, ASKED, bundle)
    log(store, first)
    assert retrieve(store, ASKED, bundle).retrieval_id != first.retrieval_id


def test_silence_is_not_logged(store: EventStore, bundle: Bundle) -> None:
    """There is nothing that an outcome could be recorded for."""
    assert not log(store, retrieve(store, Query("the capital of a country"), bundle))
    assert logged(store) == []


def test_secrets_of_the_place_are_not_kept(store: EventStore, bundle: Bundle) -> None:
    """A repository URL with a token loses it before it is stored."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    log(store, retrieve(store, ASKED._replace(repository=f"https://{token}@example.org/acme/shop"), bundle))
    assert token not in str(logged(store))


def test_nothing_is_withheld_by_default(store: EventStore, bundle: Bundle) -> None:
    """Withholding is for those who ask for it."""
    assert retrieve(store, ASKED, bundle).withheld == ()


def test_what_is_withheld_is_recorded_and_not_shown(store: EventStore, with_settings: Callable[..., Bundle]) -> None:
    """So that the effect of a lesson can be told from tasks that would have got it."""
    answer = retrieve(store, ASKED, with_settings("retrieval.holdout=1.0"))
    assert (answer.lesson_ids, answer.withheld, answer.to_json()["status"]) == ((), ("l-cart",), "withheld")
    assert log(store, answer)
    assert logged(store)[0]["withheld"] == ["l-cart"]


def test_withholding_is_drawn_by_task_and_lesson(store: EventStore, with_settings: Callable[..., Bundle]) -> None:
    """A task that asks again is answered alike; over tasks the share is about the one that was set."""
    half = with_settings("retrieval.holdout=0.5")

    def draw(task: str) -> Recalled:
        return retrieve(store, ASKED._replace(task=task), half)

    drawn = [bool(draw(f"task-{number}").withheld) for number in range(60)]
    assert drawn == [bool(draw(f"task-{number}").withheld) for number in range(60)]
    assert 18 <= sum(drawn) <= 42
