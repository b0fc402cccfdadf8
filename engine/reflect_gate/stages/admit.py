"""Stage (f): the single point where a candidate becomes, or fails to become, a belief (R-f1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._hashing import sha256
from ..facts import Fact
from ..measure.backing import backing_facts
from ._case import Case, Judgement, Stage

__all__ = ["REJECTED_REASONS", "STAGE", "conclude", "measure"]

REJECTED_REASONS = ("speculative", "contradicts_store", "shallow", "too_vague", "thin_evidence")
"""S2's reasons; where several hold, the first of this order is the one reported."""


def measure(case: Case) -> list[Fact]:
    """Return `backing` facts: the cited items by the trust in their check and what it showed."""
    return backing_facts(case.reflection["evidence_ids"], case.index)


def _lesson_id(case: Case) -> str:
    """Return the id of the lesson that the candidate is merged into, else one that follows from signature and statement."""
    merged = case.outputs.get("dedupe", {}).get("merge_into")
    if merged:
        return str(merged)
    text = "\0".join((case.outputs["ledger"]["signature"], case.reflection["candidate_lesson"].strip()))
    return "lesson-" + sha256(text.encode()).hex()[:24]


def conclude(case: Case, judgement: Judgement) -> Mapping[str, Any]:
    """Return `admitted, lesson_id, rejected_reason, unattached_candidate`, S2 §3.6.

    What is undecided, or refused for thin evidence alone, is held unattached: later evidence may earn it a place.
    """
    admitted = judgement.verdict == "admit"
    said = {finding.reason for finding in judgement.findings if finding.verdict == judgement.verdict}
    reason = None if admitted else next((known for known in REJECTED_REASONS if known in said), None)
    return {
        "admitted": admitted,
        "lesson_id": _lesson_id(case) if admitted else None,
        "rejected_reason": reason,
        "unattached_candidate": judgement.verdict == "undecided" or reason == "thin_evidence",
    }


STAGE = Stage("admit", measure, conclude)
