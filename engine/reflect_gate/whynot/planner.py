"""Plans for what is wanted, backward from it: what must change so that a rule fires, a fact is gone, a stage says a verdict.

A plan is a set of atoms; what an atom is (a changed fact, a changed setting) is the business of `Repairs`. A plan is a proposal:
it foresees the rules, not all that follows from a change, so each is judged again before anything is said of it. The search is
narrow on purpose: `WIDTH` plans are kept at each step, the cheapest first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeAlias

from ..facts import load_vocabulary
from ..infer._near import fixed_fields, holds, needed_of
from ..infer.explain import derive
from ..policy.model import EncodedFact, Firing, Pattern, Rule, Test
from .goals import Goal
from .world import World

__all__ = ["WIDTH", "Atom", "Atoms", "Planner", "Repairs", "Want"]

WIDTH: Final = 10
_DEPTH: Final = 8

Atom: TypeAlias = Hashable
Atoms: TypeAlias = frozenset[Atom]
Want: TypeAlias = tuple[Test, int | tuple[int, ...]]
"""A test and what it compares with."""


class Plan(NamedTuple):
    """What to change, and the facts that the wanted rule would then be bound to."""

    weight: float
    atoms: Atoms
    bound: tuple[EncodedFact, ...] = ()


class Repairs(Protocol):
    """The changes that may be made."""

    def weight(self, atoms: Atoms) -> float:
        """Return how much a set of changes weighs; infinite where they contradict each other."""
        ...

    def satisfy(self, fact: EncodedFact, wants: Sequence[Want]) -> tuple[EncodedFact, Atoms] | None:
        """Return the fact that passes the tests that `fact` fails, and what makes it so."""
        ...

    def spoil(self, fact: EncodedFact, want: Want) -> Atoms | None:
        """Return what makes `fact` fail a test that it passes."""
        ...

    def remove(self, fact: EncodedFact) -> Atoms | None:
        """Return what takes `fact` away."""
        ...

    def add(self, pattern: Pattern, wants: Sequence[Want]) -> tuple[EncodedFact, Atoms] | None:
        """Return a fact that passes the tests of a pattern, and what brings it about."""
        ...

    def silence(self, rule: Rule) -> Atoms | None:
        """Return what keeps a rule from firing at all."""
        ...


class Planner:
    """Plans for one evaluation."""

    def __init__(self, world: World, repairs: Repairs) -> None:
        self._world = world
        self._repairs = repairs
        self._open: set[Hashable] = set()
        self._known: dict[Hashable, list[Plan]] = {}

    def goal(self, goal: Goal) -> list[Atoms]:
        """Return plans for a goal, the lightest first."""
        if goal.kind == "verdict":
            plans = self._verdict(goal.stage, goal.verdict, 0)
        else:
            rules = [rule for rule in self._world.rules if rule.name == goal.rule]
            plans = self._kept(plan for rule in rules for plan in self._fire(rule, {}, 0))
        return [plan.atoms for plan in plans]

    # -- combining ---------------------------------------------------------------------------------------------------------

    def _kept(self, plans: Iterable[Plan]) -> list[Plan]:
        found: dict[tuple[Atoms, tuple[EncodedFact, ...]], Plan] = {}
        for plan in plans:
            if plan.weight < float("inf"):
                found.setdefault((plan.atoms, plan.bound), plan)
        return sorted(found.values(), key=lambda plan: plan.weight)[:WIDTH]

    def _joined(self, plan: Plan, atoms: Atoms, bound: tuple[EncodedFact, ...] | None = None) -> Plan:
        both = plan.atoms | atoms
        return Plan(self._repairs.weight(both), both, plan.bound if bound is None else bound)

    def _all(self, start: Sequence[Plan], parts: Iterable[Callable[[], list[Plan]]]) -> list[Plan]:
        """Return the plans that do everything: one way of each part, on top of one of `start`."""
        plans = list(start)
        for part in parts:
            ways = part()
            plans = self._kept(self._joined(plan, way.atoms) for plan in plans for way in ways)
            if not plans:
                return []
        return plans

    def _plan(self, atoms: Atoms | None) -> list[Plan]:
        return [] if atoms is None else [Plan(self._repairs.weight(atoms), atoms)]

    def _once(self, key: Hashable, find: Callable[[], list[Plan]]) -> list[Plan]:
        """Look for one thing once: what needs itself has no plan, and what was found is found again."""
        found = self._known.get(key)
        if found is not None:
            return found
        if key in self._open:
            return []
        self._open.add(key)
        try:
            found = self._known[key] = find()
        finally:
            self._open.discard(key)
        return found

    # -- stages ------------------------------------------------------------------------------------------------------------

    def _verdict(self, stage: str, verdict: str, depth: int) -> list[Plan]:
        return self._once(("verdict", stage, verdict), lambda: self._verdict_of(stage, verdict, depth))

    def _verdict_of(self, stage: str, verdict: str, depth: int) -> list[Plan]:
        spec, world = load_vocabulary().stages.get(stage), self._world
        if spec is None or verdict not in spec.verdicts or depth > _DEPTH:
            return []
        wanted = spec.verdicts.index(verdict)
        program, name = world.program, world.run.interner.name
        said = [
            (firing, name(derive(head, firing[1])[1]))
            for firing in world.run.firings
            if program.rules[firing[0]].stage == stage
            for head in program.rules[firing[0]].heads
            if head.type == world.finding
        ]
        against = [firing for firing, verdict_ in said if spec.verdicts.index(verdict_) > wanted]
        start = [Plan(0.0, frozenset())]
        if not any(verdict_ == verdict for _, verdict_ in said) and world.run.case.judgements[stage].verdict != verdict:
            rules = [rule for rule in world.rules if rule.stage == stage and self._says(rule, verdict)]
            fired = (plan._replace(bound=()) for rule in rules for plan in self._fire(rule, {}, depth + 1))
            start = self._kept([*fired, *self._neutral(stage, verdict)])
            if not rules and not start and verdict == spec.default:
                start = [Plan(0.0, frozenset())]
        return self._all(start, [partial(self._refute, firing, depth + 1) for firing in against])

    def _neutral(self, stage: str, verdict: str) -> list[Plan]:
        """Return plans by which a rule set of the stage is switched off that then says the verdict."""
        bundle, rules = self._world.run.gate.bundle, self._world.rules
        neutral = {ruleset.name for ruleset in bundle.rulesets_of(stage) if ruleset.on and ruleset.decides}
        saying = {ruleset.name for ruleset in bundle.rulesets_of(stage) if ruleset.neutral == verdict} & neutral
        first = {rule.ruleset: rule for rule in rules if rule.ruleset in saying}
        return [plan for _, rule in sorted(first.items()) for plan in self._plan(self._repairs.silence(rule))]

    def _says(self, rule: Rule, verdict: str) -> bool:
        number = self._world.number(verdict)
        return any(head.type == self._world.finding and head.values[0] == number for head in rule.heads)

    # -- making a rule fire ------------------------------------------------------------------------------------------------

    def _fire(self, rule: Rule, fixed: Mapping[tuple[int, int], int], depth: int) -> list[Plan]:
        """Return plans by which `rule` fires; `fixed` are values that its positive patterns' fields must have."""
        if depth > _DEPTH:
            return []
        return self._once(("fire", rule.number, tuple(sorted(fixed.items()))), lambda: self._fire_open(rule, fixed, depth))

    def _fire_open(self, rule: Rule, fixed: Mapping[tuple[int, int], int], depth: int) -> list[Plan]:
        plans = [Plan(0.0, frozenset())]
        for place, pattern in enumerate(rule.positive):
            held = {position: value for (of, position), value in fixed.items() if of == place}
            plans = self._kept(
                self._joined(plan, atoms, (*plan.bound, fact))
                for plan in plans
                for fact, atoms in self._bind(pattern, plan.bound, held, depth)
            )
        for pattern in rule.negative:
            found: list[Plan] = []
            for plan in plans:
                there = [fact for fact in self._facts(pattern.type) if all(holds(t, fact, plan.bound) for t in pattern.tests)]
                found += self._all(
                    [plan],
                    [partial(self._gone, fact, pattern, plan.bound, depth) for fact in there],
                )
            plans = self._kept(found)
        return plans

    def _facts(self, type_index: int) -> Sequence[EncodedFact]:
        return self._world.facts.get(type_index, ())

    def _bind(
        self, pattern: Pattern, bound: Sequence[EncodedFact], held: Mapping[int, int], depth: int
    ) -> list[tuple[EncodedFact, Atoms]]:
        """Return facts for a pattern, each with what makes it pass: as it is, changed, added, or derived."""
        kind = self._world.kind(pattern.type)
        found: list[tuple[EncodedFact, Atoms]] = []
        for fact in self._facts(pattern.type):
            if any(fact[position + 1] != value for position, value in held.items()):
                continue
            failed = [(test, needed_of(test, bound)) for test in pattern.tests if not holds(test, fact, bound)]
            if not failed:
                found.append((fact, frozenset()))
            elif (changed := self._repairs.satisfy(fact, failed)) is not None:
                found.append(changed)
        wants = [(test, needed_of(test, bound)) for test in pattern.tests]
        if kind == "measured" and not any(not atoms for _, atoms in found):
            added = self._repairs.add(pattern, wants)
            if added is not None and all(added[0][position + 1] == value for position, value in held.items()):
                found.append(added)
        elif kind == "conclusion":
            found += self._concluded(wants, depth)
        elif kind == "derived":
            found += self._derived(pattern, wants, bound, depth)
        return found

    def _concluded(self, wants: Sequence[Want], depth: int) -> list[tuple[EncodedFact, Atoms]]:
        """Return the conclusions that the tests allow, each with plans by which the stage comes to it."""
        name, world = self._world.run.interner.name, self._world
        values: dict[str, list[int]] = {}
        for test, needed in wants:
            values[test.field] = list(needed) if isinstance(needed, tuple) else [needed]
        found: list[tuple[EncodedFact, Atoms]] = []
        for stage in values.get("stage", ()):
            for verdict in values.get("verdict", ()):
                fact = (world.conclusion, stage, verdict)
                if fact not in self._facts(world.conclusion):
                    found += [(fact, plan.atoms) for plan in self._verdict(name(stage), name(verdict), depth + 1)]
        return found

    def _derived(
        self, pattern: Pattern, wants: Sequence[Want], bound: Sequence[EncodedFact], depth: int
    ) -> list[tuple[EncodedFact, Atoms]]:
        found = []
        for rule, head in self._world.heads.get(pattern.type, ()):
            fixed = fixed_fields(head, wants)
            if fixed is None:
                continue
            for plan in self._fire(rule, fixed, depth + 1):
                fact = derive(head, plan.bound)
                if plan.atoms and all(holds(test, fact, bound) for test in pattern.tests):
                    found.append((fact, plan.atoms))
        return found

    # -- keeping a rule from firing ----------------------------------------------------------------------------------------

    def _gone(self, fact: EncodedFact, pattern: Pattern, bound: Sequence[EncodedFact], depth: int) -> list[Plan]:
        """Return plans by which `fact` no longer passes a pattern, given the facts bound before."""
        if depth > _DEPTH:
            return []
        kind = self._world.kind(fact[0])
        if kind == "conclusion":
            name = self._world.run.interner.name
            stage, verdict = name(fact[1]), name(fact[2])
            others = [other for other in load_vocabulary().stages[stage].verdicts if other != verdict]
            return self._kept(plan for other in others for plan in self._verdict(stage, other, depth + 1))
        if kind == "derived":
            firings = self._world.deriving.get(fact, ())
            return self._all(
                [Plan(0.0, frozenset())],
                [partial(self._refute, firing, depth + 1) for firing in firings],
            )
        plans = [plan for test in pattern.tests for plan in self._plan(self._repairs.spoil(fact, (test, needed_of(test, bound))))]
        return self._kept([*plans, *self._plan(self._repairs.remove(fact))])

    def _refute(self, firing: Firing, depth: int) -> list[Plan]:
        """Return plans by which a rule does not fire as it did."""
        return self._once(("refute", firing), lambda: self._refute_open(firing, depth))

    def _refute_open(self, firing: Firing, depth: int) -> list[Plan]:
        rule, bound = self._world.program.rules[firing[0]], firing[1]
        plans = self._plan(self._repairs.silence(rule))
        for place, pattern in enumerate(rule.positive):
            plans += self._gone(bound[place], pattern, bound[:place], depth)
        for pattern in rule.negative:
            plans += [Plan(self._repairs.weight(atoms), atoms) for _, atoms in self._bind(pattern, bound, {}, depth + 1) if atoms]
        return self._kept(plan._replace(bound=()) for plan in plans)
