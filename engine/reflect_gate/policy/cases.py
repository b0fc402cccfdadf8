"""Run what stands beside the rules: `rules/<ruleset>.cases.yaml` and the `cases` of each lexicon group.

A case of `facts` runs one rule set alone, its tables included, through every engine that can be had; a case of `request` runs the
whole pipeline and looks at what this rule set said in it. A case passes only when all of it agrees: the verdict or status, the
reason, the findings as a set, and what must fire or stay silent. Nothing that could not be run counts as passed: a broken file,
an unknown rule, a failing engine or an empty selection is itself a failed result.
"""

from __future__ import annotations

import fnmatch
import functools
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ..errors import ReflectGateError, Source, did_you_mean
from ..facts import Domain, Fact, load_vocabulary
from ..resources import data_path
from .build import durable_available
from .bundle import Bundle
from .case_files import CASES_SUFFIX, CaseDecl, CasesFile, ExpectedFinding, FactDecl, load_cases
from .lexicon_cases import CaseResult, run_lexicon_cases
from .loading import load_bundle
from .problems import Problems
from .source import ScalarNode
from .values import Misfit, Value, constant, encode

if TYPE_CHECKING:
    from ..runtime import Runtime

__all__ = ["CaseResult", "run_cases"]

_IS_LEXICON: Final = re.compile(rb"^lexicon:", re.MULTILINE)
_IS_POLICIES: Final = re.compile(rb"^policies:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Observed:
    """What a run showed of one rule set: the decision's or stage's outcome, its findings, and the ids of its rules that fired."""

    outcome: str
    reason: str
    findings: frozenset[_Found]
    fired: frozenset[str]


class _Found(NamedTuple):
    rule: str
    verdict: str
    reason: str
    about: str

    def show(self) -> str:
        return f"`{self.rule}` ({self.verdict}, {self.reason})" + (f" about `{self.about}`" if self.about else "")


def run_cases(paths: Iterable[str | Path], policies: str | Path | None = None, pattern: str | None = None) -> list[CaseResult]:
    """Return the result of every case found at `paths`, in the order of the files.

    Args:
        paths: case files, rule files (their case file is meant), lexicon files, or folders of them; policies are passed over.
        policies: the policies file that the rules are loaded by; as for `load_bundle` where absent.
        pattern: run only cases whose `ruleset/id` matches, `*` and `?` as in file names.

    Returns:
        At least one result; a selection without a case is a failed one, as is a file that cannot be read.
    """
    given = list(paths)
    results: list[CaseResult] = []
    for path in _files(given):
        results += _run_file(path, policies, pattern)
    if not results:
        wanted = f"`{pattern}` selects no case" if pattern else "no case was found"
        results.append(CaseResult("", "", False, wanted, ", ".join(str(path) for path in given), 0))
    return results


def _files(paths: Iterable[str | Path]) -> list[Path]:
    """Return the files to run, each once, in the order in which they were named."""
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        listed = sorted(path.rglob("*.yaml")) if path.is_dir() else [path]
        for file in listed:
            wanted = _beside(file) if _has_cases_beside(file) else file
            found.setdefault(wanted.resolve(), wanted)
    return list(found.values())


def _beside(path: Path) -> Path:
    return path.with_name(path.stem + CASES_SUFFIX)


def _has_cases_beside(path: Path) -> bool:
    return not path.name.endswith(CASES_SUFFIX) and _beside(path).is_file()


def _run_file(path: Path, policies: str | Path | None, pattern: str | None) -> list[CaseResult]:
    name = path.name.removesuffix(CASES_SUFFIX).removesuffix(".yaml")
    if pattern is not None and not _may_match(name, pattern):
        return []
    try:
        data = path.read_bytes()
    except OSError as error:
        return [CaseResult(name, "", False, f"the file cannot be read: {(error.strerror or 'unknown').lower()}", str(path), 0)]
    if _IS_POLICIES.search(data):
        return []
    is_lexicon = bool(_IS_LEXICON.search(data))
    if not is_lexicon and not path.name.endswith(CASES_SUFFIX):
        return [CaseResult(name, "", False, f"there is no `{name}{CASES_SUFFIX}`: a rule set needs cases", str(path), 1)]
    try:
        results = (run_lexicon_cases if is_lexicon else _run_ruleset)(data, str(path), policies)
    except ReflectGateError as error:
        return [_broken(name, fault, path) for fault in error.errors]
    return [result for result in results if pattern is None or fnmatch.fnmatchcase(f"{name}/{result.id}", pattern)]


def _may_match(name: str, pattern: str) -> bool:
    head, slash, _ = pattern.partition("/")
    return not slash or fnmatch.fnmatchcase(name, head)


def _broken(name: str, error: ReflectGateError, path: Path) -> CaseResult:
    source = error.source or Source(str(path))
    return CaseResult(name, "", False, f"{error.message} [{error.code}]", source.file, source.line)


def _run_ruleset(data: bytes, file: str, policies: str | Path | None) -> list[CaseResult]:
    problems = Problems()
    cases = load_cases(data, file, problems)
    problems.stop_if_any()
    if cases is None:
        raise ReflectGateError("policy-shape", "the file holds no cases", Source(file))
    bench = _Bench(cases, policies)
    return [bench.run(case) for case in cases.cases]


class _Bench:
    """The cases of one rule set; each bundle is loaded once."""

    def __init__(self, cases: CasesFile, policies: str | Path | None) -> None:
        self._ruleset = cases.ruleset
        self._file = cases.file
        self._policies = policies
        self._gates: dict[str, Runtime] = {}
        self._bundles: dict[str, Bundle] = {}

    def run(self, case: CaseDecl) -> CaseResult:
        """Return how `case` ended; whatever stops it from running fails it."""
        try:
            if case.request is None:
                gate = self._alone(case.bundle)
                rules, seen = gate.program.rules, _run_facts(case.facts or (), gate, self._ruleset)
            else:
                bundle = self._whole(case.bundle)
                rules, seen = bundle.program.rules, _run_request(case.request, bundle, self._ruleset)
            wrong = _differences(case, seen, {rule.id for rule in rules if rule.ruleset == self._ruleset})
        except ReflectGateError as error:
            wrong = [f"{fault.message} [{fault.code}]" for fault in error.errors]
        return CaseResult(self._ruleset, case.id, not wrong, "; ".join(wrong), self._file, case.source.line)

    def _alone(self, name: str) -> Runtime:
        """Return the bundle with every other rule set switched off, on both engines where the C module can be had."""
        if name not in self._gates:
            from ..runtime import Runtime

            wanted = load_bundle(name or None, policies=self._policies, enable=[self._ruleset], cache=False)
            others = [ruleset.name for ruleset in wanted.rulesets if ruleset.on and ruleset.name != self._ruleset]
            if others:
                wanted = load_bundle(name or None, policies=self._policies, enable=[self._ruleset], disable=others, cache=False)
            both = durable_available()
            self._gates[name] = Runtime(wanted._replace(engine="durable", cross_check=True) if both else wanted)
        return self._gates[name]

    def _whole(self, name: str) -> Bundle:
        if name not in self._bundles:
            self._bundles[name] = load_bundle(name, policies=self._policies, cache=False)
        return self._bundles[name]


def _run_facts(declared: Sequence[FactDecl], gate: Runtime, ruleset: str) -> _Observed:
    bundle = gate.bundle
    stage = bundle.ruleset(ruleset).stage
    interner = gate.interner()
    facts = gate.encode(_facts(declared, bundle, stage), interner)
    with gate.engine.session(bundle.limits) as session:
        fired = session.advance(stage, facts)
    rules, name = bundle.program.rules, interner.name
    found = frozenset(_Found(rules[rule].id, *map(name, values)) for rule, values in gate.finding_heads(fired))
    spec = load_vocabulary().stages[stage]
    verdict = max((finding.verdict for finding in found), key=spec.verdicts.index, default=spec.default)
    return _Observed(verdict, "", found, frozenset(rules[index].id for index, _ in fired))


def _run_request(request: Mapping[str, object], bundle: Bundle, ruleset: str) -> _Observed:
    from ..pipeline import evaluate

    decision = evaluate(request, bundle, explain=True)
    found = frozenset(
        _Found(finding["rule"], finding["verdict"], finding["reason"], finding["about"])
        for finding in decision.findings
        if finding["ruleset"] == ruleset
    )
    names = (firing["rule"].partition("/") for firing in decision.firings or ())
    fired = frozenset(rule for owner, _, rule in names if owner == ruleset)
    return _Observed(decision.status, decision.reason or "", found, fired)


@functools.cache
def _defaults() -> Mapping[str, Mapping[str, Value]]:
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
        value = constant(node, domain) if node else encode(_defaults()[fact.type.text][name], domain)
        if isinstance(value, Misfit):
            problems.add(value.code, f"{value.message} for `{name}` of `{fact.type.text}`", (node or fact.type).source)
        else:
            values.append(value)
    return values


def _domain(name: str, bundle: Bundle) -> Domain:
    domain = load_vocabulary().domains[name]
    return domain._replace(symbols=tuple(bundle.lexicons)) if name == "lexicon" else domain


def _differences(case: CaseDecl, seen: _Observed, rules: Collection[str]) -> list[str]:
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


def _is(want: ExpectedFinding, found: _Found) -> bool:
    same = (want.rule.text, want.reason) == (found.rule, found.reason)
    return same and want.verdict in {None, found.verdict} and want.about in {None, found.about}


def _show(want: ExpectedFinding) -> str:
    verdict = f"{want.verdict}, " if want.verdict else ""
    return f"`{want.rule.text}` ({verdict}{want.reason})" + (f" about `{want.about}`" if want.about else "")
