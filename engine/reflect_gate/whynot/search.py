"""The search for the smallest change that flips a decision: proposals from a planner, each judged again, the lightest first.

Nothing is reported that was not judged again and came to the goal; of what is reported no single part can be left out, which is
judged as well. The search gives up after a number of evaluations and says so.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, Protocol, Self, TypeVar

from ..errors import ReflectGateError

if TYPE_CHECKING:
    from ..pipeline import _Run

__all__ = ["EVALUATIONS", "Found", "Space", "search"]

EVALUATIONS: Final = 200
"""Evaluations that a search may use."""

_WANTED: Final = 3
_PROPOSALS: Final = 10
_BROAD: Final = 0.3
"""Share of the evaluations after which a search that found nothing small stops being broad and goes deep."""


class _Change(Protocol):
    @property
    def size(self) -> int: ...
    def parts(self) -> Sequence[Self]: ...


C = TypeVar("C", bound=_Change)


class Space(NamedTuple, Generic[C]):
    """Where to search.

    Attributes:
        nothing: the change that changes nothing.
        judge: judges with a change; raises where the evaluation cannot be finished.
        reached: whether an evaluation came to the goal.
        proposals: given an evaluation and the change that it was judged with, larger changes, the lightest first.
        verify: judges once more with everything that a real evaluation has; whether it came to the goal.
    """

    nothing: C
    judge: Callable[[C], _Run]
    reached: Callable[[_Run], bool]
    proposals: Callable[[_Run, C], Sequence[tuple[float, C]]]
    verify: Callable[[C], bool]


class Found(NamedTuple, Generic[C]):
    """What was found, the smallest first; `exhausted` where there was nothing left to try before the evaluations were used up."""

    flips: tuple[C, ...]
    evaluations: int
    limit: int
    exhausted: bool


def search(space: Space[C], limit: int = EVALUATIONS, wanted: int = _WANTED) -> Found[C]:
    """Return the smallest changes that come to the goal, at most `wanted`, within `limit` evaluations."""
    looker = _Looker(space, limit)
    flips = looker.look(wanted)
    ordered = sorted(flips, key=lambda change: (change.size, repr(change)))
    return Found(tuple(ordered), looker.used, limit, looker.exhausted)


class _Looker(Generic[C]):
    def __init__(self, space: Space[C], limit: int) -> None:
        self._space = space
        self._limit = limit
        self._known: dict[C, _Run | None] = {}
        self.used = 0
        self.exhausted = False

    def _judged(self, change: C) -> _Run | None:
        """Return the evaluation with a change, `None` where it cannot be finished or there is no evaluation left."""
        if change not in self._known:
            if self.used >= self._limit:
                return None
            self.used += 1
            try:
                self._known[change] = self._space.judge(change)
            except ReflectGateError:
                self._known[change] = None
        return self._known[change]

    def look(self, wanted: int) -> list[C]:
        """Return flips: the lightest proposals first; where those lead nowhere, the proposals that build on each other."""
        flips: list[C] = []
        count = itertools.count()
        queue: list[tuple[float, int, C]] = [(0.0, next(count), self._space.nothing)]
        seen = {self._space.nothing}
        while queue and len(flips) < wanted and self.used < (self._limit if flips else self._limit * _BROAD):
            _, _, change = heapq.heappop(queue)
            run = self._judged(change)
            if run is None or self._taken(run, change, flips):
                continue
            for weight, larger in self._space.proposals(run, change)[:_PROPOSALS]:
                if larger not in seen:
                    seen.add(larger)
                    heapq.heappush(queue, (weight, next(count), larger))
        self.exhausted = not queue
        if not flips and queue:
            self._dive(self._space.nothing, flips, {self._space.nothing})
        return flips

    def _taken(self, run: _Run, change: C, flips: list[C]) -> bool:
        """Return whether `change` comes to the goal; what is left of it is then among the flips, if it is confirmed."""
        if not self._space.reached(run):
            return False
        least = self._least(change)
        if least not in flips and least.size and self._space.verify(least):
            flips.append(least)
        return True

    def _dive(self, change: C, flips: list[C], seen: set[C]) -> None:
        run = self._judged(change)
        if run is None or self._taken(run, change, flips):
            return
        for _, larger in self._space.proposals(run, change)[:_PROPOSALS]:
            if larger not in seen and larger.size > change.size:
                seen.add(larger)
                self._dive(larger, flips, seen)
                if flips or self.used >= self._limit:
                    return

    def _least(self, change: C) -> C:
        """Return a change that comes to the goal and of which no part can be left out."""
        while True:
            for smaller in change.parts():
                run = self._judged(smaller)
                if run is not None and self._space.reached(run):
                    change = smaller
                    break
            else:
                return change
