"""Checks of a rule set against the vocabulary, its own declarations and the resolved settings.

What a rule may read is closed: measured types of its own or an earlier stage, conclusions of an earlier stage, and the tables and
derived types of its own rule set. Every name is looked up here; nothing undefined reaches an engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ..errors import did_you_mean
from ..facts import Domain
from .check_rule import check_rule
from .checked import Atom, CheckedRule, CheckedSet, Known, TypeInfo, no_verdict
from .parsed import ColumnsDecl, DeriveDecl, RuleFile, TableDecl
from .problems import Problems
from .source import ScalarNode
from .values import Misfit, constant

__all__ = ["check_ruleset"]


def check_ruleset(file: RuleFile, names: Known, problems: Problems) -> CheckedSet | None:
    """Return the checked rule set, `None` where its stage is unknown; every fault goes to `problems`."""
    stage = file.stage.text
    if stage not in names.vocabulary.stages:
        near = did_you_mean(stage, names.vocabulary.stages)
        problems.add("policy-unknown-stage", f"no stage `{stage}` concludes with a verdict{near}", file.stage.source)
        return None
    verdicts = names.vocabulary.stages[stage].verdicts
    if file.neutral.text not in verdicts:
        problems.add("policy-unknown-verdict", no_verdict(file.neutral.text, stage, verdicts), file.neutral.source)
    own = _own_types(file, names, problems)
    rows = [row for table in file.tables.values() if table.name in own for row in _rows(table, own[table.name], problems)]
    used: set[str] = set()
    checked = (check_rule(rule, file, own, names, used, problems) for rule in file.rules)
    rules = tuple(rule for rule in checked if rule)
    if not file.broken_rules:
        _refuse_unused(file, own, rules, used, problems)
    return CheckedSet(file.name, stage, file.neutral.text, tuple(own[name] for name in sorted(own)), tuple(rows), rules)


def _own_types(file: RuleFile, names: Known, problems: Problems) -> dict[str, TypeInfo]:
    own: dict[str, TypeInfo] = {}
    declarations: list[TableDecl | DeriveDecl] = [*file.tables.values(), *file.derive.values()]
    for declared in declarations:
        if declared.name in names.measured or declared.name == names.finding.name:
            problems.add("policy-reserved-type", f"`{declared.name}` is a fact type of the vocabulary", declared.source)
        elif declared.name in own:
            problems.add("policy-duplicate", f"`{declared.name}` is a table and a derived type", declared.source)
        else:
            fields, domains = _columns(declared.columns, names, problems)
            if len(domains) < len(fields):
                continue
            kind: Literal["table", "derived"] = "table" if isinstance(declared, TableDecl) else "derived"
            own[declared.name] = TypeInfo(declared.name, file.name, kind, "", fields, domains)
    return own


def _columns(columns: ColumnsDecl, names: Known, problems: Problems) -> tuple[tuple[str, ...], tuple[Domain, ...]]:
    """Return the fields by name, so that the order in which they are declared means nothing, with their domains."""
    fields, domains = [], []
    for field, wanted in sorted(columns, key=lambda column: column[0].text):
        domain = names.domains.get(wanted.text)
        if domain is None:
            near = did_you_mean(wanted.text, names.domains)
            problems.add("policy-unknown-domain", f"there is no domain `{wanted.text}`{near}", wanted.source)
        else:
            domains.append(domain)
        fields.append(field.text)
    return tuple(fields), tuple(domains)


def _rows(table: TableDecl, info: TypeInfo, problems: Problems) -> list[tuple[TypeInfo, tuple[Atom, ...]]]:
    found: dict[tuple[Atom, ...], int] = {}
    for source, cells in table.rows:
        values = _cells(info, cells, problems)
        if values is None:
            continue
        first = found.setdefault(values, source.line)
        if first != source.line:
            problems.add("policy-duplicate", f"this row of `{table.name}` stands twice, first in line {first}", source)
    return [(info, values) for values in found]


def _cells(info: TypeInfo, cells: Mapping[str, ScalarNode], problems: Problems) -> tuple[Atom, ...] | None:
    values: list[Atom] = []
    for field, domain in zip(info.fields, info.domains, strict=True):
        value = constant(cells[field], domain)
        if isinstance(value, Misfit):
            problems.add(value.code, f"`{field}`: {value.message}", cells[field].source)
        else:
            values.append(value)
    return tuple(values) if len(values) == len(info.fields) else None


def _refuse_unused(
    file: RuleFile, own: Mapping[str, TypeInfo], rules: tuple[CheckedRule, ...], used: set[str], problems: Problems
) -> None:
    """A derived type without a rule never holds, and a setting that nothing reads changes nothing: both are slips of the pen."""
    derived = {head.type.name for rule in rules for head in rule.heads}
    if len(rules) == len(file.rules):
        for declared in file.derive.values():
            if declared.name in own and own[declared.name].kind == "derived" and declared.name not in derived:
                problems.add("policy-never-derived", f"no rule derives `{declared.name}`", declared.source)
    for setting in file.settings.values():
        if setting.use == "rules" and setting.name not in used:
            message = f"no rule reads setting `{setting.name}`: write `use: python` if the measures of the stage do"
            problems.add("policy-unused-setting", message, setting.source)
