"""What the inference sections run: each engine over one program, and the check that all of them conclude the same.

An engine gets the facts in the Python form that it takes best (`prepare`, not timed) and gives back the findings as integers
(`run`, timed). With `trace` it also carries which rule derived which fact, the least from which a decision can be explained; ours
carry every firing with its bound facts, which is more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from reflect_gate.config import Limits
from reflect_gate.infer import Engine
from reflect_gate.policy.model import EncodedFact, Firing, Head, Join, Program

__all__ = ["Answer", "Contender", "Derived", "Facts", "Own", "finding_heads", "negation_levels", "read_fields", "read_types"]

Facts: TypeAlias = Mapping[str, Sequence[EncodedFact]]
"""The facts of one evaluation by the stage that measures them."""

Derived: TypeAlias = tuple[int, EncodedFact]
"""`(rule index, a fact that it derived)`."""


class Answer(NamedTuple):
    """The findings of one evaluation as values, and the engine's own form of the trace."""

    findings: set[tuple[int, ...]]
    trace: Any


class Contender(Protocol):
    """An engine loaded with a program."""

    name: str

    def prepare(self, facts: Facts) -> Any:
        """Return the facts in this engine's form."""
        ...

    def run(self, prepared: Any) -> Answer:
        """Evaluate once."""
        ...

    def derived(self, trace: Any) -> set[Derived]:
        """Return a trace as every engine's is compared."""
        ...


class Own:
    """One of this project's engines, used as the pipeline uses it: a session, a stage at a time."""

    def __init__(self, name: str, engine: Engine, program: Program) -> None:
        self.name = name
        self._engine = engine
        self._program = program
        self._limits = Limits()
        self._finding = program.type_index("finding")
        self._heads = [[head for head in rule.heads if head.type == self._finding] for rule in program.rules]

    def prepare(self, facts: Facts) -> Facts:
        """See `Contender`."""
        return facts

    def run(self, prepared: Facts) -> Answer:
        """See `Contender`."""
        firings: list[Firing] = []
        with self._engine.session(self._limits) as session:
            for stage, facts in prepared.items():
                firings += session.advance(stage, facts)
        heads = self._heads
        return Answer({_derive(head, bound)[1:] for index, bound in firings for head in heads[index]}, firings)

    def derived(self, trace: Sequence[Firing]) -> set[Derived]:
        """See `Contender`."""
        return {(index, _derive(head, bound)) for index, bound in trace for head in self._program.rules[index].heads}


def _derive(head: Head, bound: Sequence[EncodedFact]) -> EncodedFact:
    return (head.type, *[bound[v.pattern][v.position + 1] if isinstance(v, Join) else v for v in head.values])


def finding_heads(program: Program) -> list[tuple[int, int, Head]]:
    """Return `(rule, place of the head, head)` of every head that derives a finding."""
    finding = program.type_index("finding")
    return [(rule.number, place, head) for rule in program.rules for place, head in enumerate(rule.heads) if head.type == finding]


def read_types(program: Program) -> set[int]:
    """Return the fact types that a rule reads."""
    return {pattern.type for rule in program.rules for pattern in (*rule.positive, *rule.negative)}


def read_fields(program: Program) -> list[list[int]]:
    """Return for each type the fields that a rule tests, joins with or hands on; no engine is given any other."""
    read: list[set[int]] = [set() for _ in program.types]
    for rule in program.rules:
        joins = [value for head in rule.heads for value in head.values if isinstance(value, Join)]
        for pattern in (*rule.positive, *rule.negative):
            read[pattern.type].update(test.position for test in pattern.tests)
            joins += [test.value for test in pattern.tests if isinstance(test.value, Join)]
        for join in joins:
            read[rule.positive[join.pattern].type].add(join.position)
        for head in rule.heads:
            read[head.type].update(range(len(head.values)))
    return [sorted(fields) for fields in read]


def negation_levels(program: Program) -> list[int]:
    """Return for each rule how many fixpoints must be reached before it may run; rules of a level may run in any order."""
    reached: dict[int, int] = {}
    levels = []
    for index in [index for stratum in program.strata for index in stratum.rules]:
        rule = program.rules[index]
        needed = [reached.get(pattern.type, 0) for pattern in rule.positive]
        needed += [reached[pattern.type] + 1 for pattern in rule.negative if pattern.type in reached]
        levels.append((index, max(needed, default=0)))
        for head in rule.heads:
            reached[head.type] = max(reached.get(head.type, 0), levels[-1][1])
    return [level for _, level in sorted(levels)]
