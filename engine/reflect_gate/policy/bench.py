"""Runs one case: of facts, the rule set alone on every engine that can be had; of a request, the whole pipeline.

What a run showed is compared with what the case expects: the verdict or status, the reason, the findings as a set, and what
must fire or stay silent. `policy test`, coverage and mutation testing judge by this module alone, so that they agree on a case.

A case that names experimental rules is judged as if these decided; any other one as the gate decides.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..errors import ReflectGateError, did_you_mean
from ..facts import Domain, Fact, load_vocabulary
from ..infer.explain import derive
from ..resources import data_path
from .build import durable_available
from .bundle import Bundle
from .case_files import CaseDecl, CasesFile, ExpectedFinding, FactDecl
from .loading import load_bundle
from .model import EncodedFact, Firing, Interner, Program
from .naming import with_live_names
from .problems import Problems
from .selecting import rules_of
from .source import ScalarNode
from .values import Misfit, Value, constant, encode

if TYPE_CHECKING:
    from ..runtime import Runtime

__all__ = [
    "Bench",
    "Encoded",
    "Evidence",
    "Found",
    "Judged",
    "Observed",
    "Shelf",
    "differences",
    "field_defaults",
    "observed",
    "summed_up",
    "wanted",
]


_Names: TypeAlias = tuple[str, ...]


class Found(NamedTuple):
    """One finding of the rule set; `about` is empty where it is about nothing."""

    rule: str
    verdict: str
    reason: str
    about: str

    def show(self) -> str:
        """Return the finding as a message names it."""
        return f"`{self.rule}` ({self.verdict}, {self.reason})" + (f" about `{self.about}`" if self.about else "")


@dataclass(frozen=True, slots=True)
class Observed:
    """What a run showed of one rule set: the decision's or stage's outcome, its findings, and the ids of its rules that fired."""

    outcome: str
    reason: str
    findings: frozenset[Found]
    fired: frozenset[str]


class Judged(NamedTuple):
    """How a case came out: what differs and what was seen.

    Only where something differs: `firings` of its rule set as decisions hold them, and `near`, how near each rule came that
    should have fired (`Explainer.nearest`).
    """

    wrong: tuple[str, ...]
    seen: Observed
    firings: tuple[Mapping[str, Any], ...] = ()
    near: tuple[Mapping[str, Any], ...] = ()


class Encoded(NamedTuple):
    """A case of facts ready to run: the rule set alone, its stage, the numbers of this case and its facts."""

    gate: Runtime
    stage: str
    interner: Interner
    facts: tuple[EncodedFact, ...]


class Evidence(NamedTuple):
    """What one case ran: its bundle (the rule set alone for a case of facts), the measured facts and the firings."""

    bundle: Bundle
    measured: tuple[EncodedFact, ...]
    firings: tuple[Firing, ...]


class Shelf:
    """Bundles of one policies file, each loaded once; several benches may share one."""

    def __init__(self, policies: str | Path | None) -> None:
        self._policies = policies
        self._loaded: dict[tuple[str, _Names, _Names, _Names], Bundle] = {}

    def load(self, name: str, enable: _Names = (), disable: _Names = (), experimental: _Names = ()) -> Bundle:
        """Return a bundle with some rule sets switched, and rules promoted; an empty name is the default bundle."""
        key = (name, enable, disable, experimental)
        if key not in self._loaded:
            self._loaded[key] = load_bundle(
                name or None,
                policies=self._policies,
                enable=enable,
                disable=disable,
                experimental=experimental,
                cache=False,
            )
        return self._loaded[key]

    def alone(self, name: str, own: str, experimental: _Names = ()) -> Bundle:
        """Return a bundle with every rule set but `own` switched off."""
        whole = self.load(name)
        on = {ruleset.name for ruleset in whole.rulesets if ruleset.on}
        enable = () if own in on else (own,)
        return self.load(name, enable, tuple(sorted(on - {own})), experimental)


class Bench:
    """The cases of one rule set; each bundle is made ready once."""

    def __init__(self, cases: CasesFile, policies: str | Path | None, shelf: Shelf | None = None) -> None:
        self._shelf = shelf or Shelf(policies)
        self._gates: dict[tuple[str, _Names], Runtime] = {}
        self.cases, self.notices = with_live_names(cases, self._renamed(cases.ruleset))

    def _renamed(self, ruleset: str) -> Mapping[str, str]:
        """Return the live names of rules by old ones; where the policies are broken, running a case says so."""
        try:
            return self._shelf.alone("", ruleset).renamed
        except ReflectGateError:
            return {}

    def old_names(self, case: CaseDecl) -> list[str]:
        """Return what the rules that a case names were called before."""
        named = {f"{self.cases.ruleset}/{name}" for name in rules_of(case)}
        renamed = self._renamed(self.cases.ruleset)
        return [old.partition("/")[2] for old, now in renamed.items() if now in named]

    def alone(self, name: str, experimental: _Names = ()) -> Runtime:
        """Return the bundle with every other rule set switched off, on both engines where the C module can be had."""
        key = (name, experimental)
        if key not in self._gates:
            from ..runtime import Runtime

            wanted = self._shelf.alone(name, self.cases.ruleset, experimental).alone()
            both = durable_available()
            self._gates[key] = Runtime(wanted._replace(engine="durable", cross_check=True) if both else wanted)
        return self._gates[key]

    def every_rule(self) -> Bundle:
        """Return the rule set alone in the default bundle, with its experimental rules deciding."""
        found = self._shelf.alone("", self.cases.ruleset)
        return self.alone("", found.trial.rules if found.trial else ()).bundle

    def gate(self, case: CaseDecl) -> Runtime:
        """Return what judges a case of facts."""
        return self.alone(case.bundle, _promoted(case, self._shelf.alone(case.bundle, self.cases.ruleset), self.cases.ruleset))

    def whole(self, case: CaseDecl) -> Bundle:
        """Return the bundle that judges a case of a request."""
        found = self._shelf.load(case.bundle)
        promoted = _promoted(case, found, self.cases.ruleset)
        return (self._shelf.load(case.bundle, experimental=promoted) if promoted else found).alone()

    def encode(self, case: CaseDecl) -> Encoded:
        """Return a case of facts ready to run, or raise every reason why it cannot be."""
        gate = self.gate(case)
        stage = gate.bundle.ruleset(self.cases.ruleset).stage
        interner = gate.interner()
        facts = gate.encode(_facts(case.facts or (), gate.bundle, stage), interner)
        return Encoded(gate, stage, interner, tuple(facts))

    def run(self, case: CaseDecl) -> Judged:
        """Return how `case` came out; raises where it cannot be run."""
        return self._run_facts(case) if case.request is None else self.judge(case, self.whole(case))

    def evidence(self, case: CaseDecl) -> Evidence:
        """Return the program that `case` runs, and every fact and firing of its run."""
        if case.request is None:
            ready = self.encode(case)
            gate = ready.gate
            with gate.engine_of(ready.stage).session(gate.bundle.limits) as session:
                fired = session.advance(ready.stage, ready.facts)
            return Evidence(gate.bundle, ready.facts, tuple(fired))
        from ..pipeline import judge
        from ..runtime import runtime
        from ..stages._case import Case
        from ..stages._prepare import prepare

        bundle = self.whole(case)
        gate = runtime(bundle)
        record: Any = case.request["record"]
        run = judge(Case(case.request, prepare(record, bundle.limits), bundle, gate.lexicons), gate)
        return Evidence(bundle, tuple(run.facts), tuple(run.firings))

    def _run_facts(self, case: CaseDecl) -> Judged:
        ready = self.encode(case)
        gate = ready.gate
        with gate.engine_of(ready.stage).session(gate.bundle.limits) as session:
            fired = session.advance(ready.stage, ready.facts)
        rules, seen = gate.program.rules, observed(gate.program, ready.stage, ready.interner, fired)
        wrong = differences(case, seen, {rule.id for rule in rules})
        if not wrong:
            return Judged((), seen)
        known = gate.explainer(ready.facts, fired, ready.interner)
        lacking = [rule.number for rule in rules if rule.id in _firing(case) - seen.fired]
        near = (known.nearest(number) for number in lacking)
        return Judged(tuple(wrong), seen, tuple(known.firings()), tuple(miss for miss in near if miss))

    def judge(self, case: CaseDecl, bundle: Bundle) -> Judged:
        """Return how a case of a request comes out by `bundle`, which may be a changed one."""
        from ..pipeline import evaluate

        own = self.cases.ruleset
        decision = evaluate(case.request or {}, bundle, explain=True)
        found = frozenset(
            Found(finding["rule"], finding["verdict"], finding["reason"], finding["about"])
            for finding in decision.findings
            if finding["ruleset"] == own
        )
        firings = tuple(firing for firing in decision.firings or () if firing["rule"].startswith(f"{own}/"))
        fired = frozenset(firing["rule"].partition("/")[2] for firing in firings)
        seen = Observed(decision.status, decision.reason or "", found, fired)
        wrong = differences(case, seen, {rule.id for rule in bundle.program.rules if rule.ruleset == own})
        return Judged(tuple(wrong), seen, firings if wrong else ())


def observed(program: Program, stage: str, interner: Interner, fired: Sequence[Firing]) -> Observed:
    """Return what the firings of a case of facts show, in a run of `program` with the numbers of `interner`."""
    rules, name, finding = program.rules, interner.name, program.type_index("finding")
    heads = ((index, head, bound) for index, bound in fired for head in rules[index].heads if head.type == finding)
    found = frozenset(Found(rules[index].id, *map(name, derive(head, bound)[1:])) for index, head, bound in heads)
    spec = load_vocabulary().stages[stage]
    verdict = max((said.verdict for said in found), key=spec.verdicts.index, default=spec.default)
    return Observed(verdict, "", found, frozenset(rules[index].id for index, _ in fired))


def _promoted(case: CaseDecl, bundle: Bundle, own: str) -> _Names:
    """Return the experimental rules that a case names."""
    looking = bundle.trial.rules if bundle.trial else ()
    named = {f"{own}/{name}" for name in rules_of(case)}
    return tuple(name for name in looking if name in named)


def _firing(case: CaseDecl) -> frozenset[str]:
    """Return the rules that must fire, by what the case says."""
    expect = case.expect
    return frozenset(name.text for name in (*(finding.rule for finding in expect.findings), *expect.fires))


@functools.cache
def field_defaults() -> Mapping[str, Mapping[str, Value]]:
    """Return what a fact of a case holds in the fields that the case leaves out: fact type → field → value."""
    document = json.loads(data_path("schemas", "facts.json").read_bytes(), parse_float=Decimal)
    return {
        name: {field: spec["default"] for field, spec in entry["fields"].items()} for name, entry in document["facts"].items()
    }


def _facts(declared: Sequence[FactDecl], bundle: Bundle, stage: str) -> list[Fact]:
    """Return the facts of a case, or raise every reason why a stage could not have measured them."""
    problems = Problems()
    order = bundle.program.stages
    found = []
    for fact in declared:
        known = load_vocabulary().facts.get(fact.type.text)
        if known is None:
            near = did_you_mean(fact.type.text, load_vocabulary().facts)
            problems.add("policy-unknown-type", f"there is no fact type `{fact.type.text}`{near}", fact.type.source)
        elif order.index(known.stage) > order.index(stage):
            message = f"`{known.name}` is measured in stage `{known.stage}`, after `{stage}`"
            problems.add("policy-late-fact", message, fact.type.source)
        else:
            found.append((known.name, *_values(fact, known.fields, bundle, problems)))
    problems.stop_if_any()
    return found


def _values(fact: FactDecl, fields: Mapping[str, str], bundle: Bundle, problems: Problems) -> list[str | int]:
    given: dict[str, ScalarNode] = {}
    for key, scalar in fact.fields:
        if key.text in fields:
            given[key.text] = scalar
        else:
            near = did_you_mean(key.text, fields)
            problems.add("policy-unknown-field", f"`{fact.type.text}` has no field `{key.text}`{near}", key.source)
    values: list[str | int] = []
    for name, domain_name in fields.items():
        domain = _domain(domain_name, bundle)
        node = given.get(name)
        value = constant(node, domain) if node else encode(field_defaults()[fact.type.text][name], domain)
        if isinstance(value, Misfit):
            problems.add(value.code, f"{value.message} for `{name}` of `{fact.type.text}`", (node or fact.type).source)
        else:
            values.append(value)
    return values


def _domain(name: str, bundle: Bundle) -> Domain:
    domain = load_vocabulary().domains[name]
    return domain._replace(symbols=tuple(bundle.lexicons)) if name == "lexicon" else domain


def differences(case: CaseDecl, seen: Observed, rules: Collection[str]) -> list[str]:
    """Return what was expected and not found, and the other way round; nothing where everything agrees."""
    expect = case.expect
    named = [*(finding.rule for finding in expect.findings), *expect.fires, *expect.silent]
    unknown = sorted({name.text for name in named if name.text not in rules})
    wrong = [f"the rule set has no rule `{name}`{did_you_mean(name, rules)}" for name in unknown]
    if expect.outcome != seen.outcome:
        wrong.append(f"{'status' if case.facts is None else 'verdict'}: expected `{expect.outcome}`, got `{seen.outcome}`")
    if expect.reason != seen.reason:
        wrong.append(f"reason: expected `{expect.reason or 'none'}`, got `{seen.reason or 'none'}`")
    missing = [_show(want) for want in expect.findings if not any(_is(want, found) for found in seen.findings)]
    extra = [found.show() for found in sorted(seen.findings) if not any(_is(want, found) for want in expect.findings)]
    if missing:
        got = ", ".join(found.show() for found in sorted(seen.findings)) or "none"
        wrong.append(f"findings: expected {', '.join(missing)}, got {got}")
    if extra:
        wrong.append(f"findings: did not expect {', '.join(extra)}")
    wrong += [f"`{name.text}` should have fired" for name in expect.fires if name.text not in seen.fired]
    wrong += [f"`{name.text}` should have stayed silent" for name in expect.silent if name.text in seen.fired]
    return wrong


def summed_up(seen: Observed) -> str:
    """Return what was seen on one line."""
    return _one_line(seen.outcome, seen.reason, [found.show() for found in sorted(seen.findings)])


def wanted(case: CaseDecl) -> str:
    """Return what `case` expects on one line."""
    return _one_line(case.expect.outcome, case.expect.reason, [_show(want) for want in case.expect.findings])


def _one_line(outcome: str, reason: str, findings: Sequence[str]) -> str:
    said = f"{outcome}, {reason}" if reason else outcome
    return f"{said}; {', '.join(findings) or 'no finding'}"


def _is(want: ExpectedFinding, found: Found) -> bool:
    same = (want.rule.text, want.reason) == (found.rule, found.reason)
    return same and want.verdict in {None, found.verdict} and want.about in {None, found.about}


def _show(want: ExpectedFinding) -> str:
    verdict = f"{want.verdict}, " if want.verdict else ""
    return f"`{want.rule.text}` ({verdict}{want.reason})" + (f" about `{want.about}`" if want.about else "")
