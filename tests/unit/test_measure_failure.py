"""Kinds of failure: what a claim says, what a check showed, and whether they are the same (R-c2)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.measure.failure import agreement, claimed_kinds, denied_kinds, shown_kinds
from reflect_gate.measure.index import RecordIndex


def index(*checks: dict[str, Any]) -> RecordIndex:
    """Return an index of failed checks `t0`, `t1` and so on."""
    shape = {"component": 12, "kind": "test_output", "seq": 1, "text": "check", "passed": False}
    return RecordIndex(
        {
            "failure_id": "f",
            "outcome": "resolved",
            "traces": [{**shape, "id": f"t{number}", **check} for number, check in enumerate(checks)],
            "diagnosis": None,
            "repair_delta": None,
            "successful_trajectory": [],
        }
    )


CRASH = {"text": "price([]) raised IndexError: list index out of range", "error_class": "IndexError"}
NOTHING = {"expected": "[]", "actual": "None"}
WRONG = {"expected": "3", "actual": "4"}


@pytest.mark.parametrize(
    ("claim", "kinds"),
    [
        ("The loop ends in a list index out of range error.", {"index"}),
        ("It reads past the end of the row.", {"index"}),
        ("The function does not return any value when the cart is empty.", {"nothing"}),
        ("It returns None for an empty cart.", {"nothing"}),
        ("The function lacks a return statement.", {"nothing"}),
        ("The closing bracket of the list is missing.", {"syntax"}),
        ("A missing closing parenthesis breaks the module.", {"syntax"}),
        ("The json module is never imported.", {"import"}),
        ("The helper is not defined at that point.", {"name"}),
        ("Dividing by zero is not prevented.", {"zero"}),
        ("The recursion never ends: infinite recursion.", {"recursion"}),
        ("The request timed out.", {"time"}),
        ("The config has no attribute called port.", {"attribute"}),
        ("The key does not exist in the mapping.", {"key"}),
        ("The total is too low.", set()),
        ("It should raise a KeyError.", set()),
        ("The guard was added to avoid an IndexError.", set()),
        ("", set()),
    ],
)
def test_a_claim_names_kinds_of_failure(claim: str, kinds: set[str]) -> None:
    """In words or by a class; what it prescribes or wants to avoid it does not state."""
    assert claimed_kinds(claim) == kinds


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("IndexError: list index out of range", {"index"}),
        ("thread 'main' panicked at src/a.rs:3: index out of bounds: the len is 0", {"index"}),
        ("panic: runtime error: index out of range [3] with length 3", {"index"}),
        ("java.lang.ArrayIndexOutOfBoundsException: 3", {"index"}),
        ("ReferenceError: total is not defined", {"name"}),
        ("./cart.go:4:2: undefined: total", {"name"}),
        ("error[E0425]: cannot find value `total` in this scope", {"name"}),
        ("ModuleNotFoundError: No module named 'yaml'", {"import"}),
        ("panic: runtime error: invalid memory address or nil pointer dereference", {"null"}),
        ("TypeError: Cannot read properties of undefined (reading 'id')", {"type", "null"}),
        ("ZeroDivisionError: division by zero", {"zero"}),
        ("Segmentation fault (core dumped)", {"memory"}),
        ("SyntaxError: '(' was never closed", {"syntax"}),
    ],
)
def test_a_crash_tells_its_kind_in_the_words_of_its_language(text: str, kinds: set[str]) -> None:
    """By class and by message."""
    assert shown_kinds({"text": text}, "crash") == kinds


def test_only_a_crash_or_a_missing_result_has_a_kind() -> None:
    """A wrong value is read by other measures, whatever its text quotes."""
    assert shown_kinds({"text": "IndexError"}, "wrong_value") == frozenset()
    assert shown_kinds({"text": "IndexError"}, "no_result") == {"nothing"}


@pytest.mark.parametrize(
    ("claim", "checks", "expected"),
    [
        ("It runs into an index out of range error.", [CRASH], "agree"),
        ("The function does not return anything when the cart is empty.", [NOTHING], "agree"),
        (
            "The json module is not imported.",
            [{"text": "NameError: name 'json' is not defined", "error_class": "NameError"}],
            "agree",
        ),
        ("This causes a KeyError.", [CRASH], "conflict"),
        ("This causes a KeyError.", [NOTHING], "conflict"),
        ("This causes a KeyError.", [CRASH, {"text": "KeyError: 'a'", "error_class": "KeyError"}], "none"),
        ("This causes a KeyError.", [WRONG], "none"),
        ("It returns None.", [CRASH], "none"),
        ("The total is too low.", [CRASH], "none"),
    ],
)
def test_a_claim_is_held_against_what_the_check_showed(claim: str, checks: list[dict[str, Any]], expected: str) -> None:
    """A kind that another check of the record shows is said of that one."""
    record = index(*checks)
    assert agreement(claim, record.items["t0"], record) == expected


def test_a_passed_check_bears_out_no_failure() -> None:
    """Whatever its text says."""
    record = index({**CRASH, "passed": True})
    assert agreement("It runs into an index out of range error.", record.items["t0"], record) == "none"


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_texts_are_compared(claim: str, text: str) -> None:
    """No text raises, and the answer is one of three."""
    record = index({"text": text, "error_class": "ValueError"})
    assert agreement(claim, record.items["t0"], record) in {"none", "agree", "conflict"}


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("The loop does not raise an index error.", {"index"}),
        ("This does not lead to a division by zero.", {"zero"}),
        ("The code never causes a type error.", {"type"}),
        ("The code does not handle an index error.", set()),
        ("The loop should not raise an index error.", set()),
        ("The loop raises an index error.", set()),
        ("It does not raise an index error here, it raises an index error there.", set()),
    ],
)
def test_denied_kinds(claim: str, expected: set[str]) -> None:
    """A kind of failure is denied where it is said not to come about, not where it is not handled or not wanted."""
    assert denied_kinds(claim) == expected
