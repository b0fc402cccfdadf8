"""What rules imply: the values that a field may have while a rule fires, and whether one rule fires whenever another does.

Everything here errs on one side: "cannot be" and "always" are said only of what is so for every set of facts and every value
that a setting may be given. A setting compares with itself alone, whatever number it holds now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from ...facts import Domain
from ..checked import Atom, CheckedHead, CheckedPattern, CheckedRule, CheckedTest
from ..model import Join, Operator

__all__ = ["Facts", "Values", "covers", "rows_of", "values_of"]

_Place: TypeAlias = tuple[int, int]
"""A positive pattern, and a position of its fact."""

_WEAKER: Final[Mapping[Operator, frozenset[Operator]]] = {
    "eq": frozenset({"eq", "gte", "lte"}),
    "gt": frozenset({"gt", "gte", "ne"}),
    "lt": frozenset({"lt", "lte", "ne"}),
}
"""What follows from a comparison with a value for the same comparison with the same value."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values that a field may have: `among` where that is known, else whole numbers within bounds, less `without`."""

    among: frozenset[Atom] | None = None
    low: int | None = None
    high: int | None = None
    without: frozenset[Atom] = frozenset()

    @property
    def none(self) -> bool:
        """Whether no value is left."""
        if self.among is not None:
            return not self.among
        if self.low is None or self.high is None:
            return False
        span = self.high - self.low + 1
        return span <= 0 or (span <= len(self.without) and all(value in self.without for value in range(self.low, self.high + 1)))

    def both(self, other: Values) -> Values:
        """Return the values that are in both."""
        low, high = _larger(self.low, other.low), _smaller(self.high, other.high)
        without = self.without | other.without
        if self.among is None and other.among is None:
            return Values(None, low, high, without)
        listed = [values for values in (self.among, other.among) if values is not None]
        among = frozenset.intersection(*listed)
        kept = frozenset(value for value in among if value not in without and _between(value, low, high))
        return Values(kept)

    def within(self, other: Values) -> bool:
        """Return whether every value of this is one of `other`."""
        if self.none:
            return True
        if self.among is not None:
            return all(other.holds(value) for value in self.among)
        if other.among is not None:
            return False
        fits_low = other.low is None or (self.low is not None and self.low >= other.low)
        fits_high = other.high is None or (self.high is not None and self.high <= other.high)
        return fits_low and fits_high and all(not self.holds(value) for value in other.without)

    def holds(self, value: Atom) -> bool:
        """Return whether `value` is one of them."""
        if self.among is not None:
            return value in self.among
        return value not in self.without and _between(value, self.low, self.high)


def _between(value: Atom, low: int | None, high: int | None) -> bool:
    return isinstance(value, str) or ((low is None or value >= low) and (high is None or value <= high))


def _larger(one: int | None, other: int | None) -> int | None:
    return max((bound for bound in (one, other) if bound is not None), default=None)


def _smaller(one: int | None, other: int | None) -> int | None:
    return min((bound for bound in (one, other) if bound is not None), default=None)


def whole(domain: Domain) -> Values:
    """Return every value of a domain."""
    if domain.kind == "symbol":
        return Values(frozenset(domain.symbols))
    if domain.kind == "flag":
        return Values(frozenset({0, 1}))
    return Values() if domain.kind == "id" else Values(None, domain.minimum, domain.maximum)


def values_of(test: CheckedTest, domain: Domain) -> Values:
    """Return the values that pass a test with a constant; every one where the test is a join or reads a setting."""
    everything = whole(domain)
    if isinstance(test.value, Join) or test.setting:
        return everything
    if isinstance(test.value, tuple):
        return everything.both(Values(frozenset(test.value)))
    return everything.both(compared(test.op, test.value))


def compared(op: Operator, value: Atom) -> Values:
    """Return the values that compare so with a constant."""
    if op == "eq" or isinstance(value, str):
        return Values(None, None, None, frozenset({value})) if op == "ne" else Values(frozenset({value}))
    return {
        "ne": Values(None, None, None, frozenset({value})),
        "gte": Values(None, value),
        "gt": Values(None, value + 1),
        "lte": Values(None, None, value),
        "lt": Values(None, None, value - 1),
    }[op]


