"""The evidentiary record is assembled, not narrated: six keys, items in order with stable ids, one diagnosis (R-a1)."""

from __future__ import annotations

from typing import Any

import pytest

from reflect_gate import schemas
from reflect_gate.errors import ReflectGateError
from reflect_gate.stages._record import RECORD_KEYS, assemble, complete, diagnose, idempotency_key, items, record_signature

TRACEBACK = """Traceback (most recent call last):
  File "/home/ana/shop/cart.py", line 41, in total
    return price["amount"] * 3
TypeError: 'NoneType' object is not subscriptable
"""


def _termination(**changes: Any) -> dict[str, Any]:
    return {
        "failure_id": "checkout-81",
        "outcome": "escalated",
        "traces": [
            {"kind": "plan", "text": "Every price has an amount."},
            {"kind": "code", "text": "def total(price): return price['amount'] * 3"},
            {"kind": "error", "text": TRACEBACK},
        ],
        **changes,
    }


def _codes(termination: dict[str, Any]) -> list[str]:
    with pytest.raises(ReflectGateError) as caught:
        assemble(termination)
    return [error.code for error in caught.value.errors]


def test_record_has_the_six_keys() -> None:
    """R-a1: the id and five fields of evidence, and nothing else of the termination."""
    record = assemble(_termination(task="Sum the prices", repository="acme/shop", language="python", failing_action_seq=2))
    assert tuple(record) == RECORD_KEYS


def test_record_passes_its_schema() -> None:
    """R-a1: what is assembled is a record that a request may carry."""
    repair = {"kind": "repair", "text": "Return 0 where there is no price."}
    success = [{"kind": "success", "text": "order.py checks for None first."}]
    record = assemble(_termination(repair_delta=repair, successful_trajectory=success))
    schemas.check("record", record, "test")


def test_every_item_is_citable() -> None:
    """R-a1: missing ids, components and places are filled in by a fixed rule."""
    filled = [(item["id"], item["component"], item["seq"]) for item in assemble(_termination())["traces"]]
    assert filled == [("plan-1", 11, 0), ("code-1", 11, 1), ("error-1", 12, 2)]


def test_assembly_is_deterministic() -> None:
    """R-a1: the same termination gives the same record."""
    assert assemble(_termination()) == assemble(_termination())


def test_items_are_ordered_by_seq() -> None:
    """R-a1: a capture that arrives out of order is put in order."""
    traces = [{"kind": "error", "seq": 5, "text": TRACEBACK}, {"kind": "plan", "seq": 1, "text": "p"}]
    assert [item["kind"] for item in assemble(_termination(traces=traces))["traces"]] == ["plan", "error"]


def test_given_id_is_never_given_again() -> None:
    """R-a1: a captured id that looks like a built one keeps its item."""
    traces = [{"kind": "log", "text": "first"}, {"kind": "log", "id": "log-1", "text": "second"}]
    assert [item["id"] for item in assemble(_termination(traces=traces))["traces"]] == ["log-2", "log-1"]


def test_duplicate_id_is_refused() -> None:
    """R-a1: two items under one id could not be cited apart."""
    traces = [{"kind": "log", "id": "a", "text": "1"}, {"kind": "log", "id": "a", "text": "2"}]
    assert _codes(_termination(traces=traces)) == ["record-duplicate-id"]


def test_id_shared_with_the_diagnosis_is_refused() -> None:
    """R-a1: the diagnosis is a citable item, so its id is unique too."""
    traces = [{"kind": "error", "id": "d", "text": TRACEBACK}]
    assert _codes(_termination(traces=traces, diagnosis={"id": "d", "text": "no price"})) == ["record-duplicate-id"]


def test_diagnosis_may_cite_only_what_is_there() -> None:
    """R-a1: a diagnosis that rests on an unknown item is refused."""
    assert _codes(_termination(diagnosis={"text": "no price", "cited": ["error-9"]})) == ["record-unknown-citation"]


def test_all_problems_are_reported_at_once() -> None:
    """R-a1: an unknown key, a bad outcome and a bad kind are three errors of one exception."""
    found = _codes(_termination(outcome="failed", tracez=[], traces=[{"kind": "codee", "text": "x"}]))
    assert sorted(found) == ["record-bad-value", "record-bad-value", "record-unknown-key"]


