"""A program without some of its rules: what disabling a rule or a rule set makes of it."""

from __future__ import annotations

from collections.abc import Callable

from .model import Program, Rule

__all__ = ["without"]


def without(program: Program, gone: Callable[[Rule], bool]) -> Program:
    """Return `program` without the rules that are `gone`; rules and strata get new places, types and tables stay."""
    kept = [rule for rule in program.rules if not gone(rule)]
    places = {rule.number: place for place, rule in enumerate(kept)}
    strata = [
        stratum._replace(rules=tuple(places[number] for number in stratum.rules if number in places))
        for stratum in program.strata
    ]
    filled = [place for place, stratum in enumerate(strata) if stratum.rules]
    moved = {old: new for new, old in enumerate(filled)}
    rules = [rule._replace(number=places[rule.number], stratum=moved[rule.stratum]) for rule in kept]
    return program._replace(rules=tuple(rules), strata=tuple(strata[place] for place in filled))
