"""A program as CLIPS constructs, run by clipspy."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Final

from reflect_gate.policy.model import Head, Join, Pattern, Program, Rule, Test

from .engines import Answer, Derived, Facts, finding_heads, negation_levels, read_fields

__all__ = ["Clips"]

_REBUILD: Final = 200
"""Evaluations of one environment: clipspy slows down with every fact that it ever asserted, fifteen-fold in 8,000 evaluations."""

_OPERATORS: Final = {"eq": "=", "ne": "<>", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}


class Clips:
    """Templates, rules with a salience by negation level, and what fired in a global variable.

    An evaluation resets the environment, asserts the facts and runs; after `_REBUILD` of them the environment is built anew.
    """

    name = "clipspy"

    def __init__(self, program: Program, *, trace: bool) -> None:
        self._clips: Any = importlib.import_module("clips")
        self._program = program
        self._fields = read_fields(program)
        self._tables = [(fact[0], self._slots(fact)) for fact in program.tables]
        findings = {(index, place) for index, place, _ in finding_heads(program)}
        heads = [(rule.number, place) for rule in program.rules for place in range(len(rule.heads))]
        self._told = heads if trace else sorted(findings)
        self._findings = [key in findings for key in self._told]
        self._constructs = self._write()
        self._runs = 0
        self._environment: Any = None

    def _slots(self, fact: Sequence[int]) -> dict[str, int]:
        return {f"f{position}": fact[position + 1] for position in self._fields[fact[0]]}

    def _write(self) -> list[str]:
        constructs = ["(defglobal ?*fired* = (create$))"]
        for number, positions in enumerate(self._fields):
            constructs.append(f"(deftemplate t{number} {' '.join(f'(slot f{position})' for position in positions)})")
        if self._tables:
            facts = [f"(t{kind} {' '.join(f'({k} {v})' for k, v in slots.items())})" for kind, slots in self._tables]
            constructs.append(f"(deffacts tables {' '.join(facts)})")
        levels = negation_levels(self._program)
        told = {key: place for place, key in enumerate(self._told)}
        constructs += [_rule(rule, levels[rule.number], told) for rule in self._program.rules]
        return constructs

    def _build(self) -> None:
        self._environment = self._clips.Environment()
        for construct in self._constructs:
            self._environment.build(construct)
        self._fired = self._environment.find_global("fired")
        self._templates = [self._environment.find_template(f"t{number}") for number in range(len(self._fields))]

    def prepare(self, facts: Facts) -> list[tuple[int, dict[str, int]]]:
        """See `engines.Contender`."""
        return [(fact[0], self._slots(fact)) for own in facts.values() for fact in dict.fromkeys(own)]

    def run(self, prepared: Sequence[tuple[int, dict[str, int]]]) -> Answer:
        """See `engines.Contender`."""
        if self._runs % _REBUILD == 0:
            self._build()
        self._runs += 1
        environment, templates = self._environment, self._templates
        environment.reset()
        for kind, slots in prepared:
            templates[kind].assert_fact(**slots)
        environment.run()
        trace = self._read(self._fired.value)
        findings = self._findings
        return Answer({values for told, values in trace if findings[told]}, trace)

    def _read(self, fired: Sequence[int]) -> list[tuple[int, tuple[int, ...]]]:
        """Cut the global variable, `place in _told, number of values, values` again and again."""
        found = []
        place = 0
        while place < len(fired):
            end = place + 2 + fired[place + 1]
            found.append((fired[place], tuple(fired[place + 2 : end])))
            place = end
        return found

    def derived(self, trace: Sequence[tuple[int, tuple[int, ...]]]) -> set[Derived]:
        """See `engines.Contender`."""
        found = set()
        for told, values in trace:
            rule, place = self._told[told]
            found.add((rule, (self._program.rules[rule].heads[place].type, *values)))
        return found


def _variable(value: Join) -> str:
    return f"?v{value.pattern}_{value.position}"


def _term(value: int | Join) -> str:
    return _variable(value) if isinstance(value, Join) else str(value)


def _constraint(variable: str, test: Test) -> str:
    if isinstance(test.value, tuple):
        return f":(or FALSE {' '.join(f'(= {variable} {value})' for value in test.value)})"
    if test.op in {"eq", "ne"}:
        return f"{'~' if test.op == 'ne' else ''}{_term(test.value)}"
    return f":({_OPERATORS[test.op]} {variable} {_term(test.value)})"


def _pattern(pattern: Pattern, place: int, joined: set[Join]) -> str:
    """Return a pattern; a slot is bound to a variable only where something needs it."""
    slots: dict[int, list[Test]] = {join.position: [] for join in sorted(joined, key=str) if join.pattern == place}
    for test in pattern.tests:
        slots.setdefault(test.position, []).append(test)
    written = []
    for position, tests in sorted(slots.items()):
        variable = f"?v{place}_{position}"
        bound = Join(place, position) in joined or any(test.op not in {"eq", "ne"} for test in tests)
        parts = [variable] if bound else []
        written.append(f"(f{position} {'&'.join(parts + [_constraint(variable, test) for test in tests])})")
    return f"(t{pattern.type} {' '.join(written)})"


def _values(head: Head) -> list[str]:
    return [_term(value) for value in head.values]


def _rule(rule: Rule, level: int, told: dict[tuple[int, int], int]) -> str:
    joined = {test.value for p in (*rule.positive, *rule.negative) for test in p.tests if isinstance(test.value, Join)}
    joined |= {value for head in rule.heads for value in head.values if isinstance(value, Join)}
    left = [_pattern(pattern, place, joined) for place, pattern in enumerate(rule.positive)]
    left += [f"(not {_pattern(pattern, 90 + place, joined)})" for place, pattern in enumerate(rule.negative)]
    right = []
    for place, head in enumerate(rule.heads):
        values = _values(head)
        slots = " ".join(f"(f{position} {value})" for position, value in enumerate(values))
        right.append(f"(assert (t{head.type} {slots}))")
        if (rule.number, place) in told:
            right.append(f"(bind ?*fired* ?*fired* {told[rule.number, place]} {len(values)} {' '.join(values)})")
    return f"(defrule r{rule.number} (declare (salience {-level})) {' '.join(left)} => {' '.join(right)})"
