"""One evaluation as the search for changes sees it: its facts by type, what derived them, and which fields say who a fact is."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ..facts import Domain
from ..infer.explain import all_facts, derive
from ..policy.model import EncodedFact, Firing, Head, Join, Program, Rule, Test
from ..policy.values import Value, encode
from ..policy.wording import domain_of, patterns_of
from ..resources import data_path

if TYPE_CHECKING:
    from ..pipeline import _Run

__all__ = ["World", "passing_value", "spoiling_value"]

_IDENTITY: Final = frozenset({"id", "lexicon", "target", "field", "stage", "verdict", "kind", "component", "hazard", "form"})
"""Domains whose values name what a fact is about; another value would be another fact, not a change of this one."""


class World:
    """An evaluation with its program; facts are encoded by the run's own numbers."""

    def __init__(self, run: _Run) -> None:
        self.run = run
        self.program: Program = run.gate.program
        self.facts: Mapping[int, Sequence[EncodedFact]] = all_facts(self.program, run.facts, run.firings)
        self.measured = frozenset(run.facts)
        # A rule in no stratum is switched off.
        self.rules: list[Rule] = [self.program.rules[number] for stratum in self.program.strata for number in stratum.rules]
        self.conclusion = self.program.type_index("conclusion")
        self.finding = self.program.type_index("finding")
        self._domains = [
            [domain_of(self.program, index, place) for place in range(len(declared.fields))]
            for index, declared in enumerate(self.program.types)
        ]
        self._default: dict[int, list[int]] = {}

    @cached_property
    def deriving(self) -> Mapping[EncodedFact, list[Firing]]:
        """The firings that derived each fact."""
        found: dict[EncodedFact, list[Firing]] = {}
        for firing in self.run.firings:
            for head in self.program.rules[firing[0]].heads:
                found.setdefault(derive(head, firing[1]), []).append(firing)
        return found

    @cached_property
    def heads(self) -> Mapping[int, list[tuple[Rule, Head]]]:
        """The rules that derive each type."""
        found: dict[int, list[tuple[Rule, Head]]] = {}
        for rule in self.rules:
            for head in rule.heads:
                found.setdefault(head.type, []).append((rule, head))
        return found

    @cached_property
    def _joined(self) -> frozenset[tuple[int, int]]:
        """The fields, by type and position, that rules follow from one fact to another."""
        found = set()
        for rule in self.program.rules:
            for pattern in patterns_of(rule):
                for test in pattern.tests:
                    if isinstance(test.value, Join) and test.op == "eq":
                        found |= {(pattern.type, test.position), (rule.positive[test.value.pattern].type, test.value.position)}
        return frozenset(found)

    def kind(self, type_index: int) -> str:
        """Return `conclusion`, `derived`, `table` or `measured`."""
        if type_index == self.conclusion:
            return "conclusion"
        if type_index in self.heads:
            return "derived"
        return "table" if self.program.types[type_index].owner else "measured"

    def domain(self, type_index: int, position: int) -> Domain | None:
        """Return the domain of a field."""
        return self._domains[type_index][position]

    def changeable(self, type_index: int, position: int) -> bool:
        """Return whether a field is a measurement, and not what the fact is about."""
        domain = self.domain(type_index, position)
        if domain is None or domain.name in _IDENTITY or self.kind(type_index) != "measured":
            return False
        return domain.kind in {"flag", "count", "scaled"} or (type_index, position) not in self._joined

    def number(self, name: str) -> int:
        """Return the number of a name in this run."""
        return self.run.interner.number(name)

    def default(self, type_index: int) -> list[int]:
        """Return the fields that a measured fact of a type has by default, encoded."""
        if type_index not in self._default:
            declared = self.program.types[type_index]
            self._default[type_index] = [
                self._encoded(declared.name, field, domain)
                for field, domain in zip(declared.fields, self._domains[type_index], strict=True)
            ]
        return list(self._default[type_index])

    def _encoded(self, name: str, field: str, domain: Domain | None) -> int:
        value = encode(_defaults()[name][field], domain) if domain is not None else 0
        if isinstance(value, str):
            return self.number(value)
        return int(value) if isinstance(value, int) else 0


@functools.cache
def _defaults() -> Mapping[str, Mapping[str, Value]]:
    document = json.loads(data_path("schemas", "facts.json").read_bytes(), parse_float=Decimal)
    return {
        name: {field: spec["default"] for field, spec in entry["fields"].items()} for name, entry in document["facts"].items()
    }


def passing_value(world: World, type_index: int, test: Test, needed: int | tuple[int, ...], value: int) -> int | None:
    """Return the value nearest to `value` with which `test` holds, `None` where the domain has none."""
    if isinstance(needed, tuple):
        return needed[0] if needed else None
    near = {"gte": needed, "gt": needed + 1, "lte": needed, "lt": needed - 1, "eq": needed}
    moved = near[test.op] if test.op in near else _other(world, type_index, test, {needed})
    return _within(world, type_index, test, moved) if moved is not None and moved != value else moved


def spoiling_value(world: World, type_index: int, test: Test, needed: int | tuple[int, ...]) -> int | None:
    """Return the value nearest to the threshold with which `test` does not hold, `None` where the domain has none."""
    if isinstance(needed, tuple):
        return _other(world, type_index, test, set(needed))
    near = {"gte": needed - 1, "gt": needed, "lte": needed + 1, "lt": needed, "ne": needed}
    moved = near[test.op] if test.op in near else _other(world, type_index, test, {needed})
    return None if moved is None else _within(world, type_index, test, moved)


def _other(world: World, type_index: int, test: Test, taken: set[int]) -> int | None:
    domain = world.domain(type_index, test.position)
    if domain is None:
        return None
    if domain.kind == "flag":
        return next((value for value in (0, 1) if value not in taken), None)
    if domain.kind == "symbol":
        numbers = [world.number(name) for name in domain.symbols]
        return next((number for number in numbers if number not in taken), None)
    return None


def _within(world: World, type_index: int, test: Test, value: int) -> int | None:
    domain = world.domain(type_index, test.position)
    if domain is None or domain.kind in {"symbol", "id", "flag"}:
        return value
    return value if domain.minimum <= value <= domain.maximum else None
