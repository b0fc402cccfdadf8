"""Lessons come back by their tags: kept with the lesson, searched, and named by a hint or by the task itself (R-k2)."""

from __future__ import annotations

from typing import Any

import pytest

from reflect_gate import Bundle, evaluate
from reflect_gate.memory.applying import apply
from reflect_gate.memory.retrieving import Query, retrieve
from reflect_gate.stages.retrieve import tag_of
from reflect_store import memory_store

from ..lessons import born, store_of

LARGE = "When a source file exceeds a thousand lines, patch the part that changes, because writing a large file anew times out."
CLOCK = "Compare deadlines by a monotonic clock, because the wall clock jumps when daylight saving begins."


@pytest.mark.parametrize("hints", [("retries",), ("Retry",), ("backoff", "retries"), ("exponential_backoff",)])
def test_a_hint_finds_a_lesson_by_its_tag(bundle: Bundle, hints: tuple[str, ...]) -> None:
    """Though no word of the statement is asked for; a tag is compared by its words, not by its letters."""
    tags = ("retries", "backoff", "exponential-backoff")
    store = store_of(born("l-1", CLOCK, tags=tags), born("l-2", LARGE, tags=["large-file"]))
    answer = retrieve(store, Query(hints=hints), bundle)
    assert answer.lesson_ids == ("l-1",)
    assert "hinted" in answer.shown[0].reasons


def test_a_hint_that_is_no_tag_of_it_offers_nothing(bundle: Bundle) -> None:
    """All hints, or the words must do."""
    assert not retrieve(store_of(born("l-1", CLOCK, tags=["retries"])), Query(hints=("retries", "parsers")), bundle).found


def test_a_tag_opens_no_other_place(bundle: Bundle) -> None:
    """R-h1: neither a scope that fails nor a red flag."""
    store = store_of(born("l-1", CLOCK, "lang:go", tags=["retries"]), born("l-2", LARGE, tags=["retries"], red_flag=True))
    assert not retrieve(store, Query(hints=("retries",), language="python"), bundle).found


def test_a_task_that_names_the_tags_is_nearer(bundle: Bundle) -> None:
    """The task of S1's example names a tag of a lesson that its words alone do not quite reach."""
    asked = Query("Refactor pkg/auth/manager.go and split into smaller files; it is a large file", language="go")
    plain, tagged = born("l-1", LARGE), born("l-1", LARGE, tags=["go", "refactor", "large-file", "edit-tool"])
    assert not retrieve(store_of(plain), asked, bundle).found
    (shown,) = retrieve(store_of(tagged), asked, bundle).shown
    assert (shown.match.tags, shown.match.tagged) == (1, 10)


def test_the_words_of_every_trade_are_named_by_a_hint_alone(bundle: Bundle) -> None:
    """A lesson tagged with what every task says is not nearer to every task."""
    store = store_of(born("l-1", LARGE, tags=["fix", "error", "test"]))
    asked = Query("Fix the error of the test: a source file of some thousand lines.")
    assert [shown.match.tags for shown in retrieve(store, asked, bundle, limit=1).shown] in ([], [0])
    assert retrieve(store, Query(hints=("fix",)), bundle).lesson_ids == ("l-1",)


def test_many_tags_weigh_no_more_than_two(bundle: Bundle) -> None:
    """Stuffing a lesson with tags does not carry it past the others."""
    words = "kettle ladder magnet needle oven pallet gasket".split()
    asked = Query(f"{' '.join(words)} when a source file exceeds a thousand lines")
    stores = [store_of(born("l-1", LARGE, tags=words[:most])) for most in (0, 1, 2, 7)]
    scores = [retrieve(store, asked, bundle).shown[0].match.score for store in stores]
    assert [score - scores[0] for score in scores] == [0, 10, 20, 20]


def test_tags_of_a_candidate_stay_with_its_lesson(structured: Bundle, request_document: dict[str, Any], bundle: Bundle) -> None:
    """What only says how it came about is left out; without tags the decision is as it was."""
    store = memory_store()
    told = {**request_document, "tags": ["reflexion", "trigger:error", "user-supplied", "session-cart"]}
    done = apply(store, told, bundle)
    row = store.get("lessons", str(done.lesson_id))
    assert row is not None
    assert row["envelope"]["tags"] == ["session-cart"]
    assert retrieve(store, Query(hints=("session-cart",), task="checkout"), bundle).lesson_ids == (done.lesson_id,)
    assert "tags" not in (evaluate(request_document, structured).envelope or {})


def test_a_tag_is_compared_by_its_words() -> None:
    """Case, plural and the mark between words do not count; one that is no word is itself."""
    assert tag_of("Large-Files") == tag_of("large_file") != tag_of("large")
    assert tag_of("++") == frozenset(("++",))
