"""Why a rule did not fire: the deepest partial match of its patterns, and the first condition that failed there.

The search is bounded: it looks at `BUDGET` candidates at most and then says the best that it has seen.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ..policy.model import EncodedFact, Head, Join, Pattern, Rule, Test

__all__ = ["BUDGET", "NearMiss", "fixed_fields", "holds", "nearest_miss", "needed_of"]

BUDGET: Final = 20_000

_COMPARE: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
}


class NearMiss(NamedTuple):
    """How far a rule came.

    Attributes:
        rule: the rule.
        bound: the facts bound to its positive patterns before the one that failed.
        pattern: the pattern that failed, counted over the positive and then the negative ones.
        test: its condition that failed; -1 where there was no fact to look at, or where a negated pattern found one.
        fact: the fact that failed or was found; `None` where there was none.
    """

    rule: Rule
    bound: tuple[EncodedFact, ...]
    pattern: int
    test: int
    fact: EncodedFact | None


def needed_of(test: Test, bound: Sequence[EncodedFact]) -> int | tuple[int, ...]:
    """Return what `test` compares with, given the facts bound before."""
    value = test.value
    return bound[value.pattern][value.position + 1] if isinstance(value, Join) else value


def holds(test: Test, fact: EncodedFact, bound: Sequence[EncodedFact]) -> bool:
    """Return whether `fact` passes `test`, given the facts bound before."""
    needed = needed_of(test, bound)
    value = fact[test.position + 1]
    return value in needed if isinstance(needed, tuple) else _COMPARE[test.op](value, needed)


_Rank = tuple[int, int, int, float]
"""Patterns matched, identities kept, conditions passed, and how near the failed number came; the greatest is the nearest."""


def _closeness(test: Test, fact: EncodedFact, bound: Sequence[EncodedFact]) -> float:
    needed = needed_of(test, bound)
    if isinstance(needed, tuple) or test.op in {"eq", "ne"}:
        return 0.0
    return -abs(fact[test.position + 1] - needed) / (abs(needed) + 1)


class _Search:
    def __init__(self, rule: Rule, facts: Mapping[int, Sequence[EncodedFact]], fixed: Mapping[tuple[int, int], int]) -> None:
        self._rule = rule
        self._facts = facts
        self._fixed = fixed
        self._left = BUDGET
        self._rank: _Rank | None = None
        self.best: NearMiss | None = None

    def _note(self, rank: _Rank, bound: Sequence[EncodedFact], pattern: int, test: int, fact: EncodedFact | None) -> None:
        if self._rank is None or rank > self._rank:
            self._rank = rank
            self.best = NearMiss(self._rule, tuple(bound), pattern, test, fact)

    def _candidates(self, place: int, pattern: Pattern) -> list[EncodedFact]:
        fixed = [(position + 1, value) for (of, position), value in self._fixed.items() if of == place]
        found = [f for f in self._facts.get(pattern.type, ()) if all(f[position] == value for position, value in fixed)]
        taken = found[: self._left]
        self._left -= len(taken)
        return taken

    def look(self, bound: list[EncodedFact]) -> None:
        place = len(bound)
        if place == len(self._rule.positive):
            self._refuted(bound)
            return
        pattern = self._rule.positive[place]
        candidates = self._candidates(place, pattern)
        if not candidates:
            self._note((place, 0, 0, 0.0), bound, place, -1, None)
        for fact in candidates:
            failed = [number for number, test in enumerate(pattern.tests) if not holds(test, fact, bound)]
            if not failed:
                self.look([*bound, fact])
                continue
            identities = [n for n in failed if pattern.tests[n].op == "eq" and isinstance(pattern.tests[n].value, Join)]
            first = next((number for number in failed if number not in identities), failed[0])
            rank = (place, -len(identities), -len(failed), _closeness(pattern.tests[first], fact, bound))
            self._note(rank, bound, place, first, fact)

    def _refuted(self, bound: list[EncodedFact]) -> None:
        place = len(bound)
        for number, pattern in enumerate(self._rule.negative, place):
            for fact in self._candidates(number, pattern):
                if all(holds(test, fact, bound) for test in pattern.tests):
                    self._note((number, 0, 0, 0.0), bound, number, -1, fact)
                    return


def nearest_miss(
    rule: Rule, facts: Mapping[int, Sequence[EncodedFact]], fixed: Mapping[tuple[int, int], int] | None = None
) -> NearMiss | None:
    """Return how near `rule` came to firing, `None` where it fired in every way that was looked at.

    Args:
        rule: the rule.
        facts: the facts by type.
        fixed: values that fields must have, by positive pattern and position; facts with other values are not looked at.
    """
    search = _Search(rule, facts, fixed or {})
    search.look([])
    return search.best


def fixed_fields(head: Head, wants: Iterable[tuple[Test, int | tuple[int, ...]]]) -> dict[tuple[int, int], int] | None:
    """Return what the fields of a rule's facts must be for its head to pass equalities; `None` where it never can.

    `wants` are conditions on the derived fact, each with the value that it needs; returned are values by `(pattern, position)`.
    """
    fixed: dict[tuple[int, int], int] = {}
    for test, needed in wants:
        if test.op != "eq" or isinstance(needed, tuple):
            continue
        value = head.values[test.position]
        if isinstance(value, Join):
            if fixed.setdefault((value.pattern, value.position), needed) != needed:
                return None
        elif value != needed:
            return None
    return fixed
