"""Expected and actual values of failures that were logged as text alone, and exit statuses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.measure.defect import defect
from reflect_gate.measure.expectation import Values, exit_status, read_values
from reflect_gate.measure.index import RecordIndex
from reflect_gate.measure.support import support_facts

WANT_4_GOT_3 = Values("4", "3")


@pytest.mark.parametrize(
    "text",
    [
        "E       assert 3 == 4\nE        +  where 3 = share(1, 1)",
        "E       assert 4 == 3\nE        +  where 3 = share(1, 1)",
        "AssertionError: 3 != 4",
        "AssertionError: 3 != 4 : the share is wrong",
        "  ● shares the bill\n\n    Expected: 4\n    Received: 3\n",
        "--- FAIL: TestShare (0.00s)\n    share_test.go:9: Share(1, 2) = 3, want 4",
        "share_test.go:9: got 3, want 4",
        "    Error:  Not equal:\n            expected: 4\n            actual  : 3",
        "assertion `left == right` failed\n  left: 3\n right: 4",
        "assertion failed: `(left == right)`\n  left: `3`,\n right: `4`: the share",
        "org.opentest4j.AssertionFailedError: expected: <4> but was: <3>",
        "java.lang.AssertionError: expected:<4> but was:<3>",
        "Expected: is <4>\n     but: was <3>",
        "expected 4 but got 3",
        "Expected 4, received 3.",
        "assert 3 == 4",
    ],
)
def test_frameworks_say_what_they_expected_and_got(text: str) -> None:
    """pytest, unittest, jest, go test, cargo test, JUnit, hamcrest and plain words."""
    assert read_values(text) == WANT_4_GOT_3


def test_lists_that_differ_are_read_whole() -> None:
    """unittest puts the kind of value before both."""
    assert read_values("AssertionError: Lists differ: [1, 2] != [2, 1]") == Values("[2, 1]", "[1, 2]")


@pytest.mark.parametrize("text", ["", "assert share(1, 1) == 4", "3 passed", "assert 4 == 4", "expected nothing of the kind"])
def test_a_text_without_two_values_is_not_read(text: str) -> None:
    """A call that was not evaluated is no value, nor are two equal ones a failure."""
    assert read_values(text) is None


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Process exited with code 2", 2),
        ("exit status 1", 1),
        ("exit code: 0", 0),
        ("Command returned non-zero exit status 127.", 127),
        ("exit code: 1\nretried\nexit code: 0", 0),
        ("the exit is on the left", None),
    ],
)
def test_the_last_exit_status_counts(text: str, status: int | None) -> None:
    """A run that was retried ended as it ended last."""
    assert exit_status(text) == status


def item(text: str, **more: Any) -> dict[str, Any]:
    """Return a test output of text alone."""
    return {"id": "t", "component": 12, "kind": "test_output", "seq": 1, "text": text, **more}


def index(check: dict[str, Any]) -> RecordIndex:
    """Return an index of one check."""
    return RecordIndex(
        {
            "failure_id": "f",
            "outcome": "resolved",
            "traces": [check],
            "diagnosis": None,
            "repair_delta": None,
            "successful_trajectory": [],
        }
    )


def test_a_claim_is_held_against_values_that_stand_in_the_text() -> None:
    """As if the capture had kept them apart."""
    record = index(item("FAILED\nshare_test.go:9: got 3, want 4"))
    agree, conflict = (
        support_facts({"strategy_error": claim}, ["t"], record)[0]
        for claim in ("It returned 3 instead of 4.", "It returned 4 instead of 3.")
    )
    assert ("agree" in agree, "conflict" in conflict) == (True, True)


def test_a_result_that_is_missing_in_the_text_is_no_result() -> None:
    """`Received: null` is more than a wrong value."""
    assert index(item("Expected: 4\nReceived: null")).items["t"].defect == "no_result"


def test_a_passed_check_is_not_read() -> None:
    """Its text may quote an earlier failure."""
    assert "actual" not in index(item("got 3, want 4", passed=True)).items["t"].item


def test_an_exit_status_shows_a_failed_run() -> None:
    """Of a run, not of a plan that speaks of one."""
    assert defect(item("make: exit status 2")) == "wrong_value"
    assert defect({**item("make: exit status 2"), "kind": "plan"}) == "none"


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    """No text raises; two values are never the same."""
    found = read_values(text)
    assert found is None or found.expected != found.actual
