"""Rule-set files: from YAML to `RuleFile`, with every fault of shape; what names refer to is looked up later (`check.py`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import PurePath
from typing import Final, Literal, TypeGuard, get_args

from ..errors import Source
from .fields import Fields, as_items, as_map, as_name, as_scalar, no_such_key
from .load_maturity import KEYS, check_lives, read_life
from .model import Operator
from .parsed import ColumnsDecl, DeriveDecl, HeadDecl, PatternDecl, RuleDecl, RuleFile, SettingDecl, TableDecl, TestDecl
from .problems import Problems
from .source import ListNode, MapNode, Node, ScalarNode, parse_document
from .values import SNAKE, VERSION, Misfit, Value, scalar_value

__all__ = ["load_ruleset", "read_setting_value", "read_version"]

_REQUIRED: Final = ("ruleset", "version", "stage", "doc", "neutral")
_OPTIONAL: Final = ("settings", "tables", "derive", "rules")
_OPERATORS: Final[tuple[str, ...]] = tuple(op for op in get_args(Operator) if op != "eq")
_PATTERN: Final = re.compile(r"(?P<not>not )?(?P<type>[a-z][a-z0-9_]*)(?: as (?P<alias>[a-z][a-z0-9_]*))?")
_TEXT_LENGTH: Final = 200


def load_ruleset(data: bytes, file: str, problems: Problems) -> RuleFile | None:
    """Return the rule set that `data` holds, or `None` where it cannot even be named; `file` is the name that sources carry."""
    root = parse_document(data, file, problems)
    if root is None:
        return None
    fields = Fields(root, "a rule set", problems, required=_REQUIRED, optional=_OPTIONAL)
    name = fields.name("ruleset")
    stem = PurePath(file).stem
    if name and name != stem:
        problems.add(
            "policy-name", f"rule set `{name}` must stand in `{name}.yaml`, not `{stem}.yaml`", _place(fields, "ruleset")
        )
    version = read_version(fields, problems)
    stage, neutral, doc = fields.scalar("stage"), fields.scalar("neutral"), fields.text("doc")
    settings = _unique(_settings(fields, problems))
    tables = {table.name: table for table in _tables(fields, problems)}
    derive = {declared.name: declared for declared in _derive(fields, problems)}
    before = len(problems)
    rules = _rules(fields, problems)
    check_lives(rules, version, problems)
    broken = len(problems) > before
    lost = any(not isinstance(fields.get(key), MapNode | None) for key in ("settings", "tables", "derive"))
    if not name or stage is None or neutral is None or lost:
        return None
    source, attempted = _place(fields, "ruleset"), _attempted(fields)
    return RuleFile(name, version, stage, doc, neutral, settings, tables, derive, rules, file, source, attempted, broken)


def _attempted(fields: Fields) -> frozenset[str]:
    nodes = [fields.get(key) for key in ("settings", "tables", "derive")]
    return frozenset(entry.key.text for node in nodes if isinstance(node, MapNode) for entry in node.entries)


def _place(fields: Fields, key: str) -> Source:
    node = fields.get(key)
    return node.source if node else fields.source


def _unique(settings: list[SettingDecl]) -> Mapping[str, SettingDecl]:
    return {setting.name: setting for setting in settings}


def read_version(fields: Fields, problems: Problems) -> str:
    """Return the semantic version at `version`, empty with a problem where it is none."""
    scalar = fields.scalar("version")
    if scalar is None:
        return ""
    if VERSION.fullmatch(scalar.text):
        return scalar.text
    problems.add("policy-version", f"version `{scalar.text[:40]}` must be `MAJOR.MINOR.PATCH`", scalar.source)
    return ""


def read_setting_value(node: ScalarNode, problems: Problems) -> Value | None:
    """Return a setting's value, `None` with a problem where it is unclear or too long."""
    value = scalar_value(node)
    if isinstance(value, Misfit):
        problems.add(value.code, value.message, node.source)
        return None
    if isinstance(value, str) and not (0 < len(value) <= _TEXT_LENGTH and value.isprintable()):
        problems.add("policy-value", f"a setting's text has 1 to {_TEXT_LENGTH} printable characters", node.source)
        return None
    return value


