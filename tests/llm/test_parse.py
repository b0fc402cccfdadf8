"""Reading a response: exact, once, and never with an exception."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_gate import schemas
from reflect_gate.llm.call import Received
from reflect_gate.llm.parse import CAUSAL, VIOLATIONS, Violation, parse_response

from .server import GOOD, completion

KNOWN = frozenset({"plan-1", "test-1", "diagnosis"})
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=10,
)


def read(body: bytes, *, cut: bool = False) -> Any:
    """Return what a response with that body says."""
    return parse_response(Received(body, 200, "", cut, 1, "m", "http://h/v1", "0" * 64, (), None), KNOWN)


def code(document: object) -> str:
    """Return the code of the violation that an answer is; empty where it is none."""
    found = read(completion(json.dumps(document)))
    return found.code if isinstance(found, Violation) else ""


def reflection(**change: Any) -> dict[str, Any]:
    """Return an answer with some fields of its reflection changed."""
    return {**GOOD, "reflection": {**GOOD["reflection"], **change}}


def test_a_candidate_is_taken_as_it_is() -> None:
    """R-L1: the model proposes; nothing of the proposal is changed."""
    assert read(completion(json.dumps(GOOD))) == GOOD


@pytest.mark.parametrize("field", CAUSAL)
def test_any_one_cause_is_enough(field: str) -> None:
    """R-c1: each of the four causal fields alone."""
    blank = dict.fromkeys(CAUSAL, "")
    assert code(reflection(**{**blank, field: "It never ran."})) == ""
    assert code(reflection(**blank)) == "no-cause"


@pytest.mark.parametrize("count", range(8))
def test_two_to_five_tags(count: int) -> None:
    """R-t3: two to five, different from each other."""
    assert code({**GOOD, "tags": [f"tag-{number}" for number in range(count)]}) == ("" if 2 <= count <= 5 else "tags")
    assert code({**GOOD, "tags": ["same", "same"]}) == "tags"


def test_a_citation_from_elsewhere() -> None:
    """R-L2: an id outside the record, however near; none at all is for the gate to judge."""
    assert code(reflection(evidence_ids=["plan-1 "])) == "unknown-evidence"
    assert code(reflection(evidence_ids=["PLAN-1"])) == "unknown-evidence"
    assert code(reflection(evidence_ids=[])) == ""


def test_a_skip_needs_no_tags() -> None:
    """R-t3: nothing actionable is a full answer."""
    assert code({"skip": True, "tags": [], "reflection": None}) == ""


def test_the_bound_of_the_length_wins_over_a_whole_answer() -> None:
    """R-L2: what was cut is not what was meant, even where it happens to parse."""
    body = completion(json.dumps(GOOD), choice={"finish_reason": "length"})
    assert read(body).code == "truncated"
    assert read(completion(json.dumps(GOOD)), cut=True).code == "response-too-large"


def test_a_message_is_one_short_line() -> None:
    """Violations are stored and printed; a hostile answer must not reach the terminal."""
    found = read(completion(None, message={"refusal": "no\n\x1b[2J" + "x" * 5_000}))
    assert (found.code, "\n" in found.message, "\x1b" in found.message) == ("refused", False, False)
    assert len(found.message) <= 401


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_a_violation(body: bytes) -> None:
    """R-L2: no byte string raises, and none is a candidate by accident."""
    found = read(body)
    assert isinstance(found, Violation)
    assert found.code in VIOLATIONS


@given(JSON)
@settings(max_examples=150, deadline=None)
def test_any_completion_is_read_without_an_exception(value: Any) -> None:
    """R-L2: whatever stands where the content, the message, the choice or the whole should be."""
    text = json.dumps(value)
    bodies = [
        text.encode(),
        json.dumps({"choices": value}).encode(),
        json.dumps({"choices": [value]}).encode(),
        json.dumps({"choices": [{"message": value}]}).encode(),
        completion(value),
        completion(text),
    ]
    for body in bodies:
        found = read(body)
        if isinstance(found, Violation):
            assert found.code in VIOLATIONS
            schemas.check("reflected", _reflected(found), "violation")
        else:
            schemas.check("response", found, "answer")


def _reflected(violation: Violation) -> dict[str, Any]:
    example = schemas.schema("reflected")["examples"][1]
    return {**example, "violation": violation._asdict()}


@given(st.sampled_from(sorted(GOOD["reflection"])), JSON)
@settings(max_examples=150, deadline=None)
def test_any_value_in_any_field(field: str, value: Any) -> None:
    """What passes holds to the schema and cites the record; everything else is one of the known violations."""
    found = read(completion(json.dumps(reflection(**{field: value}))))
    if not isinstance(found, Violation):
        schemas.check("response", found, "answer")
        assert set(found["reflection"]["evidence_ids"]) <= KNOWN


def test_deep_nesting_is_a_violation() -> None:
    """Neither the server's JSON nor the answer's can exhaust the stack."""
    assert read(b'{"choices":' * 50_000).code == "response-not-json"
    assert read(completion("[" * 50_000)).code == "not-json"
