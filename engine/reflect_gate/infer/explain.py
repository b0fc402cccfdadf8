"""Says why: findings and firings with their rule's place, the facts they rest on, and measured values against what was needed.

Where a finding rests on the absence of a fact, the rules that could have derived that fact are asked how near they came, so that
`unsupported` is explained by the overlap that was measured and the overlap that was needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from ..facts import Domain, load_vocabulary
from ..policy.model import EncodedFact, Firing, Head, Interner, Join, Pattern, Program, Rule, Test
from ._near import NearMiss, fixed_fields, holds, nearest_miss, needed_of

__all__ = ["Explainer", "Shown", "all_facts", "derive", "nearest"]

Shown = str | int | float | bool
_MEASURED = 64
_NEAR = 4


class Said(Protocol):
    """What a rule said, as the pipeline keeps it; names are text."""

    @property
    def rule(self) -> int: ...
    @property
    def verdict(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def about(self) -> str: ...


class _Decoder:
    """Turns integers back into what a reader knows."""

    def __init__(self, program: Program, interner: Interner) -> None:
        self._program = program
        self._interner = interner
        self._domains: Mapping[str, Domain] = load_vocabulary().domains

    def value(self, type_index: int, position: int, value: int) -> Shown:
        domain = self._domains.get(self._program.types[type_index].domains[position])
        if domain is None:
            return value
        return domain.show(value, self._interner.name(value) if domain.kind in {"symbol", "id"} else "")

    def fact(self, fact: EncodedFact) -> dict[str, Any]:
        declared = self._program.types[fact[0]]
        fields = {field: self.value(fact[0], position, fact[position + 1]) for position, field in enumerate(declared.fields)}
        return {"fact": declared.name, "fields": fields}

    def condition(self, test: Test, fact: EncodedFact, bound: Sequence[EncodedFact]) -> dict[str, Any]:
        """Return one comparison as the decision holds it."""
        needed = needed_of(test, bound)
        shown: Shown | list[Shown]
        if isinstance(needed, tuple):
            shown = [self.value(fact[0], test.position, each) for each in needed]
        else:
            shown = self.value(fact[0], test.position, needed)
        return {
            "fact": self._program.types[fact[0]].name,
            "field": test.field,
            "value": self.value(fact[0], test.position, fact[test.position + 1]),
            "op": test.op,
            "needed": shown,
            "setting": test.setting,
        }


def derive(head: Head, bound: Sequence[EncodedFact]) -> EncodedFact:
    """Return the fact that `head` derives of the facts bound to the rule's positive patterns."""
    return (head.type, *[bound[v.pattern][v.position + 1] if isinstance(v, Join) else v for v in head.values])


def _by_type(facts: Iterable[EncodedFact]) -> dict[int, list[EncodedFact]]:
    found: dict[int, list[EncodedFact]] = {}
    for fact in dict.fromkeys(facts):
        found.setdefault(fact[0], []).append(fact)
    return found


def all_facts(program: Program, measured: Iterable[EncodedFact], fired: Iterable[Firing]) -> dict[int, list[EncodedFact]]:
    """Return every fact of an evaluation by type: the tables, what was measured and what `fired` derived."""
    derived = (derive(head, bound) for rule, bound in fired for head in program.rules[rule].heads)
    return _by_type([*program.tables, *measured, *derived])


def _identity(test: Test) -> bool:
    return test.op == "eq" and isinstance(test.value, Join)


def nearest(program: Program, rule: int, facts: Iterable[EncodedFact], interner: Interner) -> dict[str, Any] | None:
    """Return how near a rule came to firing over all of `facts`, decoded; `None` where nothing kept it from firing.

    The result names the rule, its place, the facts bound so far, and either the `condition` that failed or, where a pattern found
    no fact (`missing`) or a negated one found a fact (`refuted`), that fact type.
    """
    found = nearest_miss(program.rules[rule], _by_type([*program.tables, *facts]))
    return None if found is None else _show_near(_Decoder(program, interner), program, found)


def _show_near(decoder: _Decoder, program: Program, near: NearMiss) -> dict[str, Any]:
    rule = near.rule
    patterns = (*rule.positive, *rule.negative)
    shown: dict[str, Any] = {
        "rule": rule.name,
        "source": str(patterns[near.pattern].source),
        "facts": [decoder.fact(fact) for fact in near.bound],
    }
    pattern = patterns[near.pattern]
    if near.fact is None:
        shown["missing"] = program.types[pattern.type].name
    elif near.test < 0:
        shown["refuted"] = decoder.fact(near.fact)
    else:
        shown["condition"] = decoder.condition(pattern.tests[near.test], near.fact, near.bound)
    return shown


