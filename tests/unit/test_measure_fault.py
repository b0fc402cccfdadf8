"""Claims that find a fault, and claims that call right what failed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.facts import load_vocabulary
from reflect_gate.measure.fault import faultless
from reflect_gate.measure.index import RecordIndex
from reflect_gate.measure.support import claim_facts

FIELDS = load_vocabulary().domains["field"].symbols


@pytest.mark.parametrize(
    "claim",
    [
        "The parser is correct.",
        "The implementation is right because it rounds each share before adding them.",
        "The retry logic works as expected.",
        "The function correctly rounds the shares.",
        "The rounding does properly keep the cents.",
        "The loop drops the last guest, which leads to correct totals.",
        "The plan passes all tests.",
        "The script passed because of a KeyError.",
        "The problem is that the importer handles quoted commas.",
        "The bug is that the importer takes the time zone into account.",
        "The cause is that `merge_rows` is being called.",
        "The reason is that `merge_rows` is imported in the module, so the rows are lost.",
        "It skips the header, but handles quoted commas.",
        "The failure was not due to a KeyError in `merge_rows`.",
        "The timeout wasn't caused by the lock.",
    ],
)
def test_praise_and_mere_denial_find_no_fault(claim: str) -> None:
    """What failed is called right, or only told not to be the cause."""
    assert faultless("strategy_error", claim)


@pytest.mark.parametrize(
    "claim",
    [
        "",
        "The parser is not correct.",
        "The parser is incorrect.",
        "The importer does not handle quoted commas.",
        "The importer never correctly handles quoted commas.",
        "The parser is correct for short rows, but it drops the last field of long ones.",
        "While the header is parsed correctly, the body is not.",
        "It correctly reads the header. However, it skips the first row.",
        "The problem is that it only handles the first page.",
        "The problem is that it handles a missing page by returning 0.",
        "The problem is that `merge_rows` is called twice.",
        "The problem is that `merge_rows` is called with the header.",
        "It assumed that the parser is correct.",
        "The importer should handle quoted commas and return the correct rows.",
        "It stops when the parser is correct.",
        "It failed to check whether the total is right.",
        "The failure is not due to the lock but to the retry.",
        "The expected checksum in the test is wrong; the function correctly hashes the text.",
        "The function is correct and the error lies in the test expectation.",
        "It logs `is correct` and goes on.",
        "It divides the bill before the guests are counted.",
        "The helper merge_rows is called first, then the rows are sorted.",
    ],
)
def test_a_fault_or_a_doubt_is_no_praise(claim: str) -> None:
    """Denied, conceded, narrowed, supposed, prescribed or quoted praise, and praise beside a defect elsewhere."""
    assert not faultless("strategy_error", claim)


def test_beliefs_and_invariants_praise_by_nature() -> None:
    """Only what was done and what was overlooked must find a fault."""
    assert [field for field in FIELDS if faultless(field, "The parser is correct.")] == ["overlooked_evidence", "strategy_error"]


def test_the_claim_fact_tells_it() -> None:
    """The last field of `claim`, for each causal field of its own."""
    record: dict[str, Any] = {
        "failure_id": "f",
        "outcome": "resolved",
        "traces": [],
        "diagnosis": None,
        "repair_delta": None,
        "successful_trajectory": [],
    }
    texts = {**dict.fromkeys(FIELDS, ""), "strategy_error": "The parser is correct.", "overlooked_evidence": "It skips a row."}
    assert {fact[1] for fact in claim_facts(texts, RecordIndex(record)) if fact[6]} == {"strategy_error"}


@given(st.text(max_size=300))
def test_any_text_is_read(claim: str) -> None:
    """Any Unicode gives an answer, the same in capitals as NFKC folds them or with space around it."""
    assert faultless("strategy_error", claim) == faultless("strategy_error", f"  {claim}  ")


@given(st.sampled_from(["parser", "loop", "plan", "code"]), st.sampled_from(["is correct", "works fine", "passes all tests"]))
def test_a_contrast_takes_praise_back(subject: str, praise: str) -> None:
    """The same praise is an objection alone and a concession before a fault."""
    assert faultless("strategy_error", f"The {subject} {praise}.")
    assert not faultless("strategy_error", f"The {subject} {praise}, but it loses the last row.")


@given(st.integers(1, 400))
def test_repeated_praise_stays_bounded(times: int) -> None:
    """However often praise is repeated, it is read the same."""
    assert faultless("strategy_error", "The code is correct. " * times)
