"""Exam questions and attributed failures become requests that the gate can judge; a row that lacks a text is named."""

from __future__ import annotations

from typing import Any

import pytest

from reflect_gate import Bundle, ReflectGateError, evaluate, schemas
from reflect_gate.corpus import attribution, exam

QUESTION = {
    "id": "q-1",
    "task_id": "arithmetic 12",
    "task_prompt": "What is 7 times 8?\nA: 54\nB: 56",
    "failed_attempt": "Seven eights are forty-two plus twelve, which is 54.",
    "feedback": "answered A; correct answer B (shown to the reflecting model)",
    "reflection_text": "I assumed that seven eights are forty-two plus twelve. Multiply by doubling 28 instead.",
}
FAILURE = {
    "id": "w-1",
    "task_id": "abc",
    "task_prompt": "When does the bakery close?",
    "failed_attempt": "I read the hours of the branch in the next town.",
    "trace_tail": "[4] shell: exit code 1",
    "feedback": "final answer wrong; reference: 18:00",
    "reflection_text": "The agent read the hours of another branch.",
}


def test_exam_question() -> None:
    """The marking is an authoritative failed check with both letters, and every reflection answers to it."""
    request = exam.convert(QUESTION)
    schemas.check("request", request, "request")
    answer = next(item for item in request["record"]["traces"] if item["id"] == "answer")
    assert (answer["expected"], answer["actual"], answer["oracle"], answer["passed"]) == ("B", "A", "authoritative", False)
    assert "answer" in request["reflection"]["evidence_ids"]
    assert request["reflection"]["failed_assumption"].startswith("I assumed")
    assert request["project"] == {"task": "arithmetic-12"}


def test_text_without_a_claim_stands_as_the_claim() -> None:
    """Keywords alone are no sentence that claims something; the gate still gets what was said."""
    request = exam.convert({**QUESTION, "reflection_text": "multiplication, tables"})
    assert any(request["reflection"][field] for field in ("failed_assumption", "strategy_error", "violated_invariant"))


@pytest.mark.parametrize("convert", [exam.convert, attribution.convert])
def test_later_outcomes_are_never_read(convert: Any) -> None:
    """What came later may stand in the row and changes nothing."""
    row = QUESTION if convert is exam.convert else FAILURE
    assert convert({**row, "next_outcome": True, "final_solved": True, "next_attempt": "x"}) == convert(row)


def test_attributed_failure(structured: Bundle) -> None:
    """The reason is the claim and the lesson; it cites the step, what followed and the outcome."""
    request = attribution.convert(FAILURE)
    schemas.check("request", request, "request")
    assert request["reflection"]["strategy_error"] == request["reflection"]["candidate_lesson"] == FAILURE["reflection_text"]
    assert request["reflection"]["evidence_ids"] == ["attempt", "tail", "answer"]
    assert evaluate(request, structured).status == "refused"


@pytest.mark.parametrize("convert", [exam.convert, attribution.convert])
@pytest.mark.parametrize("lacking", [{"id": None}, {"reflection_text": "  "}, {"task_prompt": 3}])
def test_bad_rows_are_named(convert: Any, lacking: dict[str, Any]) -> None:
    """A field that is missing, blank or no text is named by its pointer."""
    with pytest.raises(ReflectGateError) as caught:
        convert({**QUESTION, **lacking})
    assert caught.value.source is not None
    assert caught.value.source.pointer == f"/{next(iter(lacking))}"