class Explainer:
    """Explains one evaluation: `facts` are the measured ones, `firings` those of all stages."""

    def __init__(self, program: Program, facts: Sequence[EncodedFact], firings: Sequence[Firing], interner: Interner) -> None:
        self._program = program
        self._measured = facts
        self._fired = firings
        self._interner = interner
        self._decoder = _Decoder(program, interner)

    @cached_property
    def _facts(self) -> dict[int, list[EncodedFact]]:
        return all_facts(self._program, self._measured, self._fired)

    @cached_property
    def _findings(self) -> dict[tuple[int, EncodedFact], Firing]:
        """The first firing of each rule that derived each fact."""
        found: dict[tuple[int, EncodedFact], Firing] = {}
        for firing in self._fired:
            rule, bound = firing
            for head in self._program.rules[rule].heads:
                found.setdefault((rule, derive(head, bound)), firing)
        return found

    def finding(self, stage: str, said: Said) -> dict[str, Any]:
        """Return a finding of `stage` as the decision holds it, with each condition that compared a measured value."""
        rule = self._program.rules[said.rule]
        number = self._interner.number
        fact = (self._program.type_index("finding"), number(said.verdict), number(said.reason), number(said.about))
        firing = self._findings.get((said.rule, fact))
        return {
            "stage": stage,
            "ruleset": rule.ruleset,
            "rule": rule.id,
            "verdict": said.verdict,
            "reason": said.reason,
            "about": said.about,
            "source": str(rule.source),
            "measured": self._measurements(rule, firing[1]) if firing else [],
        }

    def firings(self) -> list[dict[str, Any]]:
        """Return every firing with the facts that it rests on, what was measured of them, and the facts that it derived."""
        shown = []
        for index, bound in self._fired:
            rule = self._program.rules[index]
            shown.append(
                {
                    "stage": rule.stage,
                    "rule": rule.name,
                    "source": str(rule.source),
                    "facts": [self._decoder.fact(fact) for fact in bound],
                    "measured": self._measurements(rule, bound),
                    "derived": [self._decoder.fact(derive(head, bound)) for head in rule.heads],
                }
            )
        return shown

    def facts(self) -> list[dict[str, Any]]:
        """Return every measured fact, in the order in which it was measured."""
        return [self._decoder.fact(fact) for fact in self._measured]

    def nearest(self, rule: int) -> dict[str, Any] | None:
        """Return how near a rule came to firing; see `nearest`."""
        found = nearest_miss(self._program.rules[rule], self._facts)
        return None if found is None else _show_near(self._decoder, self._program, found)

    def _measurements(self, rule: Rule, bound: Sequence[EncodedFact]) -> list[dict[str, Any]]:
        shown = [
            self._decoder.condition(test, fact, bound)
            for pattern, fact in zip(rule.positive, bound, strict=True)
            for test in pattern.tests
            if not _identity(test)
        ]
        for pattern in rule.negative:
            shown += self._absence(pattern, bound)
        return shown[:_MEASURED]

    def _absence(self, pattern: Pattern, bound: Sequence[EncodedFact]) -> list[dict[str, Any]]:
        """Return what kept a fact of a negated pattern from being there."""
        deriving = [(rule, head) for rule in self._program.rules for head in rule.heads if head.type == pattern.type]
        if not deriving:
            return self._unmet(pattern, bound)
        shown = []
        for rule, head in deriving[:_NEAR]:
            fixed = fixed_fields(head, [(test, needed_of(test, bound)) for test in pattern.tests])
            near = None if fixed is None else nearest_miss(rule, self._facts, fixed)
            if near is not None and near.fact is not None and near.test >= 0:
                test = (*rule.positive, *rule.negative)[near.pattern].tests[near.test]
                shown.append(self._decoder.condition(test, near.fact, near.bound))
        return shown

    def _unmet(self, pattern: Pattern, bound: Sequence[EncodedFact]) -> list[dict[str, Any]]:
        """Return the condition that the nearest measured fact failed, if a fact failed one alone."""
        for fact in self._facts.get(pattern.type, ()):
            failed = [test for test in pattern.tests if not holds(test, fact, bound)]
            if len(failed) == 1 and not _identity(failed[0]):
                return [self._decoder.condition(failed[0], fact, bound)]
        return []
