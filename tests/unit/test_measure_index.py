"""The record, prepared: what a check showed, what an item holds, and the order of items."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.facts import load_vocabulary
from reflect_gate.measure.anchors import Anchor
from reflect_gate.measure.defect import defect
from reflect_gate.measure.index import RecordIndex

KINDS = load_vocabulary().domains["kind"].symbols
DEFECTS = load_vocabulary().domains["defect"].symbols


def item(**values: Any) -> dict[str, Any]:
    """Return a test output with the given values."""
    return {"id": "t", "component": 12, "kind": "test_output", "seq": 1, "text": "", **values}


def record(*traces: dict[str, Any], **others: Any) -> dict[str, Any]:
    """Return a record of the given traces."""
    empty: dict[str, Any] = {
        "failure_id": "f",
        "outcome": "resolved",
        "diagnosis": None,
        "repair_delta": None,
        "successful_trajectory": [],
    }
    return {**empty, "traces": list(traces), **others}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"passed": True, "expected": "3", "actual": "3"}, "none"),
        ({"passed": True, "text": "raises ValueError: as it must"}, "none"),
        ({"expected": "3", "actual": "3"}, "none"),
        ({"expected": "[1, 2]", "actual": "[1,2]"}, "none"),
        ({"text": "12 passed, 0 failed"}, "none"),
        ({"expected": "3", "actual": "4"}, "wrong_value"),
        ({"passed": False, "text": "the page looks wrong"}, "wrong_value"),
        ({"exit_code": 1, "text": "1 file differs"}, "wrong_value"),
        ({"text": "1 passed, 2 failed"}, "wrong_value"),
        ({"error_class": "AssertionError", "text": "Traceback (most recent call last):\nAssertionError"}, "wrong_value"),
        ({"passed": False, "text": "thread 'main' panicked at src/a.rs:3:5:\nassertion `left == right` failed"}, "wrong_value"),
        ({"passed": False, "text": "E       assert 3 == 4\nE       AssertionError"}, "wrong_value"),
        ({"expected": "None", "actual": "4", "passed": False}, "wrong_value"),
        ({"expected": "3", "actual": None}, "no_result"),
        ({"expected": "3", "actual": ""}, "no_result"),
        ({"expected": "3", "actual": "None"}, "no_result"),
        ({"expected": "3", "actual": "undefined"}, "no_result"),
        ({"expected": "'a'", "actual": "nil", "passed": False}, "no_result"),
        ({"error_class": "KeyError"}, "crash"),
        ({"expected": "3", "actual": "list index out of range"}, "crash"),
        ({"expected": "3", "actual": "KeyError: 'a'"}, "crash"),
        ({"passed": False, "text": "Traceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'a'"}, "crash"),
        ({"passed": False, "text": "TypeError: x is not a function\n    at run (/srv/a.js:3:5)"}, "crash"),
        ({"passed": False, "text": "panic: runtime error: index out of range\n\ngoroutine 1 [running]:"}, "crash"),
        ({"passed": False, "text": "error[E0382]: borrow of moved value: `rows`"}, "crash"),
        ({"passed": False, "text": "thread 'main' panicked at src/a.rs:3:5:\nindex out of bounds"}, "crash"),
        ({"passed": False, "text": 'Exception in thread "main" java.lang.IllegalStateException: closed'}, "crash"),
        ({"passed": False, "text": "src/a.c:3:5: error: expected ';' before 'return'"}, "crash"),
        ({"passed": False, "text": "Segmentation fault (core dumped)"}, "crash"),
        ({"kind": "error", "text": "the service stopped"}, "crash"),
    ],
)
def test_what_a_check_showed(values: dict[str, Any], expected: str) -> None:
    """A passed check shows nothing, a failed assertion is no crash, an empty result is no value."""
    assert defect(item(**values)) == expected


@pytest.mark.parametrize("kind", ["plan", "code", "spec", "diagnosis", "repair", "success", "user"])
def test_what_was_not_executed_shows_no_defect(kind: str) -> None:
    """A plan that quotes a traceback did not crash."""
    assert defect(item(kind=kind, text="Traceback (most recent call last):\nKeyError: 'a'", error_class="KeyError")) == "none"


def test_an_action_fails_by_its_exit_code_alone() -> None:
    """The text of a command is not its output."""
    shown = [defect(item(kind="action", text="grep 'panic: ' log", **more)) for more in ({}, {"exit_code": 2})]
    assert shown == ["none", "wrong_value"]


def test_values_and_places_are_searched_too() -> None:
    """An item holds what stands in its values, its error class and its path."""
    index = RecordIndex(
        record(item(expected="4.25", actual="6", error_class="QuotaError", path="src/quota.py", text="see above"))
    )
    held = [
        index.items["t"].holds(Anchor(kind, form))
        for kind, form in (("number", "4.25"), ("name", "quotaerror"), ("name", "src/quota.py"))
    ]
    assert held == [True, True, True]


def test_a_crash_holds_the_class_that_its_message_tells() -> None:
    """A log that kept only the message is found under the class."""
    index = RecordIndex(record(item(expected="3", actual="list index out of range")))
    assert index.names(Anchor("name", "indexerror"))


def test_repairs_and_successes_support_no_cause() -> None:
    """They are in the record but not usable, and show no defect (R-a1)."""
    broken = {"kind": "test_output", "component": 12, "seq": 9, "text": "", "expected": "1", "actual": "2"}
    index = RecordIndex(record(item(), repair_delta={**broken, "id": "r"}, successful_trajectory=[{**broken, "id": "s"}]))
    assert [(name, index.items[name].usable, index.items[name].defect) for name in ("t", "r", "s")] == [
        ("t", True, "none"),
        ("r", False, "none"),
        ("s", False, "none"),
    ]


def test_order_is_told_against_the_first_failing_item() -> None:
    """What was overlooked must precede it; it does not precede itself."""
    traces = [
        item(id="a", seq=1),
        item(id="b", seq=2, expected="1", actual="2"),
        item(id="c", seq=2),
        item(id="d", seq=3, expected="1", actual="2"),
    ]
    index = RecordIndex(record(*traces))
    assert [index.order(index.items[name]) for name in "abcd"] == ["before", "after", "unknown", "after"]


def test_order_is_unknown_where_nothing_fails() -> None:
    """Without a failing item there is nothing to precede."""
    index = RecordIndex(record(item()))
    assert index.order(index.items["t"]) == "unknown"


def test_of_equal_ids_the_first_counts() -> None:
    """A record has one item of an id."""
    index = RecordIndex(record(item(text="first"), item(text="second")))
    assert index.items["t"].original == "first"


VALUES = st.one_of(
    st.none(), st.text(max_size=20), st.sampled_from(["None", "3", "[]", "KeyError: 'a'", "list index out of range"])
)


@given(
    st.sampled_from(KINDS),
    st.text(max_size=120),
    st.fixed_dictionaries(
        {},
        optional={
            "passed": st.booleans(),
            "exit_code": st.integers(0, 255),
            "expected": VALUES.filter(lambda value: value is not None),
            "actual": VALUES,
            "error_class": st.text(max_size=12),
        },
    ),
)
def test_every_item_has_one_defect(kind: str, text: str, more: dict[str, Any]) -> None:
    """Whatever an item carries, the answer is a symbol of the vocabulary, and a passed check shows none."""
    shown = defect(item(kind=kind, text=text, **more))
    assert shown in DEFECTS
    if more.get("passed"):
        assert shown == "none"
