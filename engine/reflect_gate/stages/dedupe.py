"""Stage (e), first half: whether a lesson says already what the candidate says (R-e1, R-P6).

It is judged after calibration, so that only the lesson as it would stand is compared. Its verdict is part of the output of
`calibrate`, where S2 §3.5 has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..facts import Fact
from ._case import Case, Judgement, Stage

__all__ = ["STAGE", "conclude", "measure"]


def measure(case: Case) -> list[Fact]:
    """Return no facts: the lessons beside the candidate were measured by `generalize`."""
    del case
    return []


def conclude(case: Case, judgement: Judgement) -> Mapping[str, Any]:
    """Return `deduped` and `merge_into`: the likest of the lessons that the candidate is a copy of, then the first by id."""
    copies = {finding.about for finding in judgement.findings if finding.verdict == "merge"}
    likest = min(((-peer.similarity, peer.lesson) for peer in case.precedents.peers if peer.lesson in copies), default=None)
    merged = judgement.verdict == "merge" and likest is not None
    return {"deduped": judgement.verdict, "merge_into": likest[-1] if merged and likest else None}


STAGE = Stage("dedupe", measure, conclude)