class Facts:
    """What is known of the facts that a rule's positive patterns are bound to while it fires."""

    def __init__(self, rule: CheckedRule) -> None:
        self._patterns = rule.positive
        self._parent: dict[_Place, _Place] = {}
        self._settings: dict[_Place, set[tuple[Operator, str]]] = {}
        self._joins: set[tuple[_Place, Operator, _Place]] = set()
        for index, pattern in enumerate(rule.positive):
            for test in pattern.tests:
                if isinstance(test.value, Join) and test.op == "eq":
                    self._unite((index, test.position), (test.value.pattern, test.value.position))
        for index, pattern in enumerate(rule.positive):
            for test in pattern.tests:
                place = self.root((index, test.position))
                if isinstance(test.value, Join):
                    self._joins.add((place, test.op, self.root((test.value.pattern, test.value.position))))
                elif test.setting:
                    self._settings.setdefault(place, set()).add((test.op, test.setting))

    def root(self, place: _Place) -> _Place:
        """Return the one place that stands for all that equal joins make the same."""
        while place in self._parent:
            place = self._parent[place]
        return place

    def _unite(self, one: _Place, other: _Place) -> None:
        first, second = self.root(one), self.root(other)
        if first != second:
            self._parent[max(first, second)] = min(first, second)

    @cached_property
    def _values(self) -> Mapping[_Place, Values]:
        found: dict[_Place, Values] = {}
        for index, pattern in enumerate(self._patterns):
            for position, domain in enumerate(pattern.type.domains):
                place = self.root((index, position))
                found[place] = found.get(place, Values()).both(whole(domain))
            for test in pattern.tests:
                place = self.root((index, test.position))
                found[place] = found[place].both(values_of(test, pattern.type.domains[test.position]))
        return found

    def values(self, place: _Place) -> Values:
        """Return what a field may be."""
        return self._values[self.root(place)]

    def empty(self) -> _Place | None:
        """Return a field that nothing can be, `None` where there is none."""
        return next((place for place, values in self._values.items() if values.none), None)

    def imply(self, test: CheckedTest, place: _Place, mapped: Sequence[int], domain: Domain) -> bool:
        """Return whether the field at `place` passes `test`, whose joins go to the patterns that `mapped` says."""
        mine = self.root(place)
        if isinstance(test.value, Join):
            if test.value.pattern >= len(mapped):
                return False
            other = self.root((mapped[test.value.pattern], test.value.position))
            if test.op == "eq":
                return mine == other or self._same_constant(mine, other)
            return (mine, test.op, other) in self._joins
        if test.setting:
            given = self._settings.get(mine, set())
            return any(key == test.setting and (op == test.op or test.op in _WEAKER.get(op, ())) for op, key in given)
        return self.values(mine).within(values_of(test, domain))

    def _same_constant(self, one: _Place, other: _Place) -> bool:
        first, second = self._values[one].among, self._values[other].among
        return first is not None and first == second and len(first) == 1

    def match(self, index: int, pattern: CheckedPattern, mapped: Sequence[int]) -> bool:
        """Return whether the fact of positive pattern `index` passes every test of `pattern`."""
        mine = self._patterns[index]
        return mine.type == pattern.type and all(
            self.imply(test, (index, test.position), mapped, pattern.type.domains[test.position]) for test in pattern.tests
        )

    def mappings(self, rule: CheckedRule, limit: int = 2_000) -> Iterator[tuple[int, ...]]:
        """Yield the ways to bind the positive patterns of `rule` to these facts, of the first `limit` that are tried."""
        left = limit
        waiting: list[tuple[int, ...]] = [()]
        while waiting and left > 0:
            left -= 1
            done = waiting.pop()
            if len(done) == len(rule.positive):
                yield done
                continue
            wanted = rule.positive[len(done)]
            waiting += [(*done, index) for index in reversed(range(len(self._patterns))) if self.match(index, wanted, done)]

    def same_head(self, mine: CheckedHead, other: CheckedHead, mapped: Sequence[int]) -> bool:
        """Return whether a head over these facts and one over mapped patterns derive the same fact."""
        pairs = zip(mine.values, other.values, strict=True)
        return mine.type == other.type and all(self._same_value(one, two, mapped) for one, two in pairs)

    def same_about(self, mine: CheckedHead, other: CheckedHead, mapped: Sequence[int]) -> bool:
        """Return whether two findings are about the same thing."""
        place = mine.type.fields.index("about")
        return self._same_value(mine.values[place], other.values[place], mapped)

    def _same_value(self, one: Atom | Join, two: Atom | Join, mapped: Sequence[int]) -> bool:
        first = self._place_of(one, range(len(self._patterns)))
        second = self._place_of(two, mapped)
        if isinstance(first, tuple) and isinstance(second, tuple):
            return first == second or self._same_constant(first, second)
        if isinstance(first, tuple) or isinstance(second, tuple):
            place, atom = (first, second) if isinstance(first, tuple) else (second, first)
            return isinstance(place, tuple) and self._values[place].among == frozenset({atom})
        return first == second

    def _place_of(self, value: Atom | Join, mapped: Sequence[int]) -> Atom | _Place:
        return self.root((mapped[value.pattern], value.position)) if isinstance(value, Join) else value


def covers(general: CheckedRule, special: CheckedRule, facts: Facts) -> Iterator[tuple[int, ...]]:
    """Yield the mappings by which `general` fires whenever `special`, whose `facts` are given, does."""
    for mapped in facts.mappings(general):
        if all(any(_absent(wanted, given, facts, mapped) for given in special.negative) for wanted in general.negative):
            yield mapped


def _absent(wanted: CheckedPattern, given: CheckedPattern, facts: Facts, mapped: Sequence[int]) -> bool:
    """Return whether the absence of `given` is the absence of `wanted`: whatever passes `wanted` would pass `given`."""
    if wanted.type != given.type:
        return False
    return all(_follows(test, wanted, facts, mapped) for test in given.tests)


def _follows(test: CheckedTest, wanted: CheckedPattern, facts: Facts, mapped: Sequence[int]) -> bool:
    domain = wanted.type.domains[test.position]
    same = [other for other in wanted.tests if other.position == test.position]
    if isinstance(test.value, Join):
        mine = facts.root((test.value.pattern, test.value.position))
        return any(
            isinstance(other.value, Join)
            and other.op == test.op
            and facts.root((mapped[other.value.pattern], other.value.position)) == mine
            for other in same
        )
    if test.setting:
        given = ((other.op, other.setting) for other in same)
        return any(key == test.setting and (op == test.op or test.op in _WEAKER.get(op, ())) for op, key in given)
    values = whole(domain)
    for other in same:
        values = values.both(values_of(other, domain))
    return values.within(values_of(test, domain))


def rows_of(pattern: CheckedPattern, rows: Sequence[Sequence[Atom]]) -> list[Sequence[Atom]]:
    """Return the table rows that pass the tests of a pattern, as far as constants decide."""
    domains = pattern.type.domains
    tests = [(test.position, values_of(test, domains[test.position])) for test in pattern.tests]
    return [row for row in rows if all(values.holds(row[position]) for position, values in tests)]
