"""A third reading of the rule language, as slow and as plain as it can be: a naive fixpoint over the YAML itself.

It shares nothing with the compiler or the engines but the fact vocabulary. Rules are read from the parsed documents, joins are
nested loops, and a stage is evaluated by applying all rules of a level again and again until nothing new appears.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from reflect_gate.facts import Domain, Fact, load_vocabulary

__all__ = ["Known", "Naive", "NaiveFiring"]

Known = tuple[str | int, ...]
"""`(owner/type, value, …)`: symbols and ids as text, everything else as its domain's integer; measured facts have no owner."""

NaiveFiring = tuple[str, tuple[Known, ...]]
"""`(ruleset/rule, the facts bound to its positive patterns in order)`."""

_COMPARE = {"ne": operator.ne, "lt": operator.lt, "lte": operator.le, "gt": operator.gt, "gte": operator.ge}
_FINDING = {"verdict": "verdict", "reason": "id", "about": "id"}


@dataclass
class _RuleSet:
    """One document, with the fields of every type that it may name."""

    document: Mapping[str, Any]
    fields: dict[str, Mapping[str, str]] = field(default_factory=dict)
    own: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return str(self.document["ruleset"])

    def key(self, type_name: str) -> str:
        return f"{self.name}/{type_name}" if type_name in self.own else f"/{type_name}"


def _read(document: Mapping[str, Any]) -> _RuleSet:
    tables, derive = document.get("tables", {}), document.get("derive", {})
    fields: dict[str, Mapping[str, str]] = {name: spec.fields for name, spec in load_vocabulary().facts.items()}
    fields |= {name: table["columns"] for name, table in tables.items()} | derive | {"finding": _FINDING}
    return _RuleSet(document, fields, frozenset([*tables, *derive]))


def _domain(ruleset: _RuleSet, type_name: str, field_name: str) -> Domain:
    return load_vocabulary().domains[ruleset.fields[type_name][field_name]]


def _constant(domain: Domain, value: object) -> str | int:
    if domain.kind in {"symbol", "id"}:
        return str(value)
    if isinstance(value, bool):
        return int(value)
    scaled = domain.exact(Decimal(str(value)))
    assert scaled is not None, f"{value} is not exact in {domain.name}"
    return scaled


class Naive:
    """Evaluates documents; `settings` are the values in force by `ruleset.setting`, the documents' defaults where missing."""

    def __init__(self, documents: Sequence[Mapping[str, Any]], settings: Mapping[str, Any] | None = None) -> None:
        self._sets = [_read(document) for document in documents]
        self._settings = settings or {}
        self.facts: set[Known] = set()
        for ruleset in self._sets:
            for name, table in ruleset.document.get("tables", {}).items():
                for row in table["rows"]:
                    values = [_constant(_domain(ruleset, name, column), row[column]) for column in table["columns"]]
                    self.facts.add((ruleset.key(name), *values))

    def advance(self, stage: str, measured: Sequence[Fact]) -> set[NaiveFiring]:
        """Add the facts, evaluate the rules of `stage` and return their firings."""
        self.facts |= {(f"/{fact[0]}", *[int(v) if isinstance(v, bool) else v for v in fact[1:]]) for fact in measured}
        rules = [(rs, rule) for rs in self._sets if rs.document["stage"] == stage for rule in rs.document["rules"]]
        levels = _levels(rules)
        fired: set[NaiveFiring] = set()
        for level in sorted(set(levels)):
            own = [rule for rule, its in zip(rules, levels, strict=True) if its == level]
            while True:
                found = {firing: heads for rs, rule in own for firing, heads in self._fire(rs, rule)}
                derived = {head for heads in found.values() for head in heads}
                if set(found) <= fired and derived <= self.facts:
                    break
                fired |= set(found)
                self.facts |= derived
        return fired

    def _fire(self, rs: _RuleSet, rule: Mapping[str, Any]) -> Iterator[tuple[NaiveFiring, tuple[Known, ...]]]:
        positive = [pattern for pattern in rule["when"] if not next(iter(pattern)).startswith("not ")]
        negative = [pattern for pattern in rule["when"] if next(iter(pattern)).startswith("not ")]
        for bound, aliases in self._match(rs, positive, (), {}):
            if any(True for pattern in negative for _ in self._match(rs, [pattern], (), aliases)):
                continue
            heads = tuple(self._head(rs, head, aliases) for head in rule["then"])
            yield (f"{rs.name}/{rule['id']}", bound), heads

    def _match(
        self, rs: _RuleSet, patterns: Sequence[Mapping[str, Any]], bound: tuple[Known, ...], aliases: Mapping[str, Any]
    ) -> Iterator[tuple[tuple[Known, ...], Mapping[str, Any]]]:
        if not patterns:
            yield bound, aliases
            return
        ((key, tests),) = patterns[0].items()
        words = key.removeprefix("not ").split(" as ")
        for fact in self.facts:
            if fact[0] != rs.key(words[0]):
                continue
            values = dict(zip(rs.fields[words[0]], fact[1:], strict=True))
            if all(self._holds(rs, words[0], name, values[name], test, aliases) for name, test in tests.items()):
                more = {**aliases, words[1]: values} if len(words) > 1 else aliases
                yield from self._match(rs, patterns[1:], (*bound, fact), more)

    def _holds(self, rs: _RuleSet, type_name: str, name: str, value: Any, test: Any, aliases: Mapping[str, Any]) -> bool:
        def needed(of: object) -> Any:
            return self._value(rs, _domain(rs, type_name, name), of, aliases)

        if not isinstance(test, dict):
            return bool(value == needed(test))
        return all(value in map(needed, of) if op == "in" else _COMPARE[op](value, needed(of)) for op, of in test.items())

    def _value(self, rs: _RuleSet, domain: Domain, given: object, aliases: Mapping[str, Any]) -> Any:
        if isinstance(given, str) and given.startswith("$"):
            if "." in given:
                alias, name = given[1:].split(".")
                return aliases[alias][name]
            default = rs.document["settings"][given[1:]]["default"]
            return _constant(domain, self._settings.get(f"{rs.name}.{given[1:]}", default))
        return _constant(domain, given)

    def _head(self, rs: _RuleSet, head: Mapping[str, Any], aliases: Mapping[str, Any]) -> Known:
        ((type_name, given),) = head.items()
        fields = rs.fields[type_name]
        given = {"about": "", **given} if type_name == "finding" else given
        return (rs.key(type_name), *[self._value(rs, _domain(rs, type_name, name), given[name], aliases) for name in fields])


def _levels(rules: Sequence[tuple[_RuleSet, Mapping[str, Any]]]) -> list[int]:
    """Return a level for each rule: above all that may derive what it negates, not below any that derives what it reads."""
    levels = [0] * len(rules)
    makes = [{rs.key(next(iter(head))) for head in rule["then"]} for rs, rule in rules]
    for _ in range(len(rules) * len(rules) + 1):
        before = list(levels)
        for place, (rs, rule) in enumerate(rules):
            for pattern in rule["when"]:
                (key,) = pattern
                negated = key.startswith("not ")
                read = rs.key(key.removeprefix("not ").split(" as ")[0])
                makers = [levels[other] + negated for other, made in enumerate(makes) if read in made]
                levels[place] = max([levels[place], *makers])
        if levels == before:
            return levels
    raise AssertionError("a cycle through `not`: the compiler should have refused it")
