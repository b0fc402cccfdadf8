"""What an evaluation shows of each condition: that it held, and that it alone kept a rule from firing.

A condition counts as seen false only where a fact passed every other condition of its pattern, with facts bound to the patterns
before it: what another condition hides anyway shows nothing of it. Looks at `BUDGET` facts a rule at most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from ..policy.model import EncodedFact, Rule
from ._near import holds, needed_of

__all__ = ["BUDGET", "PRESENCE", "Seen", "observe"]

BUDGET: Final = 20_000
PRESENCE: Final = -1
"""The number of the condition that there is a fact (of a pattern without tests), or that there is none (of a negated one)."""


class Seen(NamedTuple):
    """One sight of a condition.

    Attributes:
        pattern: the pattern, counted over the positive and then the negated ones.
        test: its condition, or `PRESENCE`.
        true: whether it held.
        distance: the value less what it is compared with, `None` where that is no single number.
    """

    pattern: int
    test: int
    true: bool
    distance: int | None


def observe(rule: Rule, facts: Mapping[int, Sequence[EncodedFact]], note: Callable[[Seen], None]) -> None:
    """Call `note` for each sight of each condition of `rule` over `facts` (by type), which hold the whole fixpoint."""
    _Observer(rule, facts, note).look([])


class _Observer:
    def __init__(self, rule: Rule, facts: Mapping[int, Sequence[EncodedFact]], note: Callable[[Seen], None]) -> None:
        self._rule = rule
        self._facts = facts
        self._note = note
        self._left = BUDGET

    def look(self, bound: list[EncodedFact]) -> None:
        place = len(bound)
        if place == len(self._rule.positive):
            self._absences(bound)
            return
        pattern = self._rule.positive[place]
        found = self._facts.get(pattern.type, ())
        if not pattern.tests:
            self._note(Seen(place, PRESENCE, bool(found), None))
        for fact in found:
            if self._left <= 0:
                return
            self._left -= 1
            if self._tests(place, fact, bound):
                self.look([*bound, fact])

    def _tests(self, place: int, fact: EncodedFact, bound: Sequence[EncodedFact]) -> bool:
        """Note what `fact` shows of the tests of a pattern, and return whether it passes them all."""
        patterns = (*self._rule.positive, *self._rule.negative)
        tests = patterns[place].tests
        failed = [number for number, test in enumerate(tests) if not holds(test, fact, bound)]
        if len(failed) > 1:
            return False
        for number in failed or range(len(tests)):
            needed = needed_of(tests[number], bound)
            distance = None if isinstance(needed, tuple) else fact[tests[number].position + 1] - needed
            self._note(Seen(place, number, not failed, distance))
        return not failed

    def _absences(self, bound: Sequence[EncodedFact]) -> None:
        first = len(self._rule.positive)
        places = range(first, first + len(self._rule.negative))
        found = {place for place in places if self._found(place, bound)}
        for place in places:
            if not found - {place}:
                self._note(Seen(place, PRESENCE, place not in found, None))

    def _found(self, place: int, bound: Sequence[EncodedFact]) -> bool:
        """Note what the facts show of a negated pattern's tests, and return whether one passes them all."""
        pattern = self._rule.negative[place - len(self._rule.positive)]
        passed = [self._tests(place, fact, bound) for fact in self._facts.get(pattern.type, ())]
        return any(passed)
