"""Whether two lessons say the same to do, or the opposite (R-d1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.measure.stance import ADVICE_LIMIT, NO_STANCE, Stance, stance

OPPOSED = [
    ("Cache the profile before reading permissions.", "Do not cache the profile before reading permissions."),
    ("Always lock the table before updating.", "Never lock the table before updating."),
    ("You should validate the redirect against the list.", "You must not validate the redirect against the list."),
    ("Avoid shared cursors in workers.", "Use shared cursors in workers."),
    ("Increase the pool size when the queue grows.", "Decrease the pool size when the queue grows."),
    ("Close the socket before returning the reply.", "Close the socket after returning the reply."),
    ("Convert the bytes to text before comparing.", "Convert the text to bytes before comparing."),
    ("Use the streaming parser instead of the tree parser.", "Use the tree parser instead of the streaming parser."),
    ("Sort the rows in ascending order.", "Sort the rows in descending order."),
    ("Do not retry a failed payment, because it charges twice.", "Retry a failed payment three times before giving up."),
    ("Read the header rather than inferring the encoding.", "Infer the encoding, because the header lies."),
]
NOT_OPPOSED = [
    ("Close the socket before returning the reply.", "After closing the socket, return the reply."),
    ("Invalidate the cache after a write, because the cache is not invalidated by itself.", "Invalidate the cache after writes."),
    ("Do not assume that the list is sorted; sort it.", "Sort the list before searching."),
    ("Open the file with a context manager.", "Close the file after reading."),
    ("Do not use mutable default arguments.", "Use None for default arguments."),
    ("When the input is empty, return early.", "When the input is nested, do not return early."),
    ("Do not log the token unless debugging is on.", "Log the token."),
    ("The loader returns nothing instead of a cart.", "The loader returns a cart instead of nothing."),
    ("Den Zustand nicht zwischenspeichern.", "Den Zustand zwischenspeichern."),
    ("", "Do not log the token."),
]


@pytest.mark.parametrize(("one", "other"), OPPOSED)
def test_opposite_advice_about_one_thing_conflicts(one: str, other: str) -> None:
    """By negation, by a pair of opposites, by what stands on either side of a word."""
    assert stance(one, other).polarity == "conflict"


@pytest.mark.parametrize(("one", "other"), NOT_OPPOSED)
def test_other_things_and_plain_statements_do_not_conflict(one: str, other: str) -> None:
    """Another verb, another condition, an exception, or a statement of what happened."""
    assert stance(one, other).polarity != "conflict"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Set the upload timeout to 30 seconds.", "Set the upload timeout to 5 seconds.", "conflict"),
        ("Set the upload timeout to 30 seconds.", "Set the upload timeout to 030 seconds.", "agree"),
        ("Set the upload timeout to 30 seconds.", "Set the upload timeout to 2 minutes.", "none"),
        ("Set the upload timeout to 30 seconds.", "Set the poll interval to 5 seconds.", "none"),
        ("Set the upload timeout to 30 seconds.", "Do not set the upload timeout to 5 seconds.", "none"),
        ("Keep 2.5 times the headroom.", "Keep 2.5 times the headroom, as before.", "agree"),
    ],
)
def test_numbers_of_one_thing_are_compared(one: str, other: str, expected: str) -> None:
    """In advice that goes the same way, with the same unit."""
    assert stance(one, other).numbers == expected


def test_the_same_advice_agrees() -> None:
    """In other words about the same thing."""
    said = stance("Before dividing, check that the window is not empty.", "Check that the window is not empty before dividing.")
    assert said == Stance("agree", "none")


@given(st.sampled_from([text for pair in (*OPPOSED, *NOT_OPPOSED) for text in pair]), st.text(max_size=60))
def test_the_stance_is_the_same_from_either_side(known: str, other: str) -> None:
    """And any text has one."""
    assert stance(known, other) == stance(other, known)


@pytest.mark.parametrize("text", [text for pair in (*OPPOSED, *NOT_OPPOSED) for text in pair])
def test_no_lesson_contradicts_itself(text: str) -> None:
    """Nor a copy of it."""
    assert "conflict" not in stance(text, text)


def test_advice_is_bounded() -> None:
    """A long list of advice is read up to the limit."""
    long = " ".join(f"Lock table{number} first." for number in range(ADVICE_LIMIT))
    assert stance(f"{long} Drop the index.", "Never drop the index.") == NO_STANCE
