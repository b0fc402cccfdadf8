"""Stage (d): the declared scope against what the store knows (R-d1).

The candidate is held against every lesson of the store view, and its scope against earlier failures of the same signature. Which
scope it would be narrowed or broadened to is a search; whether it is, a rule says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..facts import Fact
from ._case import Case, Judgement, Stage

__all__ = ["BORNE_OUT", "CONTRADICTED", "STAGE", "SUCCEEDED", "conclude", "measure"]

CONTRADICTED = frozenset(("contradiction", "contradiction_flagged"))
"""Reasons whose findings are about the lesson that the candidate contradicts."""

BORNE_OUT = "borne_out"
"""The reason of findings about a lesson that the run that went well in the end bears out."""

SUCCEEDED = "agreeing_successes"
"""The reason of a finding that earlier runs did what the candidate says."""

_FALSIFIED = frozenset(("narrowed", "counterexample", "counterexample_flagged"))


def measure(case: Case) -> list[Fact]:
    """Return the `scope`, `store` and `precedent` facts, a `peer` fact for each lesson of the view, and the `witness` facts."""
    scope, known = case.precedents.candidate.scope, case.precedents
    facts: list[Fact] = [
        ("scope", scope.breadth, len(scope.terms)),
        ("store", len(case.store_lessons)),
        (
            "precedent",
            known.independent,
            known.repositories,
            known.agreeing,
            len(known.counterexamples),
            known.uncovered,
            known.broader,
            known.successes,
        ),
    ]
    facts += [("peer", *peer) for peer in known.peers]
    facts += [("witness", *witness) for witness in known.witnesses]
    return facts


def conclude(case: Case, judgement: Judgement) -> Mapping[str, Any]:
    """Return `generalized, adjusted_scope, contradicts_lesson_id, counterexample_ids`, S2 §3.4.

    Of several contradicted lessons the one that explains this failure is named, then the likest, then the first by id.
    """
    known = case.precedents
    said = {finding.reason for finding in judgement.findings}
    scope = known.candidate.scope
    if _FALSIFIED & said:
        scope = known.narrowed
    elif "broadened" in said:
        scope = known.broadened
    named = {finding.about for finding in judgement.findings if finding.reason in CONTRADICTED}
    against = min(
        ((not peer.same_signature, -peer.similarity, peer.lesson) for peer in known.peers if peer.lesson in named), default=None
    )
    return {
        "generalized": judgement.verdict != "contradict",
        "adjusted_scope": str(scope),
        "contradicts_lesson_id": against[-1] if against else None,
        "counterexample_ids": list(known.counterexamples) if _FALSIFIED & said else [],
    }


STAGE = Stage("generalize", measure, conclude)
