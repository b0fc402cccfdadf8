"""The form of a lesson: condition, action, cause, link to the causes, and how much of it is this one instance (R-P3, R-e1)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.facts import load_vocabulary
from reflect_gate.measure.index import RecordIndex
from reflect_gate.measure.lesson import action, cause, condition, contrast, instance, lesson_fact, limit, link, platitudes


def index(text: str = "test_total: sum_cart([3, 4]) == 7") -> RecordIndex:
    """Return an index of one failed check."""
    trace: dict[str, Any] = {"id": "t", "component": 12, "kind": "test_output", "seq": 1, "text": text, "passed": False}
    others: dict[str, Any] = {
        "failure_id": "f",
        "outcome": "resolved",
        "diagnosis": None,
        "repair_delta": None,
        "successful_trajectory": [],
    }
    return RecordIndex({**others, "traces": [trace]})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("When a cache is shared, lock it.", True),
        ("If the list may be empty, return early.", True),
        ("Check if the list is empty.", False),
        ("Where two writers meet, use a queue.", True),
        ("Before parsing a date, strip the zone.", True),
        ("Strip the zone before you parse.", False),
        ("For inputs that may be negative, take the absolute value.", True),
        ("In case of a timeout, retry once.", True),
        ("Unless the key is unique, group first.", True),
        ("Sort the rows.", False),
        ("", False),
    ],
)
def test_a_condition_says_when_a_lesson_applies(text: str, expected: bool) -> None:
    """`check if` is an action, not a condition."""
    assert condition(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sort the rows.", True),
        ("When rows are merged, sort them first.", True),
        ("The rows should be sorted.", True),
        ("We need to sort the rows.", True),
        ("Do not trust the header.", True),
        ("Never trust the header.", True),
        ("Avoid a shared cache.", True),
        ("It is fixed by sorting the rows.", True),
        ("The rows were not sorted.", False),
        ("The sort was stable.", False),
        ("The cache is a list of rows.", False),
        ("", False),
    ],
)
def test_an_action_says_what_to_do(text: str, expected: bool) -> None:
    """Imperatives, modals and gerunds after `by`; a description is none."""
    assert action(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sort the rows because the merge needs an order.", True),
        ("Sort the rows; otherwise the merge drops some.", True),
        ("Sort the rows so that the merge sees pairs.", True),
        ("Sort the rows to avoid gaps.", True),
        ("The merge does not handle gaps.", True),
        ("The merge fails to see pairs.", True),
        ("An unsorted merge leads to gaps.", True),
        ("Sort the rows.", False),
        ("Do not sort the rows.", False),
        ("", False),
    ],
)
def test_a_cause_says_why(text: str, expected: bool) -> None:
    """Connectives and diagnoses; an instruction with `do not` is none."""
    assert cause(text) is expected


def test_the_link_is_the_share_of_the_causes_that_returns() -> None:
    """Two of three terms of the causal fields, rounded down; blank fields do not count."""
    claims = {"failed_assumption": "The lock was shared", "strategy_error": "a thread", "violated_invariant": ""}
    assert link("Share no locks between workers", claims) == 66


def test_a_lesson_without_causes_links_to_nothing() -> None:
    """No term to return is no link."""
    assert link("Share no locks", {"failed_assumption": ""}) == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Guard a sum against an empty list", 0),
        ("Fix line 41 of it", 40),
        ("Return 7 for [3, 4]", 60),
        ("Make test_total pass", 34),
        ("Let sum_cart handle empty lists", 20),
        ("Let str_join handle empty lists", 0),
        ("", 0),
    ],
)
def test_the_instance_share_counts_what_names_this_failure(text: str, expected: int) -> None:
    """Numbers, line numbers, literals, tests and the functions that the checks call, rounded up."""
    assert instance(text, index()) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It adds up all factors instead of the odd ones.", True),
        ("The price is compared with the net amount rather than the gross amount.", True),
        ("The parser splits at every comma, not just at those outside quotes.", True),
        ("Rows are merged by name as opposed to their key.", True),
        ("The total is not scaled by the count as specified in the problem statement.", True),
        ("It never trims the names as the task says.", True),
        ("The total is scaled by the count as specified.", False),
        ("The total is not scaled. As specified, the count is taken.", False),
        ("It is not as fast as the table.", False),
        ("Instead of the odd ones.", False),
        ("It adds up all factors instead of.", False),
        ("It adds up all factors instead.", False),
        ("The sum is wrong rather often.", False),
        ("", False),
    ],
)
def test_a_contrast_names_what_was_done_and_what_is_to_be_done(text: str, expected: bool) -> None:
    """Both sides must name something (R-e1)."""
    assert contrast(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("This approach does not work for carts of more than nine items.", True),
        ("Such a shortcut only holds when the rows are sorted.", True),
        ("The formula breaks down for leap years.", True),
        ("The method does not apply to open intervals.", True),
        ("This approach does not work.", False),
        ("The parser does not work for empty rows.", False),
        ("This approach, which is old, is common. It does not work for rows.", False),
        ("", False),
    ],
)
def test_a_limit_says_where_an_approach_does_not_hold(text: str, expected: bool) -> None:
    """It must name the approach and what it does not hold for, in one clause (R-e1)."""
    assert limit(text) is expected


def test_an_imperative_behind_a_leading_clause_is_an_action() -> None:
    """`When …, renew` says what to do."""
    assert action("When a job outlives its lease, renew the lease.")
    assert not action("When a job outlives its lease, the lease is gone.")


@given(st.text(max_size=200))
def test_any_text_is_read_for_a_contrast(text: str) -> None:
    """And one that names none of its marks has none."""
    assert contrast(text) in {True, False}
    assert not contrast("".join(character for character in text if character not in "aeiou"))


def test_the_fact_has_the_fields_of_the_vocabulary() -> None:
    """In their declared order."""
    lesson = "When a cart may be empty, return zero before the loop, because the sum of nothing was never defined."
    fact = lesson_fact(lesson, {"strategy_error": "The loop over an empty cart never returns"}, index(), hedges=2)
    shown = dict(zip(load_vocabulary().facts["lesson"].fields, fact[1:], strict=True))
    assert shown == {
        "language": "english",
        "words": 19,
        "condition": True,
        "action": True,
        "contrast": False,
        "limit": False,
        "cause": True,
        "link": 100,
        "instance": 0,
        "hedges": 2,
        "sentences": 1,
        "platitudes": 0,
    }


@given(st.text(max_size=200), st.text(max_size=100))
def test_any_lesson_is_measured_within_bounds(lesson: str, claim: str) -> None:
    """No text raises; shares stay in hundredths."""
    fact = lesson_fact(lesson, {"strategy_error": claim}, index(), hedges=0)
    assert 0 <= int(fact[7]) <= 100
    assert 0 <= int(fact[8]) <= 100


@given(st.text(st.characters(categories=["L", "N", "Zs"]), max_size=100))
def test_a_lesson_that_repeats_the_cause_is_linked_to_all_of_it(claim: str) -> None:
    """The link of a text to itself is everything or, without terms, nothing."""
    assert link(claim, {"strategy_error": claim}) in {0, 100}


@pytest.mark.parametrize(
    ("text", "virtues", "expected"),
    [
        ("", [], (0, 0)),
        ("One. Two! Three?", [(0, 3)], (3, 34)),
        ("One. Two! Three?", [(0, 3), (1, 2)], (3, 34)),
        ("One. Two! Three?", [(2, 6)], (3, 67)),
        ("One", [(0, 3)], (1, 100)),
        (" \n \n", [], (0, 0)),
    ],
)
def test_platitudes_are_counted_by_sentence(text: str, virtues: list[tuple[int, int]], expected: tuple[int, int]) -> None:
    """A phrase counts for each sentence that it touches, once; the share is rounded up (R-e1)."""
    assert platitudes(text, virtues) == expected
