"""How tools for authors name a condition: as it is written in the rule, with the value that a setting has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..facts import Domain, load_vocabulary
from .model import Join, Operator, Pattern, Program, Rule, Test

__all__ = ["SIGNS", "condition_text", "domain_of", "patterns_of", "presence_text", "value_text"]

SIGNS: Final[Mapping[Operator, str]] = {"eq": "=", "ne": "≠", "gte": "≥", "gt": ">", "lte": "≤", "lt": "<", "in": "in"}


def patterns_of(rule: Rule) -> tuple[Pattern, ...]:
    """Return the patterns of a rule as near misses count them: the positive ones, then the negated ones."""
    return (*rule.positive, *rule.negative)


def domain_of(program: Program, type_index: int, position: int) -> Domain | None:
    """Return the domain of a field."""
    return load_vocabulary().domains.get(program.types[type_index].domains[position])


def value_text(program: Program, type_index: int, position: int, value: int) -> str:
    """Return a constant as the rule file writes it; `value` is a number of the program's own, not one met at run time."""
    domain = domain_of(program, type_index, position)
    if domain is None:
        return str(value)
    name = program.symbols[value] if domain.kind in {"symbol", "id"} and 0 <= value < len(program.symbols) else ""
    shown = domain.show(value, name)
    return str(shown).lower() if isinstance(shown, bool) else str(shown)


def condition_text(program: Program, rule: Rule, place: int, test: Test) -> str:
    """Return a test of the rule's pattern at `place`, as `support.term_overlap ≥ 0.12 (grounding.min_term_overlap)`."""
    pattern = patterns_of(rule)[place]
    name = program.types[pattern.type].name
    if isinstance(test.value, Join):
        bound = rule.positive[test.value.pattern]
        needed = f"${bound.alias}.{program.types[bound.type].fields[test.value.position]}"
    elif isinstance(test.value, tuple):
        needed = "[" + ", ".join(value_text(program, pattern.type, test.position, value) for value in test.value) + "]"
    else:
        needed = value_text(program, pattern.type, test.position, test.value)
    negation = "not " if pattern.negated else ""
    setting = f" ({test.setting})" if test.setting else ""
    return f"{negation}{name}.{test.field} {SIGNS[test.op]} {needed}{setting}"


def presence_text(program: Program, rule: Rule, place: int) -> str:
    """Return the pattern at `place` as a condition on there being such a fact, or none."""
    pattern = patterns_of(rule)[place]
    name = program.types[pattern.type].name
    return f"no {name}" if pattern.negated else f"some {name}"
