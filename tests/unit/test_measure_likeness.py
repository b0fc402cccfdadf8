"""How like a task a lesson is: by the part that it is most like, and by the two texts alone (R-h1, R-k2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.measure.likeness import Likeness, asked

LESSON = "Copy what a reader returns before the second pass, because a generator is exhausted after the first."
WORDS = st.sampled_from("reader generator cookie timezone retry cart invoice check function correct exhausted".split())
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)


def test_a_lesson_is_wholly_like_itself() -> None:
    """The same text is 1."""
    assert asked([LESSON]).likeness(LESSON).share == 100


def test_texts_without_a_common_term_are_not_alike() -> None:
    """Words of grammar do not count."""
    assert asked(["the invoice is due after the second reminder"]).likeness("before a cookie, because of the cart") == (0, 0)


def test_the_nearest_part_counts() -> None:
    """R-k2: a long task does not drown what an error says, and a hypothesis does not dilute a task."""
    long = "Write a service that books rooms, sends letters, prints badges, counts visitors and closes doors at night."
    alone = asked(["generator exhausted in second pass"]).likeness(LESSON)
    assert asked([long, "generator exhausted in second pass"]).likeness(LESSON) == alone
    assert asked([f"{long} generator exhausted in second pass"]).likeness(LESSON).share < alone.share


def test_inflection_and_order_do_not_count() -> None:
    """Stems are compared, as a set."""
    assert asked(["exhausted generators"]).likeness(LESSON) == asked(["a generator that exhausts"]).likeness(LESSON)


def test_words_of_the_trade_weigh_less() -> None:
    """Almost every lesson says to check a function: what it is about says more."""
    lesson = "check the function for timezone and cookie"
    assert asked(["timezone cookie"]).likeness(lesson).share > asked(["check function"]).likeness(lesson).share


@pytest.mark.parametrize("parts", [[], [""], ["the of and"], ["\ud800"]])
def test_a_query_without_words_is_like_nothing(parts: list[str]) -> None:
    """Nothing said, nothing alike."""
    assert asked(parts).likeness(LESSON) == Likeness(0, 0)


@given(TEXTS, TEXTS)
def test_likeness_is_a_share_and_the_same_either_way_round(one: str, other: str) -> None:
    """Of two single parts."""
    found = asked([one]).likeness(other)
    assert 0 <= found.share <= 100
    assert found == asked([other]).likeness(one)


@given(TEXTS, st.lists(TEXTS, max_size=3), TEXTS)
def test_a_further_part_never_takes_away(part: str, more: list[str], lesson: str) -> None:
    """R-k2: whatever else a harness supposes, a lesson is no less like the task."""
    assert asked([part, *more]).likeness(lesson) >= asked([part]).likeness(lesson)
