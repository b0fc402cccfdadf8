"""What each rule costs, counted and not timed, so that it is the same on every machine and a change can be held to it.

The cost of a rule is how many conditions are looked at while its patterns are bound, in the order in which they stand, to the
facts of each case or request; an engine with indexes looks at fewer. A rule that joins large sets of facts shows here first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..infer._near import holds
from ..infer.explain import all_facts
from .bench import Bench, Evidence, Shelf
from .case_files import CASES_SUFFIX
from .cases import case_files, read_cases
from .loading import load_bundle
from .model import EncodedFact, Pattern, Rule

__all__ = ["Change", "Cost", "compared", "costs_of_cases", "costs_of_requests"]


class Cost(NamedTuple):
    """A rule, how many runs tried it, the conditions looked at in them, the most in one, and how often it fired."""

    rule: str
    file: str
    line: int
    runs: int
    conditions: int
    most: int
    fired: int


class Change(NamedTuple):
    """A rule whose cost changed: conditions a run before and after, in hundredths; `None` where it was or is not there."""

    rule: str
    before: int | None
    after: int | None

    @property
    def percent(self) -> int:
        """The growth in per cent, rounded down; 0 where there is nothing to compare with."""
        return (self.after - self.before) * 100 // self.before if self.before and self.after is not None else 0


def costs_of_cases(policies: str | Path | None, paths: Iterable[str | Path]) -> list[Cost]:
    """Return the cost of each rule over the cases of facts of its own rule set at `paths`; raises what cannot be read or run."""
    shelf, found = Shelf(policies), _Costs()
    for path in case_files(paths):
        if path.name.endswith(CASES_SUFFIX):
            bench = Bench(read_cases(path.read_bytes(), str(path)), policies, shelf)
            for case in bench.cases.cases:
                if case.facts is not None:
                    found.add(bench.evidence(case))
    return found.costs()


def costs_of_requests(policies: str | Path | None, requests: Sequence[Mapping[str, Any]]) -> list[Cost]:
    """Return the cost of each rule of the default bundle over whole requests."""
    from ..pipeline import judge
    from ..runtime import runtime
    from ..stages._case import Case
    from ..stages._prepare import prepare

    bundle, found = load_bundle(policies=policies), _Costs()
    gate = runtime(bundle)
    for request in requests:
        record: Any = request["record"]
        run = judge(Case(request, prepare(record, bundle.limits), bundle, gate.lexicons), gate)
        found.add(Evidence(bundle, tuple(run.facts), tuple(run.firings)))
    return found.costs()


def compared(before: Mapping[str, tuple[int, int]], now: Sequence[Cost]) -> list[Change]:
    """Return how the cost a run changed, the largest growth first; `before` gives `(conditions, runs)` of each rule."""
    after = {cost.rule: cost.conditions * 100 // cost.runs for cost in now if cost.runs}
    known = {rule: conditions * 100 // runs for rule, (conditions, runs) in before.items() if runs}
    changes = [Change(rule, known.get(rule), after.get(rule)) for rule in sorted({*known, *after})]
    different = [change for change in changes if change.before != change.after]
    return sorted(different, key=lambda change: (-change.percent, change.rule))


class _Costs:
    """Sums by rule."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[str, int]] = {}
        self._sums: dict[str, list[int]] = {}

    def add(self, evidence: Evidence) -> None:
        """Count one run."""
        program = evidence.bundle.program
        facts = all_facts(program, evidence.measured, evidence.firings)
        files = {ruleset.name: ruleset.file for ruleset in evidence.bundle.rulesets}
        for rule in program.rules:
            self._places[rule.name] = files[rule.ruleset], rule.source.line
            looked = _looked(rule, facts)
            sums = self._sums.setdefault(rule.name, [0, 0, 0, 0])
            sums[0] += 1
            sums[1] += looked
            sums[2] = max(sums[2], looked)
        for index, _ in evidence.firings:
            self._sums[program.rules[index].name][3] += 1

    def costs(self) -> list[Cost]:
        """Return the sums, the dearest rule first."""
        found = [Cost(rule, *self._places[rule], *sums) for rule, sums in self._sums.items()]
        return sorted(found, key=lambda cost: (-cost.conditions, cost.rule))


def _looked(rule: Rule, facts: Mapping[int, Sequence[EncodedFact]]) -> int:
    """Return how many conditions are looked at while the rule is bound in every way to `facts`."""
    count = 0
    waiting: list[tuple[EncodedFact, ...]] = [()]
    while waiting:
        bound = waiting.pop()
        if len(bound) == len(rule.positive):
            for pattern in rule.negative:
                for fact in facts.get(pattern.type, ()):
                    count += _passed(pattern, fact, bound)[0]
            continue
        pattern = rule.positive[len(bound)]
        for fact in facts.get(pattern.type, ()):
            looked, passes = _passed(pattern, fact, bound)
            count += looked
            if passes:
                waiting.append((*bound, fact))
    return count


def _passed(pattern: Pattern, fact: EncodedFact, bound: Sequence[EncodedFact]) -> tuple[int, bool]:
    """Return how many conditions of a pattern are looked at until one fails, and whether none does; the fact itself is one."""
    for number, test in enumerate(pattern.tests, 1):
        if not holds(test, fact, bound):
            return number, False
    return max(1, len(pattern.tests)), True
