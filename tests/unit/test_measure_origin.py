"""Where a crash comes from: the attempt, or the check and its harness (R-f1)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.measure.backing import backing_facts
from reflect_gate.measure.index import RecordIndex
from reflect_gate.measure.origin import missing_names

CODE = "def share(bill, guests):\n    return bill / len(guests)\n"
SPEC = "Write share(bill, guests). The module also has parse(text)."


def index(message: str, *, code: str = CODE, spec: str = SPEC, check: str = "assert share(1, [2]) == 1") -> RecordIndex:
    """Return an index of a task, an attempt and a check that crashed with `message`."""
    traces: list[dict[str, Any]] = [
        {"id": "spec", "component": 11, "kind": "spec", "seq": 0, "text": spec},
        {"id": "code", "component": 11, "kind": "code", "seq": 1, "text": code},
        {"id": "t", "component": 12, "kind": "test_output", "seq": 2, "text": f"{check}\n{message}", "passed": False},
    ]
    if not code:
        del traces[1]
    return RecordIndex(
        {
            "failure_id": "f",
            "outcome": "resolved",
            "traces": traces,
            "diagnosis": None,
            "repair_delta": None,
            "successful_trajectory": [],
        }
    )


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("NameError: name 'total' is not defined", {"total"}),
        ("ReferenceError: total is not defined", {"total"}),
        ("./cart.go:4:2: undefined: total", {"total"}),
        ("error[E0425]: cannot find value `total` in this scope", {"total"}),
        ("AttributeError: 'Node' object has no attribute 'test'", {"Node", "test"}),
        ("AttributeError: 'NoneType' object has no attribute 'int'", set()),
        ("ModuleNotFoundError: No module named 'yaml'", {"yaml"}),
        ("TypeError: add() missing 1 required positional argument: 'second'", {"second"}),
        ("IndexError: list index out of range", set()),
    ],
)
def test_a_message_names_what_is_missing(message: str, names: set[str]) -> None:
    """Built-in types are nobody's."""
    assert missing_names(message) == names


def test_a_name_that_only_the_check_uses_is_the_checks_own_fault() -> None:
    """The attempt does not hold it, and the task does not ask for it."""
    assert index("NameError: name 'expected' is not defined", check="assert share(1, [2]) == expected").foreign == {"t"}


def test_a_name_of_the_harness_is_not_the_attempts_fault() -> None:
    """Neither the attempt nor the task knows it."""
    assert index("AttributeError: 'Node' object has no attribute 'visit'").foreign == {"t"}


def test_a_name_of_the_attempt_is_its_own_fault() -> None:
    """It stands in the code."""
    assert index("NameError: name 'guests' is not defined").foreign == frozenset()


def test_a_function_that_the_task_asks_for_is_the_attempts_to_define() -> None:
    """An attempt that defines something else altogether has failed by itself."""
    assert index("NameError: name 'share' is not defined", code="def strlen(text):\n    return 0\n").foreign == frozenset()


def test_a_word_of_the_task_is_no_function_that_it_shows() -> None:
    """`bill` stands in the task as a word: an attempt that defines it has not done what was asked."""
    assert index("NameError: name 'share' is not defined", code="def bill(text):\n    return 0\n").foreign == frozenset()


@pytest.mark.parametrize(
    "mention", ["# expected is 3", "'''As expected.'''", 'TEXT = "expected"', "// expected", "/* expected */"]
)
def test_a_comment_or_a_string_uses_no_name(mention: str) -> None:
    """The attempt that only mentions a name does not hold it."""
    record = index(
        "NameError: name 'expected' is not defined", code=f"{mention}\n{CODE}", check="assert share(1, [2]) == expected"
    )
    assert record.foreign == {"t"}


def test_what_is_divided_is_no_comment() -> None:
    """`//` within a line divides in Python."""
    record = index("NameError: name 'count' is not defined", code="def share(bill):\n    return bill // count\n")
    assert record.foreign == frozenset()


def test_another_function_of_the_task_is_the_checks_to_bring() -> None:
    """Where the attempt defines what the task asks for."""
    assert index("NameError: name 'parse' is not defined", check="assert share(parse('1'), [2]) == 1").foreign == {"t"}


def test_without_code_nothing_is_foreign() -> None:
    """What the attempt holds is not known then."""
    assert index("NameError: name 'expected' is not defined", code="").foreign == frozenset()


def test_a_crash_that_names_nothing_is_not_foreign() -> None:
    """Most crashes are the attempt's own."""
    assert index("IndexError: list index out of range").foreign == frozenset()


def test_a_foreign_crash_backs_apart() -> None:
    """Its `own` is false, so that rules can leave it out."""
    record = index("NameError: name 'expected' is not defined")
    assert backing_facts(["code", "t"], record) == [("backing", "none", "crash", False, 1), ("backing", "none", "none", True, 1)]


@given(st.text(max_size=200), st.text(max_size=100))
def test_any_record_is_read(message: str, code: str) -> None:
    """No text raises; only the check can be foreign."""
    assert index(message, code=code).foreign <= {"t"}
