"""Backing: how many cited items stand behind a candidate, by trust and by what their check showed (R-f1)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.measure import MEASURES
from reflect_gate.measure.backing import backing_facts
from reflect_gate.measure.index import RecordIndex

ORACLES = ("none", "self_written", "repeats_example", "authoritative")


def record(oracles: list[str], successes: int = 0) -> dict[str, Any]:
    """Return a record with a failed check of each given trust, `i0` and so on, and successes `s0` and so on."""
    shape = {"component": 12, "kind": "test_output", "seq": 1, "text": "", "expected": "1", "actual": "2"}
    return {
        "failure_id": "f",
        "outcome": "resolved",
        "traces": [{**shape, "id": f"i{number}", "oracle": oracle} for number, oracle in enumerate(oracles)],
        "diagnosis": None,
        "repair_delta": None,
        "successful_trajectory": [{**shape, "id": f"s{number}"} for number in range(successes)],
    }


def test_cited_items_are_counted_by_trust_and_defect() -> None:
    """Each distinct id once; ids outside the record not at all."""
    index = RecordIndex(record(["self_written", "self_written", "authoritative"]))
    assert backing_facts(["i0", "i1", "i1", "i2", "ghost"], index) == [
        ("backing", "authoritative", "wrong_value", True, 1),
        ("backing", "self_written", "wrong_value", True, 2),
    ]


def test_successes_back_nothing() -> None:
    """They are not usable for a cause (R-a1)."""
    assert backing_facts(["s0"], RecordIndex(record([], successes=1))) == []


@given(st.lists(st.sampled_from(ORACLES), max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_citations_changes_nothing(oracles: list[str], random: Any) -> None:
    """And the counts add up to the items."""
    index = RecordIndex(record(oracles))
    cited = list(index.items)
    facts = backing_facts(cited, index)
    assert facts == backing_facts(random.sample(cited, len(cited)), index)
    assert sum(int(fact[4]) for fact in facts) == len(oracles)


def test_every_measure_has_a_version() -> None:
    """A decision names them all."""
    assert all(version.count(".") == 2 and version.replace(".", "").isdigit() for version in MEASURES.values())