def _settings(fields: Fields, problems: Problems) -> list[SettingDecl]:
    found = []
    for key, node in fields.entries("settings"):
        name = as_name(key, "setting", problems, SNAKE)
        if isinstance(node, ScalarNode):
            problems.add("policy-shape", f"setting `{key.text}` needs a doc: `{{default: {node.text}, doc: …}}`", node.source)
            continue
        what = f"setting `{key.text}`"
        parts = Fields(node, what, problems, required=("default", "doc"), optional=("minimum", "maximum", "use"))
        scalar, doc = parts.scalar("default"), parts.text("doc")
        default = read_setting_value(scalar, problems) if scalar else None
        low, high = _bound(parts, "minimum", problems), _bound(parts, "maximum", problems)
        use = _use(parts, problems)
        if name and scalar and default is not None:
            found.append(SettingDecl(name, default, doc, low, high, use, scalar.source))
    return found


def _bound(parts: Fields, key: str, problems: Problems) -> Decimal | None:
    scalar = parts.scalar(key)
    if scalar is None:
        return None
    value = scalar_value(scalar)
    if isinstance(value, bool | str | Misfit):
        problems.add("policy-value", f"`{key}` of {parts.what} must be a number, not `{scalar.text}`", scalar.source)
        return None
    return Decimal(value)


def _use(parts: Fields, problems: Problems) -> Literal["rules", "python"]:
    scalar = parts.scalar("use")
    if scalar is not None and scalar.text not in {"rules", "python"}:
        problems.add("policy-value", f"`use` of {parts.what} is `rules` or `python`, not `{scalar.text}`", scalar.source)
    return "rules" if scalar is None or scalar.text == "rules" else "python"


def _columns(node: Node, what: str, problems: Problems) -> ColumnsDecl:
    columns = []
    for entry in as_map(node, what, problems):
        domain = as_scalar(entry.value, f"the domain of `{entry.key.text}`", problems)
        if as_name(entry.key, "field", problems, SNAKE) and domain:
            columns.append((entry.key, domain))
    if isinstance(node, MapNode) and not node.entries:
        problems.add("policy-shape", f"{what} needs at least one field", node.source)
    return tuple(columns)


def _tables(fields: Fields, problems: Problems) -> list[TableDecl]:
    found = []
    for key, node in fields.entries("tables"):
        name = as_name(key, "table", problems, SNAKE)
        what = f"table `{key.text}`"
        parts = Fields(node, what, problems, required=("doc", "columns", "rows"))
        doc, columns_node = parts.text("doc"), parts.get("columns")
        columns = _columns(columns_node, f"`columns` of {what}", problems) if columns_node else ()
        rows = [row for row in (_row(item, columns, what, problems) for item in parts.items("rows")) if row]
        if name:
            found.append(TableDecl(name, doc, columns, tuple(rows), key.source))
    return found


def _row(node: Node, columns: ColumnsDecl, what: str, problems: Problems) -> tuple[Source, Mapping[str, ScalarNode]] | None:
    names = tuple(column.text for column, _ in columns)
    parts = Fields(node, f"a row of {what}", problems, required=names)
    cells = {name: cell for name in names if (cell := parts.scalar(name)) is not None}
    return (node.source, cells) if len(cells) == len(names) else None


def _derive(fields: Fields, problems: Problems) -> list[DeriveDecl]:
    found = []
    for key, node in fields.entries("derive"):
        name = as_name(key, "derived type", problems, SNAKE)
        columns = _columns(node, f"derived type `{key.text}`", problems)
        if name and columns:
            found.append(DeriveDecl(name, columns, key.source))
    return found


def _rules(fields: Fields, problems: Problems) -> tuple[RuleDecl, ...]:
    found: dict[str, RuleDecl] = {}
    for node in fields.items("rules"):
        rule = _rule(node, problems)
        if rule is None:
            continue
        first = found.setdefault(rule.id, rule)
        if first is not rule:
            problems.add("policy-duplicate", f"rule `{rule.id}` stands twice, first in line {first.source.line}", rule.source)
    return tuple(found.values())


