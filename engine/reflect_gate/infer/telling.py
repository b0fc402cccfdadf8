"""Which measured facts the rules of a stage can say anything of: what need not be asked of an engine at all.

A finding of a rule needs a fact for each of its positive patterns. So where every rule of a stage that finds has a pattern of one
measured type, and no fact passes the constant tests of any of these patterns, the stage finds nothing, whatever its other rules
derive.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from ..policy.model import Join, Pattern, Program, Rule
from ._emit import telling

__all__ = ["Telling"]


class Telling:
    """What the rules of one stage hear of the facts of one measured type; tests of the fields `unknown` count as passed.

    `silent` says that some rule finds something without such a fact, so that nothing follows from there being none that tells.
    `alone` says that every rule hears of one such fact alone, so that what is found of one does not depend on any other: each
    rule has one pattern of the type, and whatever else it asks for (but for tables) is joined to the fact's first field.
    """

    def __init__(self, program: Program, stage: str, kind: int, unknown: Collection[str] = ()) -> None:
        finding = program.type_index("finding")
        # Rules that a disabled rule set has left out are in no stratum.
        rules = [program.rules[number] for stratum in program.strata if stratum.stage == stage for number in stratum.rules]
        finders = [rule for rule in rules if any(head.type == finding for head in rule.heads)]
        self.silent = not all(any(pattern.type == kind for pattern in rule.positive) for rule in finders)
        self.alone = not self.silent and _alone(rules, kind, {fact[0] for fact in program.tables})
        heard = [pattern for rule in finders for pattern in rule.positive if pattern.type == kind]
        heard = [_without(pattern, unknown) for pattern in heard]
        self.tested = sorted({test.position + 1 for pattern in heard for test in pattern.tests})
        """The places of a fact that `of` reads."""
        tells = telling(heard)
        self.of: Callable[[Sequence[int]], bool] = (lambda _: tells) if isinstance(tells, bool) else tells
        """Whether a fact passes the constant tests of any pattern of a rule that finds."""


def _without(pattern: Pattern, unknown: Collection[str]) -> Pattern:
    return pattern._replace(tests=tuple(test for test in pattern.tests if test.field not in unknown))


def _alone(rules: Sequence[Rule], kind: int, tables: set[int]) -> bool:
    own = [[place for place, pattern in enumerate(rule.positive) if pattern.type == kind] for rule in rules]
    if any(len(places) != 1 for places in own):
        return False
    named = _named(rules, [place for (place,) in own])
    return all(
        pattern.type in tables or _joined(pattern, place, named)
        for rule, (place,) in zip(rules, own, strict=True)
        for pattern in (*rule.positive[:place], *rule.positive[place + 1 :], *rule.negative)
    )


def _named(rules: Sequence[Rule], places: Sequence[int]) -> set[tuple[int, int]]:
    """Return the fields of derived types that always hold the first field of the one fact that they are derived from."""
    named: set[tuple[int, int]] = set()
    other: set[tuple[int, int]] = set()
    for rule, place in zip(rules, places, strict=True):
        for head in rule.heads:
            for position, value in enumerate(head.values):
                (named if value == Join(place, 0) else other).add((head.type, position))
    return named - other


def _joined(pattern: Pattern, place: int, named: set[tuple[int, int]]) -> bool:
    joins: list[Any] = [test for test in pattern.tests if test.op == "eq" and test.value == Join(place, 0)]
    return any((pattern.type, test.position) in named for test in joins)