@pytest.mark.parametrize(
    "changes",
    [
        {"failure_id": " "},
        {"traces": "log"},
        {"traces": [3]},
        {"traces": [{"kind": "log"}]},
        {"traces": [{"kind": "log", "text": "x", "seq": -1}]},
        {"diagnosis": "no price"},
    ],
)
def test_bad_value_is_refused(changes: dict[str, Any]) -> None:
    """R-a1: what cannot be read as evidence is an error, never left out."""
    assert set(_codes(_termination(**changes))) == {"record-bad-value"}


def test_key_is_the_failure_id() -> None:
    """R-a1: one record per termination, by its id."""
    assert idempotency_key(assemble(_termination())) == "checkout-81"


def test_items_are_in_record_order() -> None:
    """R-a1: traces, diagnosis, repair, successful trajectory."""
    record = assemble(
        _termination(repair_delta={"kind": "repair", "text": "r"}, successful_trajectory=[{"kind": "success", "text": "s"}])
    )
    assert [item["id"] for item in items(record)] == ["plan-1", "code-1", "error-1", "diagnosis", "repair-1", "success-1"]


@pytest.mark.parametrize(("changes", "expected"), [({}, True), ({"outcome": None}, False), ({"traces": []}, False)])
def test_complete_needs_outcome_and_traces(changes: dict[str, Any], expected: bool) -> None:
    """R-a1: a record without traces or outcome does not reach the model."""
    assert complete(assemble(_termination(**changes))) is expected


def test_record_without_traces_has_no_diagnosis() -> None:
    """R-a1: nothing was observed, so nothing is diagnosed."""
    assert assemble(_termination(traces=[]))["diagnosis"] is None


def test_missing_diagnosis_is_built() -> None:
    """R-a1: symptom, class, site and cited items from the failing item; the cause stays unknown."""
    assert assemble(_termination())["diagnosis"] == {
        "id": "diagnosis",
        "component": 13,
        "kind": "diagnosis",
        "seq": 3,
        "text": "TypeError at cart.py:total: 'NoneType' object is not subscriptable; root cause unknown",
        "symptom": "'NoneType' object is not subscriptable",
        "error_class": "TypeError",
        "site": "cart.py:total",
        "root_cause": "unknown",
        "cited": ["error-1"],
    }


def test_built_diagnosis_takes_the_captured_error() -> None:
    """R-a1: what the capture says of the error counts before what the text says."""
    error = {"class": "PriceError", "message": "no price for 7", "site": "price.py:lookup"}
    found = diagnose(assemble(_termination()), error)  # type: ignore[arg-type]
    assert (found["error_class"], found["symptom"], found["site"]) == ("PriceError", "no price for 7", "price.py:lookup")


def test_failed_check_is_told_by_both_values() -> None:
    """R-a1: a check that raised nothing is a symptom of two values."""
    traces = [
        {"kind": "test_output", "text": "assert total([]) == 0 # output: 3", "expected": "0", "actual": "3", "passed": False}
    ]
    found = assemble(_termination(traces=traces))["diagnosis"]
    assert found is not None
    assert (found["error_class"], found["site"]) == ("check-failed", "total")
    assert found["symptom"] == "expected 0, got 3: assert total([]) == 0 # output: 3"


def test_given_diagnosis_is_kept() -> None:
    """R-a1: a component-13 diagnosis stands as captured; only what it lacks is filled in."""
    given = {"text": "cart reads a missing price", "root_cause": "prices are optional", "cited": ["error-1"]}
    found = assemble(_termination(diagnosis=given))["diagnosis"]
    assert found is not None
    assert {key: found[key] for key in given} == given  # type: ignore[literal-required]
    assert (found["component"], found["error_class"], found["seq"]) == (13, "", 3)


def test_another_wrong_value_is_the_same_failure() -> None:
    """R-b1: the signature of a failed check does not hold the value that came out."""

    def signed(output: str) -> str:
        check = {
            "kind": "test_output",
            "text": f"assert name(1) == 'ana' # output: {output}",
            "expected": "'ana'",
            "actual": output,
            "passed": False,
        }
        return record_signature(assemble(_termination(traces=[check])))["signature"]

    assert signed("bob") == signed("carol and ted")


def test_unobserved_failures_are_not_one() -> None:
    """R-b1: two terminations without traces share no signature."""
    first = record_signature(assemble(_termination(traces=[])))
    second = record_signature(assemble(_termination(traces=[], failure_id="checkout-82")))
    assert first["signature"] != second["signature"]
