"""Stage (h): the bounded, ranked subset of lessons for a task (R-h1, R-P4).

The index proposes, this stage measures each proposal against the task, and the rules say which may be shown. What is shown is
ranked by how well scope and words match, ties by id, and is never more than `CAP`. No model is asked, and none needs to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from .._reading import loads
from ..measure.likeness import Asked, Likeness, said
from ..measure.scope import Fit, Scope, fits
from ..measure.similarity import act_terms
from ..measure.text import terms_once

if TYPE_CHECKING:
    from ..facts import Fact

__all__ = [
    "CAP",
    "COMPARED",
    "NAME",
    "Match",
    "Proposal",
    "Said",
    "Task",
    "Worth",
    "conclude",
    "facts",
    "measure",
    "read",
    "tag_of",
]

NAME = "retrieve"

CAP = 5
"""Lessons at most, whatever is asked for (S2 3.8)."""


COMPARED = ("words", "tags", "hinted", "score")
"""The fields of a `match` fact that comparing two texts tells; everything else is known without."""

Tag: TypeAlias = frozenset[str]
"""A tag or a hint as it is compared: its content terms."""

MOST_TAGS = 2
"""Tags of a lesson that add to its score: one that has every word for a tag must not outdo the others by them."""

Worth: TypeAlias = "Callable[[Sequence[Fact]], Iterable[bool]]"


class Task(NamedTuple):
    """What is known of a task: its place, what it says, and what each key of the place weighs in hundredths.

    `hints` are the tags that it is asked for by, and `tag` is what a tag that it names weighs.
    """

    place: Scope
    asked: Asked
    weights: Mapping[str, int]
    hints: frozenset[Tag] = frozenset()
    tag: int = 0


class Said(NamedTuple):
    """What is measured of a lesson as a store keeps it."""

    scope: Scope
    text: str
    type: str
    red_flag: bool
    in_use: bool
    tags: tuple[Tag, ...] = ()


class Proposal(NamedTuple):
    """A lesson that the index found: `bm25` is its score there (higher is better), `exact` that it explains the signature.

    `held` is its row as the store keeps it, `said` what is measured of that.
    """

    lesson_id: str
    held: bytes
    bm25: float
    exact: bool
    said: Said

    @property
    def lesson(self) -> Mapping[str, Any]:
        """The lesson itself."""
        found: Mapping[str, Any] = loads(self.held)["lesson"]
        return found


class Match(NamedTuple):
    """A proposal measured against the task; `place` and `score` in hundredths, `share` of the best index score in thousandths.

    `tags` are those of the lesson that the task names, `tagged` is what they weigh together, and `hinted` says that every hint is
    one of them.
    """

    proposal: Proposal
    fit: Fit
    place: int
    likeness: Likeness
    share: int
    tags: int = 0
    tagged: int = 0
    hinted: bool = False

    @property
    def lesson_id(self) -> str:
        """The lesson's id."""
        return self.proposal.lesson_id

    @property
    def score(self) -> int:
        """How well the lesson matches: its likeness, and the weight of what holds of its scope and of its tags on top."""
        return min(100, self.likeness.share + self.place + self.tagged)

    @property
    def order(self) -> tuple[bool, int, str]:
        """Sorts the best first: the known failure, then score times index score, then the id."""
        return (not self.proposal.exact, -self.score * self.share, self.proposal.lesson_id)


# The scopes of a store's lessons are fewer than the lessons.
_scope = lru_cache(maxsize=4_096)(Scope.parse)


# A store is asked again and again for much the same lessons; one that was written meanwhile is another row.
@lru_cache(maxsize=4_096)
def read(held: bytes) -> Said:
    """Return what is measured of a lesson, from its row."""
    row = loads(held)
    lesson = row["lesson"]
    scope = _scope(lesson["scope"])
    free = " ".join([term.value for term in scope.terms if not term.key])
    text = f"{lesson['statement']}\n{free}" if free else lesson["statement"]
    envelope = row["envelope"]
    tags = tuple(dict.fromkeys(map(tag_of, envelope.get("tags", ()))))
    return Said(scope, text, lesson["type"], bool(envelope["red_flag"]), row["standing"] == "active", tags)


_part = lru_cache(maxsize=4_096)(said)

_NOTHING = Likeness(0, 0)


def _placed(proposal: Proposal, task: Task, fit_of: Callable[[Scope], Fit], best: float) -> Match:
    fit = fit_of(proposal.said.scope)
    weight = sum([task.weights[key] for key in {term.key for term in fit.matched}]) if fit.matched else 0
    share = int(1_000 * proposal.bm25 / best) if best > 0 else 0
    return Match(proposal, fit, min(100, weight), _NOTHING, max(1, min(1_000, share)))


def tag_of(word: str) -> Tag:
    """Return a tag or a hint as it is compared: `large-files` is `large file`; one without a content term is itself."""
    return terms_once(word.replace("-", " ").replace("_", " ")) or frozenset((word.casefold(),))


def _named(tag: Tag, task: Task) -> bool:
    """Return whether a task names a tag: as a hint, or with all its words in one part, if they are not words of every trade."""
    return tag in task.hints or (not tag <= act_terms() and any(tag <= part.terms for part in task.asked.parts))


def _compared(match: Match, task: Task) -> Match:
    proposal, tags = match.proposal, match.proposal.said.tags
    likeness = task.asked.like(_part(proposal.said.text))
    if not tags:
        return Match(proposal, match.fit, match.place, likeness, match.share)
    named = sum(_named(tag, task) for tag in tags)
    hinted = bool(task.hints) and task.hints <= set(tags)
    return Match(proposal, match.fit, match.place, likeness, match.share, named, task.tag * min(named, MOST_TAGS), hinted)


def measure(proposals: Iterable[Proposal], task: Task, worth: Worth | None = None) -> list[Match]:
    """Return what the index proposed, measured against the task, the best first.

    `worth` says of each, by its `match` fact without `COMPARED`, whether it is to be compared with the task and returned.
    """
    found = list(proposals)
    best = max((proposal.bm25 for proposal in found), default=0.0)
    fit_of = fits(task.place)
    placed = [_placed(proposal, task, fit_of, best) for proposal in found]
    if worth is not None:
        placed = list(compress(placed, worth(facts(placed))))
    return sorted([_compared(match, task) for match in placed], key=lambda match: match.order)


def facts(matches: Iterable[Match]) -> list[Fact]:
    """Return the `match` facts."""
    return [
        (
            "match",
            proposal.lesson_id,
            proposal.exact,
            fit.fit,
            place,
            likeness.words,
            match.score,
            proposal.said.type,
            proposal.said.red_flag,
            proposal.said.in_use,
            tags,
            hinted,
        )
        for match in matches
        for proposal, fit, place, likeness, _, tags, _, hinted in (match,)
    ]


def conclude(matches: Sequence[Match]) -> dict[str, Any]:
    """Return `lessons, cap, retrieved_lesson_ids` of what is shown, S2 3.8."""
    shown = matches[:CAP]
    return {
        "lessons": [dict(match.proposal.lesson) for match in shown],
        "cap": CAP,
        "retrieved_lesson_ids": [match.proposal.lesson_id for match in shown],
    }
