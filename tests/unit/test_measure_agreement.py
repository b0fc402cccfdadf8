"""Numbers and polarity: where a claim and the evidence say the same, the opposite, or nothing of the same thing."""

from __future__ import annotations

from typing import Any

import pytest

from reflect_gate.measure import numbers, polarity
from reflect_gate.measure.index import RecordIndex
from reflect_gate.measure.numbers import Statement, statements


def index(*items: dict[str, Any]) -> RecordIndex:
    """Return an index of test outputs with the ids `i0`, `i1` and so on."""
    traces = [
        {"id": f"i{number}", "component": 12, "kind": "test_output", "seq": number, "text": "", **item}
        for number, item in enumerate(items)
    ]
    others: dict[str, Any] = {
        "failure_id": "f",
        "outcome": "resolved",
        "diagnosis": None,
        "repair_delta": None,
        "successful_trajectory": [],
    }
    return RecordIndex({**others, "traces": traces})


def check(expected: str, actual: str | None, text: str = "") -> dict[str, Any]:
    """Return a check with its values."""
    return {"expected": expected, "actual": actual, "passed": expected == actual, "text": text}


def by_numbers(claim: str, *items: dict[str, Any]) -> list[str]:
    """Return how the values of a claim stand to each item."""
    known = index(*items)
    return [numbers.agreement(claim, item, known) for item in known.items.values()]


def by_polarity(claim: str, *items: dict[str, Any], field: str = "strategy_error") -> list[str]:
    """Return how the words of a claim stand to each item."""
    known = index(*items)
    return [polarity.agreement(field, claim, item, known) for item in known.items.values()]


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("The check expected 3 but got 2.", Statement("3", "2")),
        ("We expected [1, 2], got [2, 1].", Statement("[1,2]", "[2,1]")),
        ("It returned False instead of True.", Statement("true", "false")),
        ("It returns `None` rather than an empty list.", Statement("[]", "none")),
        ("It should return 'a b' but it returns 'ab'.", Statement("a b", "ab")),
        ("The expected output is 2.50, while the actual output is 3.", Statement("2.5", "3")),
        ("The output was 7 when 8 was expected.", Statement("8", "7")),
        ("For the last row it was supposed to return -1, but it gave 0.", Statement("-1", "0")),
        ("The expected value for the first call is 1,000 and it printed 100.", Statement("1000", "100")),
        ("It returns a string instead of a tuple.", Statement("type:tuple", "type:str")),
        ("The expected output is 5.", Statement("5", None)),
    ],
)
def test_statements_are_read_from_many_phrasings(claim: str, expected: Statement) -> None:
    """Each names the side of its values."""
    assert statements(claim) == (expected,)


@pytest.mark.parametrize(
    "claim",
    [
        "The loop returns the larger value.",
        "It does not return 3.",
        "The list holds 3 of 5 rows.",
        "It should call the loader instead of the parser.",
        "",
    ],
)
def test_prose_states_no_values(claim: str) -> None:
    """Names, expressions and denials are no values of a check."""
    assert statements(claim) == ()


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("It returned 2 instead of 3.", "agree"),
        ("The expected result is 3.0.", "agree"),
        ("It returned 3 instead of 2.", "conflict"),
        ("It expected 3 but got 5.", "conflict"),
        ("It returned 8 instead of 9.", "conflict"),
        ("The expected result is 9.", "none"),
        ("It counts one row too few.", "none"),
    ],
)
def test_values_are_held_against_the_only_failed_check(claim: str, expected: str) -> None:
    """Equal sides agree; exchanged, half wrong and unknown pairs conflict; a single unknown value says nothing."""
    assert by_numbers(claim, check("3", "2")) == [expected]


def test_what_another_check_shows_conflicts_with_none() -> None:
    """A claim about the second check is not held against the first."""
    assert by_numbers("It returned 2 instead of 4.", check("3", "2"), check("4", "2")) == ["none", "agree"]


def test_unknown_values_conflict_only_where_the_claim_can_mean_one_check() -> None:
    """With two failed checks the claim may be about something else."""
    assert by_numbers("It returned 8 instead of 9.", check("3", "2"), check("4", "1")) == ["none", "none"]


def test_a_stated_fraction_may_be_rounded() -> None:
    """What rounds to the stated digits is the stated value."""
    assert by_numbers("It returned 0.33 instead of 0.5.", check("0.5", "0.3333333333")) == ["agree"]


def test_values_of_an_element_say_nothing_of_the_whole() -> None:
    """A plain value beside a check that shows a list may be one of its elements."""
    assert by_numbers("It returned 1 instead of 2.", check("[2, 5]", "[1, 5]")) == ["none"]


def test_an_exchanged_type_conflicts() -> None:
    """Returned a list instead of a number, when the check wanted the list."""
    assert by_numbers("It returns a tuple instead of a list.", check("(1, 2)", "[1, 2]")) == ["conflict"]


def test_a_passed_check_contradicts_no_failure() -> None:
    """A claim about a failure is not held against a check that passed."""
    assert by_numbers("It returned 2 instead of 3.", check("7", "7")) == ["none"]