def _rule(node: Node, problems: Problems) -> RuleDecl | None:
    before = len(problems)
    parts = Fields(node, "a rule", problems, required=("id", "doc", "when", "then"), optional=KEYS)
    rule_id, doc = parts.name("id"), parts.text("doc")
    when = [pattern for item in parts.items("when") if (pattern := _pattern(item, problems))]
    then = [head for item in parts.items("then") if (head := _head(item, problems))]
    for key in ("when", "then"):
        listed = parts.get(key)
        if isinstance(listed, ListNode) and not listed.items:
            problems.add("policy-shape", f"`{key}` of a rule needs at least one entry", listed.source)
    life = read_life(parts, problems)
    broken = len(problems) > before
    return RuleDecl(rule_id, doc, tuple(when), tuple(then), _place(parts, "id"), broken, *life) if rule_id else None


def _single(node: Node, what: str, problems: Problems) -> tuple[ScalarNode, Node] | None:
    entries = as_map(node, what, problems)
    if len(entries) == 1:
        return entries[0].key, entries[0].value
    if isinstance(node, MapNode):
        problems.add("policy-shape", f"{what} has one key, the fact type; this one has {len(entries)}", node.source)
    return None


def _pattern(node: Node, problems: Problems) -> PatternDecl | None:
    single = _single(node, "a pattern of `when`", problems)
    if single is None:
        return None
    key, body = single
    match = _PATTERN.fullmatch(key.text)
    if match is None or (match["not"] and match["alias"]):
        problems.add("policy-shape", f"`{key.text[:80]}` must be `type`, `type as name` or `not type`", key.source)
        return None
    if isinstance(body, ScalarNode):
        problems.add("policy-shape", f"the tests of `{key.text}` must be a mapping: write `{{}}` for none", key.source)
        return None
    tests: list[TestDecl] = []
    for entry in as_map(body, f"the tests of `{key.text}`", problems):
        tests.extend(_tests(entry.key, entry.value, problems))
    return PatternDecl(match["type"], match["alias"] or "", bool(match["not"]), tuple(tests), key.source)


def _tests(field: ScalarNode, node: Node, problems: Problems) -> list[TestDecl]:
    if isinstance(node, ScalarNode):
        return [TestDecl(field, "eq", node)]
    if isinstance(node, ListNode):
        problems.add("policy-shape", f"a list tests nothing by itself: write `{field.text}: {{in: […]}}`", node.source)
        return []
    if not node.entries:
        problems.add("policy-shape", f"the test of `{field.text}` needs one of {_choice()}", node.source)
    found = []
    for entry in node.entries:
        test = _test(field, entry.key, entry.value, problems)
        if test is not None:
            found.append(test)
    return found


def _test(field: ScalarNode, op: ScalarNode, node: Node, problems: Problems) -> TestDecl | None:
    if not _is_operator(op.text):
        no_such_key(op, _OPERATORS, f"the test of `{field.text}`", problems)
        return None
    what = f"`{op.text}` of `{field.text}`"
    if op.text != "in":
        scalar = as_scalar(node, what, problems)
        return TestDecl(field, op.text, scalar) if scalar else None
    items = as_items(node, what, problems)
    values = tuple(value for item in items if (value := as_scalar(item, f"a value of {what}", problems)))
    if isinstance(node, ListNode) and not items:
        problems.add("policy-shape", f"{what} lists nothing, so it never holds", node.source)
    return TestDecl(field, "in", values) if values else None


def _is_operator(text: str) -> TypeGuard[Operator]:
    return text in _OPERATORS


def _choice() -> str:
    return ", ".join(f"`{op}`" for op in _OPERATORS)


def _head(node: Node, problems: Problems) -> HeadDecl | None:
    single = _single(node, "an entry of `then`", problems)
    if single is None:
        return None
    key, body = single
    if not SNAKE.fullmatch(key.text):
        problems.add("policy-shape", f"`{key.text[:80]}` must be a fact type", key.source)
        return None
    fields = []
    for entry in as_map(body, f"the fields of `{key.text}`", problems):
        value = as_scalar(entry.value, f"`{entry.key.text}` of `{key.text}`", problems)
        if value is not None:
            fields.append((entry.key, value))
    return HeadDecl(key.text, tuple(fields), key.source)
