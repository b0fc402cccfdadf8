"""Stage (i): the outcome statistics of a recalled lesson after its task ended (R-i1).

What a task's end says of a lesson is decided by the rule set `outcome`; counting is done by the store, task by task. No model is
asked, and no agent records its own outcome: only what was executed counts as helped or hurt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from ..facts import Fact
from ._judgement import Judgement

__all__ = ["NAME", "After", "Before", "Effect", "Trial", "conclude", "effect_of", "measure"]

NAME = "record"

Before: TypeAlias = Literal["failing", "passing", "unknown"]
After: TypeAlias = Literal["resolved", "unchanged", "worse"]
Effect: TypeAlias = Literal["applied", "helped", "hurt"]


class Trial(NamedTuple):
    """A task's end: how it stood before a lesson was recalled and after, whether that was executed, and if it was withheld."""

    before: Before
    after: After
    executed: bool
    withheld: bool = False


def measure(trial: Trial) -> list[Fact]:
    """Return the `trial` fact."""
    return [("trial", trial.before, trial.after, trial.executed, trial.withheld)]


def effect_of(judgement: Judgement) -> Effect:
    """Return what the rules said that the task's end says of the lesson: one of the three, never two."""
    return cast("Effect", judgement.verdict)


def conclude(lesson: Mapping[str, Any], judgement: Judgement) -> Mapping[str, int]:
    """Return `times_applied, times_helped, times_hurt` of `lesson` after one more task, S2 §3.9."""
    effect = effect_of(judgement)
    return {
        "times_applied": lesson["times_applied"] + 1,
        "times_helped": lesson["times_helped"] + (effect == "helped"),
        "times_hurt": lesson["times_hurt"] + (effect == "hurt"),
    }
