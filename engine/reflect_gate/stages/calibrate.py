"""Stage (e): whether the lesson is one level above the instance (R-e1, R-P3).

`deduped` is `new` here: the stage `dedupe` judges it next, and what it says stands in this output.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..facts import Fact
from ..measure.lesson import lesson_fact
from ._case import Case, Judgement, Stage

__all__ = ["STAGE", "conclude", "measure"]

EPISODIC = "episodic"
"""The verdict of a line-level lesson that the policy lets live for its own task only."""


def measure(case: Case) -> list[Fact]:
    """Return the `lesson` fact: the form of the candidate lesson and its link to the named causes."""
    hedges = sum(hit.count for hit in case.hits if hit.lexicon == "hedges" and hit.target == "candidate_lesson")
    found = [hit for hit in case.hits if hit.lexicon == "virtue-level" and hit.target == "candidate_lesson"]
    virtues = [(span.start, span.end) for hit in found for span in hit.spans]
    return [lesson_fact(case.reflection["candidate_lesson"], case.claims, case.index, hedges=hedges, virtues=virtues)]


def conclude(case: Case, judgement: Judgement) -> Mapping[str, Any]:
    """Return `deduped, calibration, calibrated_lesson, episodic_only`, S2 §3.5."""
    episodic = judgement.verdict == EPISODIC
    cleared = episodic or judgement.verdict == "calibrated"
    return {
        "deduped": "new",
        "calibration": "calibrated" if cleared else judgement.verdict,
        "calibrated_lesson": case.reflection["candidate_lesson"].strip() if cleared else None,
        "episodic_only": episodic,
    }


STAGE = Stage("calibrate", measure, conclude)
