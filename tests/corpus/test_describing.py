"""What is counted of a corpus, and what it says that it cannot prove."""

from __future__ import annotations

import tracemalloc
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_gate.corpus.importing.describing import Description
from reflect_gate.corpus.importing.lessons import lesson_row
from reflect_gate.corpus.importing.rows import alfworld, exams, programming

from . import forms

Record = dict[str, Any]


def described(*records: Record) -> dict[str, Any]:
    """Return the description of records."""
    description = Description()
    for record in records:
        description.add(record)
    return description.to_json()


def row(number: int, **changed: Any) -> Record:
    """Return the record of a programming row."""
    return programming(forms.programming(number, **changed))


def caveat(document: dict[str, Any], *words: str) -> bool:
    """Return whether one caveat holds all these words."""
    return any(all(word in said for word in words) for said in document["caveats"])


def test_records_groups_and_outcomes_are_counted() -> None:
    """Two records of one task and one of another."""
    document = described(row(1), row(2, task_id="mbpp_1_other", next_outcome=False), row(3, next_outcome=None))
    assert document["groups"] == {"count": 2, "largest": 2, "tasks": 3}
    assert document["transitions"] == {"fail->fail": 1, "fail->pass": 1}
    assert document["outcomes"] == {"executed": 2, "none": 1}
    assert document["missing"] == {"evidence": 0, "candidate": 0, "known_cause": 3, "should_admit": 3, "outcome": 1}
    assert document["evidence"] == {"code": 3, "spec": 3, "test_output": 3}


def test_copies_are_counted_and_those_in_several_groups_once_a_text() -> None:
    """Letter case and white space make no other text."""
    said = "The code does not handle an empty list."
    document = described(
        *(
            row(number, reflection_text=text)
            for number, text in enumerate((said, said, said.replace("code ", "CODE  "), "The code is wrong."))
        )
    )
    assert (document["candidates"]["copies"], document["candidates"]["across_groups"]) == (2, 1)
    assert caveat(document, "1 lessons stand word for word")


def test_a_retry_is_no_transfer() -> None:
    """R-m8: said of every corpus whose outcomes are of retries."""
    assert caveat(described(row(1)), "1 later trials are retries of the same task", "another task is not measured")


def test_without_a_control_a_second_try_is_in_every_outcome() -> None:
    """R-m8: and with one, these alone are comparable."""
    assert caveat(described(row(1)), "No retry without a reflection")
    assert caveat(described(row(1), exams(forms.FORM_ROWS["renze"])), "Of 1 retries", "comparable")


def test_what_nobody_checked_is_told_apart() -> None:
    """R-m8: the word of the agent is no executed check."""
    document = described(row(1, next_outcome_basis="internal_tests_inferred"), row(2))
    assert caveat(document, "1 have a later outcome that an executed check decided", "1 one that the agent")


def test_without_outcomes_nothing_is_said_of_help() -> None:
    """R-m8: lessons files say nothing of what came later."""
    assert caveat(described(lesson_row(forms.FORM_ROWS["lessons-log"])), "not whether that helped")


def test_records_without_evidence_are_named() -> None:
    """Refusing them shows nothing else."""
    assert caveat(described(alfworld(forms.FORM_ROWS["alfworld"])), "1 records hold no evidence")


def test_an_empty_corpus_says_nothing() -> None:
    """There is nothing to be careful about."""
    assert described()["caveats"] == []


@settings(max_examples=30)
@given(order=st.permutations(range(6)))
def test_the_order_of_records_does_not_matter(order: list[int]) -> None:
    """Counts are sums."""
    records = [row(number % 4, id=f"run-{number}", next_outcome=bool(number % 2)) for number in range(6)]
    assert described(*(records[place] for place in order)) == described(*records)


def test_no_text_is_held() -> None:
    """Of a record a few digests are kept, so that a corpus of any size can be described."""
    base = row(1)
    description = Description()
    tracemalloc.start()
    try:
        for number in range(400):
            said = f"The code does not handle the list {number}. " * 200
            description.add({**base, "group": f"group-{number}", "candidate": {**base["candidate"], "candidate_lesson": said}})
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 400 * 1_000
