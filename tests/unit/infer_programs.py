"""Small programs for the engine tests, written without YAML: values are plain integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reflect_gate.config import Limits
from reflect_gate.errors import Source
from reflect_gate.infer import Engine
from reflect_gate.policy.model import EncodedFact, Firing, Head, Join, Pattern, Program, Rule, Stratum, Test, TypeDecl

__all__ = ["Rules", "When", "firings", "program", "rule"]

Types = Mapping[str, Sequence[str]]
When = Sequence[tuple[str, Mapping[str, Any]]]
Then = Sequence[tuple[str, Sequence[Any]]]
Rules = Sequence[tuple[When, Then]]


def _test(types: Types, positive: Sequence[Pattern], own: str, field: str, given: Any, number: int) -> Test:
    """A value is equality, `(operator, value)` a comparison, the text `0.x` a join with `x` of the first positive pattern."""
    op, value = given if isinstance(given, tuple) and isinstance(given[0], str) else ("eq", given)
    if isinstance(value, str):
        place, name = value.split(".")
        fields = list(types.values())[positive[int(place)].type]
        value = Join(int(place), list(fields).index(name))
    return Test(list(types[own]).index(field), field, op, value, "", Source("rules.yaml", number + 1))


def rule(types: Types, number: int, when: When, then: Then, *, stage: str = "one", stratum: int = 0) -> Rule:
    """Return a rule; a pattern whose type begins with `not ` is negated."""
    names = list(types)
    positive: list[Pattern] = []
    negative: list[Pattern] = []
    for key, tests in when:
        negated = key.startswith("not ")
        name = key.removeprefix("not ")
        read = tuple(_test(types, positive, name, field, given, number) for field, given in tests.items())
        (negative if negated else positive).append(
            Pattern(names.index(name), "", negated, read, Source("rules.yaml", number + 1))
        )
    heads = []
    for name, values in then:
        joins = [value.split(".") if isinstance(value, str) else value for value in values]
        resolved = [
            Join(int(v[0]), list(types[names[positive[int(v[0])].type]]).index(v[1])) if isinstance(v, list) else v for v in joins
        ]
        heads.append(Head(names.index(name), tuple(resolved)))
    source = Source("rules.yaml", number + 1)
    return Rule(number, f"r{number}", "set", stage, stratum, "", tuple(positive), tuple(negative), tuple(heads), source)


def program(
    types: Types,
    rules: Rules,
    *,
    tables: Sequence[EncodedFact] = (),
    stages: Sequence[str] = ("one",),
    stage_of: Sequence[str] = (),
    strata: Sequence[Sequence[int]] = (),
    recursive: Sequence[int] = (),
) -> Program:
    """Return a program in which each rule is a stratum of its own, in the order given, unless `strata` says otherwise."""
    groups = strata or [[number] for number in range(len(rules))]
    place = {number: stratum for stratum, group in enumerate(groups) for number in group}
    own = stage_of or [stages[0]] * len(rules)
    made = tuple(
        rule(types, number, when, then, stage=own[number], stratum=place[number]) for number, (when, then) in enumerate(rules)
    )
    return Program(
        tuple(TypeDecl(name, tuple(fields), ("count",) * len(fields), "") for name, fields in types.items()),
        (),
        made,
        tuple(Stratum(own[group[0]], tuple(group), number in recursive) for number, group in enumerate(groups)),
        tuple(tables),
        tuple(stages),
    )


def firings(engine: Engine, *batches: tuple[str, Sequence[EncodedFact]], limits: Limits | None = None) -> list[Firing]:
    """Return the firings of one session over stages and their facts."""
    with engine.session(limits or Limits()) as session:
        return [firing for stage, facts in batches for firing in session.advance(stage, facts)]
