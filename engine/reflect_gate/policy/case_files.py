"""Case files: from YAML to `CasesFile`, with every fault of shape and the place of each case (`rules/<ruleset>.cases.yaml`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import PurePath
from typing import Final

from ..errors import Source
from .fields import Fields, as_map, as_scalar, as_text
from .problems import Problems
from .source import ListNode, MapNode, Node, ScalarNode, parse_document
from .values import Misfit, scalar_value

__all__ = ["CASES_SUFFIX", "CaseDecl", "CasesFile", "Expectation", "ExpectedFinding", "FactDecl", "load_cases"]

CASES_SUFFIX: Final = ".cases.yaml"

_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(frozen=True, slots=True)
class FactDecl:
    """One fact of a case; a field that is left out takes the default of the vocabulary."""

    type: ScalarNode
    fields: tuple[tuple[ScalarNode, ScalarNode], ...]


@dataclass(frozen=True, slots=True)
class ExpectedFinding:
    """A finding of the rule set that must be there; `verdict` and `about` are `None` where the case does not say."""

    rule: ScalarNode
    reason: str
    verdict: str | None
    about: str | None


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a case expects. `outcome` is the stage's verdict or the decision's status; `reason` the decision's, empty for none."""

    outcome: str
    reason: str
    findings: tuple[ExpectedFinding, ...]
    fires: tuple[ScalarNode, ...]
    silent: tuple[ScalarNode, ...]


@dataclass(frozen=True, slots=True)
class CaseDecl:
    """One case: `facts` for the rule set alone, or `request` for the whole pipeline. `bundle` is empty for the default one."""

    id: str
    source: Source
    facts: tuple[FactDecl, ...] | None
    request: Mapping[str, object] | None
    bundle: str
    expect: Expectation


@dataclass(frozen=True, slots=True)
class CasesFile:
    """The cases of one rule set, as written."""

    ruleset: str
    cases: tuple[CaseDecl, ...]
    file: str


def load_cases(data: bytes, file: str, problems: Problems) -> CasesFile | None:
    """Return the cases that `data` holds, or `None` where they cannot be read; `file` is the name that sources carry."""
    root = parse_document(data, file, problems)
    if root is None:
        return None
    fields = Fields(root, "a case file", problems, required=("ruleset", "cases"), optional=("doc",))
    ruleset, node = fields.name("ruleset"), fields.get("ruleset")
    stem = PurePath(file).name.removesuffix(CASES_SUFFIX)
    if ruleset and node and ruleset != stem:
        message = f"the cases of `{ruleset}` must stand in `{ruleset}{CASES_SUFFIX}`, not `{stem}{CASES_SUFFIX}`"
        problems.add("policy-name", message, node.source)
    cases: dict[str, CaseDecl] = {}
    for item in fields.items("cases"):
        case = _case(item, problems)
        if case is None:
            continue
        first = cases.setdefault(case.id, case)
        if first is not case:
            problems.add("policy-duplicate", f"case `{case.id}` stands twice, first in line {first.source.line}", case.source)
    listed = fields.get("cases")
    if isinstance(listed, ListNode) and not listed.items:
        problems.add("policy-shape", "a case file needs at least one case", listed.source)
    return CasesFile(ruleset, tuple(cases.values()), file) if ruleset else None


def _case(node: Node, problems: Problems) -> CaseDecl | None:
    parts = Fields(node, "a case", problems, required=("id", "expect"), optional=("doc", "facts", "request", "bundle"))
    case_id, bundle = parts.name("id"), parts.name("bundle")
    what = f"case `{case_id}`"
    of_facts = "facts" in parts
    if of_facts == ("request" in parts):
        problems.add("policy-shape", f"{what} needs either `facts` or `request`", node.source)
        return None
    if not of_facts and "bundle" not in parts:
        problems.add("policy-missing-key", f"{what} judges a whole request, so it needs the key `bundle`", node.source)
    expect = _expectation(parts.get("expect"), what, of_facts, problems)
    facts = tuple(fact for item in parts.items("facts") if (fact := _fact(item, problems))) if of_facts else None
    request = None if of_facts else _request(parts.get("request"), what, problems)
    id_node = parts.get("id")
    if not case_id or expect is None:
        return None
    return CaseDecl(case_id, id_node.source if id_node else node.source, facts, request, bundle, expect)


def _fact(node: Node, problems: Problems) -> FactDecl | None:
    entries = as_map(node, "a fact", problems)
    if len(entries) != 1:
        if isinstance(node, MapNode):
            problems.add("policy-shape", f"a fact has one key, its type; this one has {len(entries)}", node.source)
        return None
    kind, body = entries[0].key, entries[0].value
    fields = []
    for entry in as_map(body, f"the fields of `{kind.text}`", problems):
        value = as_scalar(entry.value, f"`{entry.key.text}` of `{kind.text}`", problems)
        if value is not None:
            fields.append((entry.key, value))
    return FactDecl(kind, tuple(fields))


def _expectation(node: Node | None, what: str, of_facts: bool, problems: Problems) -> Expectation | None:
    if node is None:
        return None
    kind = "verdict" if of_facts else "status"
    optional = ("fires", "silent") if of_facts else ("reason", "fires", "silent")
    parts = Fields(node, f"`expect` of {what}", problems, required=(kind, "findings"), optional=optional)
    outcome, reason = parts.text(kind), _reason(parts, problems)
    if not of_facts and not reason and outcome != "admitted":
        problems.add("policy-missing-key", f"`expect` of {what} needs the key `reason`", node.source)
    findings = tuple(found for item in parts.items("findings") if (found := _finding(item, problems)))
    fires, silent = _rule_names(parts, "fires", problems), _rule_names(parts, "silent", problems)
    return Expectation(outcome, reason, findings, fires, silent)


def _reason(parts: Fields, problems: Problems) -> str:
    """Return the decision's reason; a null says, as leaving it out does, that there is none."""
    node = parts.get("reason")
    if node is None or (isinstance(node, ScalarNode) and node.plain and node.text in _NULLS):
        return ""
    return as_text(node, f"`reason` of {parts.what}", problems)


def _rule_names(parts: Fields, key: str, problems: Problems) -> tuple[ScalarNode, ...]:
    return tuple(name for item in parts.items(key) if (name := as_scalar(item, f"an entry of `{key}`", problems)))


def _finding(node: Node, problems: Problems) -> ExpectedFinding | None:
    parts = Fields(node, "an expected finding", problems, required=("rule", "reason"), optional=("verdict", "about"))
    rule, reason = parts.scalar("rule"), parts.text("reason")
    verdict, about = (parts.text(key) if key in parts else None for key in ("verdict", "about"))
    return ExpectedFinding(rule, reason, verdict, about) if rule is not None else None


def _request(node: Node | None, what: str, problems: Problems) -> Mapping[str, object]:
    if not isinstance(node, MapNode):
        problems.add("policy-shape", f"`request` of {what} must be a mapping", node.source if node else None)
        return {}
    return {entry.key.text: _plain(entry.value, problems) for entry in node.entries}


def _plain(node: Node, problems: Problems) -> object:
    """Return a node as JSON data, by the strict reading of scalars that settings have."""
    if isinstance(node, MapNode):
        return {entry.key.text: _plain(entry.value, problems) for entry in node.entries}
    if isinstance(node, ListNode):
        return [_plain(item, problems) for item in node.items]
    if node.plain and node.text in _NULLS:
        return None
    value = scalar_value(node)
    if isinstance(value, Misfit):
        problems.add(value.code, value.message, node.source)
        return None
    return float(value) if isinstance(value, Decimal) else value
