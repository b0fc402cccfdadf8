"""What the cases show of the rules: which fired, and each condition both ways, at its threshold and right beside it.

Measured are: rules that fired; conditions seen true and seen false where nothing else kept the rule silent (`infer.cover`);
numbers compared at their threshold and one step beyond it; patterns of lexicons that find a text; rule sets seen on and off.
A case of facts speaks for its own rule set, which then is on; a case of a request also shows which rule sets its bundle has off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from ..errors import ReflectGateError, Source
from ..infer.cover import PRESENCE, Seen, observe
from ..infer.explain import all_facts
from .bench import Bench, Evidence, Shelf
from .bundle import Bundle
from .case_files import CASES_SUFFIX
from .cases import case_files, is_lexicon, read_cases
from .lexicon_hits import PatternHits, pattern_hits
from .model import Join, Program, Rule, Test
from .selecting import Selection, names_of, selection
from .wording import condition_text, domain_of, patterns_of, presence_text

__all__ = ["KINDS", "Boundary", "Condition", "Coverage", "RuleCover", "Share", "Toggle", "coverage", "floored"]

KINDS: Final = ("rules", "conditions", "boundaries", "patterns", "toggles")

_BESIDE: Final[Mapping[str, int]] = {"gte": -1, "gt": 1, "lte": 1, "lt": -1}
"""Of each comparison the distance from its threshold at which it just comes out the other way than at the threshold."""

_Key: TypeAlias = tuple[str, int, int]


class Share(NamedTuple):
    """How many of how many."""

    covered: int
    total: int


@dataclass(slots=True)
class RuleCover:
    """A rule, the file that it stands in, and in how many cases it fired."""

    ruleset: str
    rule: str
    source: Source
    fired: int = 0


@dataclass(slots=True)
class Condition:
    """A condition and how often it was seen each way."""

    ruleset: str
    rule: str
    text: str
    source: Source
    true: int = 0
    false: int = 0


@dataclass(slots=True)
class Boundary:
    """A comparison of numbers, seen at its threshold and one step beside it, which is wanted only where a value can be there."""

    ruleset: str
    rule: str
    text: str
    source: Source
    wants_beside: bool
    at: int = 0
    beside: int = 0


@dataclass(slots=True)
class Toggle:
    """A rule set, and in how many cases it was on and off."""

    ruleset: str
    source: Source
    on: int = 0
    off: int = 0


@dataclass(slots=True)
class Coverage:
    """What was measured, in the order of the files."""

    rules: dict[str, RuleCover] = field(default_factory=dict)
    conditions: dict[_Key, Condition] = field(default_factory=dict)
    boundaries: dict[_Key, Boundary] = field(default_factory=dict)
    patterns: list[PatternHits] = field(default_factory=list)
    toggles: dict[str, Toggle] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)

    def share(self, kind: str) -> Share:
        """Return the share of one of `KINDS`; a condition counts twice, once a way, as do boundaries and toggles."""
        pairs = list(self._ways(kind))
        return Share(sum(seen for seen, _ in pairs), sum(wanted for _, wanted in pairs))

    def _ways(self, kind: str) -> Iterator[tuple[int, int]]:
        if kind == "rules":
            yield from ((int(rule.fired > 0), 1) for rule in self.rules.values())
        elif kind == "conditions":
            yield from ((int(part.true > 0) + int(part.false > 0), 2) for part in self.conditions.values())
        elif kind == "boundaries":
            for part in self.boundaries.values():
                yield int(part.at > 0), 1
                if part.wants_beside:
                    yield int(part.beside > 0), 1
        elif kind == "patterns":
            yield from ((int(pattern.found > 0), 1) for pattern in self.patterns)
        else:
            yield from ((int(toggle.on > 0) + int(toggle.off > 0), 2) for toggle in self.toggles.values())

    def below(self, threshold: Decimal) -> list[str]:
        """Return which of rules and conditions are covered by less than `threshold` per cent, compared exactly."""
        found = []
        for kind in ("rules", "conditions"):
            covered, total = self.share(kind)
            if covered * 100 < threshold * total:
                found.append(kind)
        return found


def floored(share: Share) -> str:
    """Return a share in per cent with one decimal, never rounded up: 100.0 means all of it; a dash of nothing."""
    if not share.total:
        return "-"
    return str((Decimal(share.covered * 100) / share.total).quantize(Decimal("0.1"), ROUND_FLOOR))


def coverage(paths: Iterable[str | Path], policies: str | Path | None = None, pattern: str | None = None) -> Coverage:
    """Return what the selected cases at `paths` show; raises where a file or a case cannot be run. See `cases.run_cases`."""
    chosen, found, shelf = selection(pattern), Coverage(), Shelf(policies)
    for path in case_files(paths):
        name = path.name.removesuffix(CASES_SUFFIX).removesuffix(".yaml")
        data = path.read_bytes()
        if not chosen.may_hold(name):
            continue
        if is_lexicon(data):
            found.patterns += pattern_hits(data, str(path), policies) if pattern is None else []
        elif path.name.endswith(CASES_SUFFIX):
            _ruleset(Bench(read_cases(data, str(path)), policies, shelf), chosen, found)
    return found


def _ruleset(bench: Bench, chosen: Selection, found: Coverage) -> None:
    named = ((case, [*names_of(case), *bench.old_names(case)]) for case in bench.cases.cases)
    selected = [case for case, names in named if chosen.takes(bench.cases.ruleset, names)]
    if not selected:
        return
    own = bench.cases.ruleset
    _declare(bench.every_rule(), own, found)
    for case in selected:
        try:
            evidence = bench.evidence(case)
        except ReflectGateError as error:
            raise ReflectGateError(error.code, f"case `{own}/{case.id}`: {error.message}", case.source) from None
        _toggles(evidence.bundle if case.request is not None else None, own, found)
        _note(evidence, own, found)


def _declare(bundle: Bundle, own: str, found: Coverage) -> None:
    """Enter the rules and conditions of the rule set, so that what no case reaches is known too."""
    ruleset, program = bundle.ruleset(own), bundle.program
    found.files.append(ruleset.file)
    found.toggles.setdefault(own, Toggle(own, Source(ruleset.file, 1)))
    for rule in program.rules:
        found.rules[rule.name] = RuleCover(own, rule.id, _full(rule.source, ruleset.file), 0)
        for place, pattern in enumerate(patterns_of(rule)):
            if pattern.negated or not pattern.tests:
                text = presence_text(program, rule, place)
                key = (rule.name, place, PRESENCE)
                found.conditions[key] = Condition(own, rule.id, text, _full(pattern.source, ruleset.file))
            for number, test in enumerate(pattern.tests):
                text, source = condition_text(program, rule, place, test), _full(test.source, ruleset.file)
                found.conditions[rule.name, place, number] = Condition(own, rule.id, text, source)
                if test.op in _BESIDE:
                    wants = _has_beside(program, rule, place, test)
                    found.boundaries[rule.name, place, number] = Boundary(own, rule.id, text, source, wants)


def _full(source: Source, file: str) -> Source:
    return Source(file, source.line, source.column)


def _has_beside(program: Program, rule: Rule, place: int, test: Test) -> bool:
    """Return whether the domain holds the value one step beside the threshold; of a threshold that varies, it does."""
    domain = domain_of(program, patterns_of(rule)[place].type, test.position)
    if domain is None or not isinstance(test.value, int):
        return isinstance(test.value, Join)
    return domain.minimum <= test.value + _BESIDE[test.op] <= domain.maximum


def _toggles(bundle: Bundle | None, own: str, found: Coverage) -> None:
    """Count the rule sets that a case had on or off; a case of facts has its own on and says nothing of the others."""
    if bundle is None:
        found.toggles[own].on += 1
        return
    for ruleset in bundle.rulesets:
        toggle = found.toggles.setdefault(ruleset.name, Toggle(ruleset.name, Source(ruleset.file, 1)))
        toggle.on += ruleset.on
        toggle.off += not ruleset.on


def _note(evidence: Evidence, own: str, found: Coverage) -> None:
    program = evidence.bundle.program
    facts = all_facts(program, evidence.measured, evidence.firings)
    for index in {index for index, _ in evidence.firings}:
        if program.rules[index].ruleset == own:
            found.rules[program.rules[index].name].fired += 1
    for rule in program.rules:
        if rule.ruleset == own:
            seen: set[Seen] = set()
            observe(rule, facts, seen.add)
            _count(rule, seen, found)


def _count(rule: Rule, seen: Iterable[Seen], found: Coverage) -> None:
    tests: Sequence[Sequence[Test]] = [pattern.tests for pattern in patterns_of(rule)]
    sights = list(seen)
    for place, number, true in {(sight.pattern, sight.test, sight.true) for sight in sights}:
        condition = found.conditions[rule.name, place, number]
        condition.true += true
        condition.false += not true
    for place, number, distance in {(sight.pattern, sight.test, sight.distance) for sight in sights}:
        boundary = found.boundaries.get((rule.name, place, number))
        if boundary is not None:
            boundary.at += distance == 0
            boundary.beside += distance == _BESIDE[tests[place][number].op]
