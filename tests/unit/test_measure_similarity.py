"""How alike two lessons are (R-P6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.measure.similarity import SEARCH_LIMIT, search_words, similarity

LESSON = "When a cookie may be missing, check the session before reading its cart, because a new visitor has none."
WORDS = st.lists(st.sampled_from("cookie session check the cart timezone parse visitor lock retry Ünïcode".split()), max_size=12)
TEXTS = st.one_of(st.text(max_size=80), WORDS.map(" ".join))

NEAR = [
    "Because new visitors have none, check sessions before reading carts when cookies may be missing.",
    "Checking the session before it reads its cart is needed: new visitors have no cookie, which may be missing.",
    LESSON + " I will also run it again to make sure that it works as expected.",
]
FAR = [
    "When a header may be missing, check the token before reading its claims, because a new client has none.",
    "When a cookie may be missing, check the timezone before reading its offset, because a new visitor has none.",
    "Retry a failed upload with a longer pause, because the gateway sheds load.",
]


@pytest.mark.parametrize("other", NEAR)
def test_order_inflection_and_additions_leave_a_copy_a_copy(other: str) -> None:
    """The same things said in another way."""
    assert similarity(LESSON, other) >= 80


@pytest.mark.parametrize("other", FAR)
def test_another_object_is_another_lesson(other: str) -> None:
    """One thing put in the place of another counts most against likeness."""
    assert similarity(LESSON, other) < 75


def test_a_swapped_verb_counts_less_than_a_swapped_thing() -> None:
    """`verify` for `check` is a paraphrase, `ledger` for `cart` is not."""
    assert similarity(LESSON, LESSON.replace("check", "verify")) > similarity(LESSON, LESSON.replace("cart", "ledger"))


@given(TEXTS, TEXTS)
def test_likeness_is_symmetric_and_bounded(one: str, other: str) -> None:
    """The same from either side, between 0 and 100."""
    assert 0 <= similarity(one, other) == similarity(other, one) <= 100


@given(WORDS.filter(lambda words: any(word != "the" for word in words)), st.randoms())
def test_copies_in_any_order_are_fully_alike(words: list[str], random: object) -> None:
    """Word order carries nothing here."""
    shuffled = sorted(words, key=lambda _: random.random())  # type: ignore[attr-defined]
    assert similarity(" ".join(words), " ".join(shuffled)) == 100


def test_texts_without_content_are_not_alike() -> None:
    """Nothing said is nothing in common."""
    assert similarity("", "") == similarity("it is and of", "it is and of") == 0


def test_search_words_put_things_before_acts() -> None:
    """A store looks for the first few: the words that say what a lesson is about come first."""
    assert search_words("Check the session before reading a cart") == ("session", "cart", "check", "reading")


def test_search_words_are_bounded() -> None:
    """However long the text."""
    assert len(search_words(" ".join(f"word{number}x" for number in range(500)))) == SEARCH_LIMIT
