"""Stage (c): whether every causal claim is supported by the evidence that it cites (R-c2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..facts import Fact
from ..measure.hazards import hazard_facts
from ..measure.support import cite_facts, claim_facts, support_facts
from ._case import TEXT_FIELDS, Case, Judgement, Stage

__all__ = ["STAGE", "conclude", "measure"]


def measure(case: Case) -> list[Fact]:
    """Return `hits` of every lexicon, hazards of every text, and what the causal fields claim, cite and are supported by."""
    cited = case.reflection["evidence_ids"]
    facts: list[Fact] = [("hits", hit.lexicon, hit.target, hit.count, hit.coverage) for hit in case.hits]
    texts = {name: case.reflection[name] for name in TEXT_FIELDS}
    facts += hazard_facts(texts, case.hits, case.lexicons, (item.terms for item in case.index.items.values()))
    facts += claim_facts(case.claims, case.index)
    facts += cite_facts(cited, case.index)
    facts += support_facts(case.claims, cited, case.index)
    return facts


def conclude(case: Case, judgement: Judgement) -> Mapping[str, Any]:
    """Return `grounded, verdict, unresolved_claims`, S2 §3.3.

    A refusal that names no claim (nothing cited, no failure observed) leaves every populated claim unresolved.
    """
    grounded = judgement.verdict == "grounded"
    populated = [name for name, text in case.claims.items() if text]
    named = {finding.about for finding in judgement.findings if finding.verdict != "grounded"}
    unresolved = [] if grounded else [name for name in populated if name in named] or populated
    return {"grounded": grounded, "verdict": judgement.verdict, "unresolved_claims": unresolved}


STAGE = Stage("ground", measure, conclude)
