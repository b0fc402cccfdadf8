"""Stage (d): the declared scope against the store (R-d1).

Lessons of a store view are not compared with the candidate yet: the stage then says so (`store.judged` is false) and the
admission rules leave the candidate undecided, rather than calling it independent unseen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..facts import Fact
from ..measure.scope import Scope
from ._case import Case, Judgement, Stage

__all__ = ["STAGE", "conclude", "measure"]


def measure(case: Case) -> list[Fact]:
    """Return the `scope` and `store` facts."""
    scope = Scope.parse(case.reflection["scope"])
    lessons = len(case.store_lessons)
    return [("scope", scope.breadth, len(scope.terms)), ("store", lessons, lessons == 0)]


def conclude(case: Case, judgement: Judgement) -> Mapping[str, Any]:
    """Return `generalized, adjusted_scope, contradicts_lesson_id, counterexample_ids`, S2 §3.4."""
    return {
        "generalized": judgement.verdict != "contradict",
        "adjusted_scope": str(Scope.parse(case.reflection["scope"])),
        "contradicts_lesson_id": None,
        "counterexample_ids": [],
    }


STAGE = Stage("generalize", measure, conclude)
