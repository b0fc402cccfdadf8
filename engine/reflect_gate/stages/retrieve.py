"""Stage (h): the bounded, ranked subset of lessons for a task (R-h1, R-P4).

The index proposes, this stage measures each proposal against the task, and the rules say which may be shown. What is shown is
ranked by how well scope and words match, ties by id, and is never more than `CAP`. No model is asked, and none needs to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ..facts import Fact
from ..measure.likeness import Asked, Likeness
from ..measure.scope import Fit, Scope

__all__ = ["CAP", "NAME", "Match", "Proposal", "Task", "conclude", "facts", "measure"]

NAME = "retrieve"

CAP = 5
"""Lessons at most, whatever is asked for (S2 3.8)."""


class Task(NamedTuple):
    """What is known of a task: its place, what it says, and what each key of the place weighs in hundredths."""

    place: Scope
    asked: Asked
    weights: Mapping[str, int]


class Proposal(NamedTuple):
    """A lesson that the index found: `bm25` is its score there (higher is better), `exact` that it explains the signature."""

    lesson_id: str
    lesson: Mapping[str, Any]
    bm25: float
    exact: bool
    red_flag: bool
    in_use: bool


class Match(NamedTuple):
    """A proposal measured against the task; `place` and `score` in hundredths, `share` of the best index score in thousandths."""

    proposal: Proposal
    fit: Fit
    place: int
    likeness: Likeness
    share: int

    @property
    def lesson_id(self) -> str:
        """The lesson's id."""
        return self.proposal.lesson_id

    @property
    def score(self) -> int:
        """How well the lesson matches: its likeness, and the weight of what holds of its scope on top."""
        return min(100, self.likeness.share + self.place)

    @property
    def order(self) -> tuple[bool, int, str]:
        """Sorts the best first: the known failure, then score times index score, then the id."""
        return (not self.proposal.exact, -self.score * self.share, self.proposal.lesson_id)


@lru_cache(maxsize=16_384)
def _scope(text: str) -> tuple[Scope, str]:
    """Return a lesson's scope and its free words."""
    scope = Scope.parse(text)
    return scope, " ".join(term.value for term in scope.terms if not term.key)


def _match(proposal: Proposal, task: Task, best: float) -> Match:
    scope, free = _scope(proposal.lesson["scope"])
    fit = scope.fit(task.place)
    weight = sum(task.weights[key] for key in {term.key for term in fit.matched})
    said = proposal.lesson["statement"]
    likeness = task.asked.likeness(f"{said}\n{free}" if free else said)
    share = int(1_000 * proposal.bm25 / best) if best > 0 else 0
    return Match(proposal, fit, min(100, weight), likeness, max(1, min(1_000, share)))


def measure(proposals: Iterable[Proposal], task: Task) -> list[Match]:
    """Return what the index proposed, measured against the task, the best first."""
    found = list(proposals)
    best = max((proposal.bm25 for proposal in found), default=0.0)
    return sorted((_match(proposal, task, best) for proposal in found), key=lambda match: match.order)


def facts(matches: Iterable[Match]) -> list[Fact]:
    """Return the `match` facts."""
    return [
        (
            "match",
            match.proposal.lesson_id,
            match.proposal.exact,
            match.fit.fit,
            match.place,
            match.likeness.words,
            match.score,
            match.proposal.lesson["type"],
            match.proposal.red_flag,
            match.proposal.in_use,
        )
        for match in matches
    ]


def conclude(matches: Sequence[Match]) -> dict[str, Any]:
    """Return `lessons, cap, retrieved_lesson_ids` of what is shown, S2 3.8."""
    shown = matches[:CAP]
    return {
        "lessons": [dict(match.proposal.lesson) for match in shown],
        "cap": CAP,
        "retrieved_lesson_ids": [match.proposal.lesson_id for match in shown],
    }
