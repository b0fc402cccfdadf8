"""A claim that denies what the message of a crash says conflicts with it (R-c2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.measure.attempt import denials, signs

UNABLE = "totals(3)  # TypeError: cannot merge a ledger with a frozen page"
UNPACK = "ValueError: too many columns to unpack (two wanted)"


@pytest.mark.parametrize(
    ("claim", "message", "expected"),
    [
        ("The page is frozen and can be merged with a ledger.", UNABLE, [-1]),
        ("The ledger is open, but it can still merge with a frozen page.", UNABLE, [-1]),
        ("The page cannot be merged with a ledger.", UNABLE, []),
        ("Only thawed pages can be merged with a ledger.", UNABLE, []),
        ("The page should be thawed so that it can be merged with the ledger.", UNABLE, []),
        ("It assumes that a frozen page can be merged with a ledger.", UNABLE, []),
        ("The page can be merged with another one.", UNABLE, []),
        ("The page can be printed with a frozen ledger.", UNABLE, []),
        ("It does not try to unpack the columns.", UNPACK, [-1]),
        ("It never attempts to unpack the columns.", UNPACK, [-1]),
        ("It does not unpack the columns.", UNPACK, []),
        ("It does not try to sort the columns.", UNPACK, []),
        ("It tries to unpack the columns.", UNPACK, []),
        ("It can be merged.", "", []),
    ],
)
def test_what_a_message_contradicts(claim: str, message: str, expected: list[int]) -> None:
    """The same action, of the same things, that is said to be possible or untried."""
    assert signs(claim, message) == expected


def test_the_message_that_denies_is_found_among_many_lines() -> None:
    """A traceback has lines before and after it."""
    assert signs("A frozen page can be merged with a ledger.", f"Traceback\n  line 3\n{UNABLE}\nexit 1") == [-1]


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_texts_are_read(claim: str, message: str) -> None:
    """Only conflicts are told, no more than the claim has denials."""
    found = signs(claim, message)
    assert set(found) <= {-1}
    assert len(found) <= len(denials(claim))