@pytest.mark.parametrize(
    ("claim", "shown", "expected"),
    [
        ("The output is too low.", check("9", "4"), "agree"),
        ("The output is too low.", check("4", "9"), "conflict"),
        ("The sum is higher than expected.", check("9", "4"), "conflict"),
        ("The function returns a higher count than expected.", check("4", "9"), "agree"),
        ("The result has too few values.", check("[1, 2, 3]", "[1]"), "agree"),
        ("The result has too many values.", check("[1, 2, 3]", "[1]"), "conflict"),
        ("The function does not return any value.", check("3", "None"), "agree"),
        ("The function returns None.", check("3", "4"), "conflict"),
        ("The function should not return None.", check("3", "4"), "none"),
        ("I assumed that the function returns None.", check("3", "4"), "none"),
        ("The result is not too low.", check("4", "9"), "none"),
        ("The bound is lower than the value.", check("4", "9"), "none"),
        ("The output is too low.", check("'a'", "'b'"), "none"),
    ],
)
def test_words_are_held_against_the_values_of_a_check(claim: str, shown: dict[str, Any], expected: str) -> None:
    """Too low, too few, nothing at all; suppositions, denials and other comparisons are not read."""
    assert by_polarity(claim, shown) == [expected]


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("The function has a return statement.", "conflict"),
        ("The importer returns a value.", "conflict"),
        ("The function has a return statement inside the loop.", "none"),
        ("The function returns a value only for short rows.", "none"),
        ("The function returns a value when the row is short.", "none"),
        ("The function does not return a value.", "agree"),
    ],
)
def test_a_result_is_claimed_where_none_came_out(claim: str, expected: str) -> None:
    """What is said of every case is contradicted by a check that got nothing; what is said of some is not."""
    assert by_polarity(claim, check("3", None)) == [expected]


def test_a_result_that_some_check_got_is_not_denied() -> None:
    """A function that returned something once has a return."""
    assert by_polarity("The function has a return statement.", check("3", None), check("4", "5")) == ["none", "none"]


def test_a_value_claim_is_bound_to_the_check_that_it_names() -> None:
    """Naming another check's input takes the claim away from this one."""
    shown = check("4", "9", "total('a', 17) == 4"), check("9", "4", "total('b', 31) == 9")
    assert by_polarity("For 31 the output is too low.", *shown) == ["none", "agree"]


def test_a_claim_that_another_failed_check_bears_out_conflicts_with_none() -> None:
    """Without a name it is about the check that fits."""
    assert by_polarity("The output is too low.", check("4", "9"), check("9", "4")) == ["none", "agree"]


def test_a_named_test_passes_or_fails() -> None:
    """A claim about a test is held against its verdict."""
    shown = {"text": "test_rotate ran", "passed": False}
    assert by_polarity("test_rotate passes.", shown) == ["conflict"]
    assert by_polarity("test_rotate fails.", shown) == ["agree"]
    assert by_polarity("Everything passes.", shown) == ["none"]


@pytest.mark.parametrize(
    ("claim", "line", "expected"),
    [
        ("The file app.toml was missing.", "open app.toml: no such file or directory", "agree"),
        ("The file app.toml exists.", "open app.toml: no such file or directory", "conflict"),
        ("The file app.toml does not exist.", "app.toml not found", "agree"),
        ("The file app.toml exists.", "open other.toml: no such file or directory", "none"),
        ("The file app.toml should exist.", "app.toml not found", "none"),
        ("The hook run_migrations() ran before the schema check.", "schema check: run_migrations ran after it", "conflict"),
        ("The queue flush_queue() always keeps order.", "flush_queue never keeps the order of the queue", "conflict"),
        ("The job load_users() started before the lock was free.", "the lock was free after the job load_users started", "agree"),
        (
            "The job load_users() started before the lock was free.",
            "the job load_users started after the lock was free",
            "conflict",
        ),
    ],
)
def test_words_are_held_against_the_lines_of_an_observation(claim: str, line: str, expected: str) -> None:
    """Antonyms of a shared name; relations are read from the side of the name."""
    assert by_polarity(claim, {"kind": "log", "text": f"start\n{line}"}) == [expected]


def test_intentions_and_norms_are_not_observations() -> None:
    """A plan to make a test pass does not contradict that it fails."""
    lines = [{"kind": kind, "text": "then app.toml exists"} for kind in ("plan", "code", "spec", "action")]
    assert by_polarity("The file app.toml was missing.", *lines) == ["none"] * 4


def test_a_false_belief_is_meant_to_be_contradicted() -> None:
    """The evidence against a failed assumption is its support."""
    line = {"kind": "log", "text": "app.toml not found"}
    assert by_polarity("The file app.toml exists.", line, field="failed_assumption") == ["none"]


def test_an_item_that_says_both_says_nothing() -> None:
    """Lines that disagree with each other decide nothing."""
    line = {"kind": "log", "text": "app.toml not found\napp.toml exists"}
    assert by_polarity("The file app.toml exists.", line) == ["none"]
