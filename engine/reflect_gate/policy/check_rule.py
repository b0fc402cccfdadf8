"""Checks of one rule: its patterns, tests, joins and heads."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

from ..errors import Source, did_you_mean
from ..facts import Domain
from .checked import (
    CONCLUSION,
    FINDING,
    Atom,
    CheckedHead,
    CheckedPattern,
    CheckedRule,
    CheckedTest,
    Known,
    TypeInfo,
    no_verdict,
)
from .model import Join
from .parsed import HeadDecl, PatternDecl, RuleDecl, RuleFile, TestDecl
from .problems import Problems
from .source import ScalarNode
from .values import Misfit, constant, encode

__all__ = ["MAX_PATTERNS", "MAX_VARIANTS", "check_rule"]

MAX_PATTERNS: Final = 12
MAX_VARIANTS: Final = 64

_ALIAS: Final = re.compile(r"\$(?P<alias>[a-z][a-z0-9_]*)\.(?P<field>[a-z][a-z0-9_]*)")
_SETTING: Final = re.compile(r"\$(?P<setting>[a-z][a-z0-9_]*)")
_REASON: Final = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")


def check_rule(
    rule: RuleDecl, file: RuleFile, own: Mapping[str, TypeInfo], names: Known, used: set[str], problems: Problems
) -> CheckedRule | None:
    """Return the checked rule, `None` where it has a fault; names of settings that it reads are added to `used`."""
    before = len(problems)
    checker = _RuleChecker(rule, file, own, names, problems)
    for pattern in rule.when:
        checker.pattern(pattern)
    heads = tuple(head for declared in rule.then if (head := checker.head(declared)))
    checker.finish()
    used |= checker.used
    if rule.broken or len(problems) > before:
        return None
    positive, negative = tuple(checker.positive), tuple(checker.negative)
    return CheckedRule(rule.id, file.name, file.stage.text, rule.doc, positive, negative, heads, rule.source, rule.maturity)


class _RuleChecker:
    """The aliases and patterns of one rule as they come; every fault goes to `problems`."""

    def __init__(self, rule: RuleDecl, file: RuleFile, own: Mapping[str, TypeInfo], names: Known, problems: Problems) -> None:
        self._rule = rule
        self._file = file
        self._own = own
        self._names = names
        self._problems = problems
        self._aliases: dict[str, tuple[int, TypeInfo]] = {}
        self._unread: set[str] = set()
        self.positive: list[CheckedPattern] = []
        self.negative: list[CheckedPattern] = []
        self.used: set[str] = set()

    def pattern(self, declared: PatternDecl) -> None:
        """Take one entry of `when`."""
        info = self._readable(declared.type, declared.source)
        if info is None:
            if declared.alias:
                self._unread.add(declared.alias)
            return
        found = (self._test(test, info) for test in declared.tests)
        tests = sorted((test for test in found if test), key=lambda test: (test.position, test.op))
        if info.name == CONCLUSION and info.kind == "measured":
            self._conclusion(declared)
        pattern = CheckedPattern(info, declared.alias, declared.negated, tuple(tests), declared.source)
        if declared.negated:
            self.negative.append(pattern)
            return
        if declared.alias in self._aliases:
            self._problems.add("policy-duplicate", f"two patterns are called `{declared.alias}`", declared.source)
        elif declared.alias:
            self._aliases[declared.alias] = (len(self.positive), info)
        self.positive.append(pattern)

    def finish(self) -> None:
        """Check what only the whole rule shows."""
        rule = self._rule
        if rule.when and not rule.broken and all(pattern.negated for pattern in rule.when):
            message = f"rule `{rule.id}` only says what is absent: begin with a fact that is always there, such as `record: {{}}`"
            self._problems.add("policy-no-positive", message, rule.source)
        if len(rule.when) > MAX_PATTERNS:
            self._problems.add(
                "policy-limit", f"rule `{rule.id}` has {len(rule.when)} patterns, more than {MAX_PATTERNS}", rule.source
            )
        variants = math.prod(len(test.value) for when in rule.when for test in when.tests if isinstance(test.value, tuple))
        if variants > MAX_VARIANTS:
            message = f"the lists of `in` in rule `{rule.id}` make {variants} variants of it, more than {MAX_VARIANTS}"
            self._problems.add("policy-limit", message, rule.source)

    def _readable(self, name: str, source: Source) -> TypeInfo | None:
        if name == FINDING:
            self._problems.add(
                "policy-unknown-type", "a rule cannot read findings: derive a type of your own and read that", source
            )
            return None
        info = self._own.get(name) or self._names.measured.get(name)
        if info is None:
            self._unknown_type(name, source)
            return None
        order = self._names.stages
        if info.kind == "measured" and order.index(info.stage) > order.index(self._file.stage.text):
            message = f"`{name}` is measured in stage `{info.stage}`, after stage `{self._file.stage.text}` of this rule set"
            self._problems.add("policy-late-fact", message, source)
            return None
        return info

    def _unknown_type(self, name: str, source: Source) -> None:
        if name in self._file.attempted:
            return
        owner = self._names.private.get(name)
        if owner:
            message = f"`{name}` is private to rule set `{owner}`: stages talk through `{CONCLUSION}` facts"
            self._problems.add("policy-private-type", message, source)
            return
        near = did_you_mean(name, [*self._own, *self._names.measured])
        self._problems.add("policy-unknown-type", f"there is no fact type `{name}`{near}", source)

    def _position(self, field: ScalarNode, info: TypeInfo) -> int | None:
        if field.text in info.fields:
            return info.fields.index(field.text)
        near = did_you_mean(field.text, info.fields)
        choice = "" if near else f"; it has {', '.join(f'`{name}`' for name in info.fields)}"
        self._problems.add("policy-unknown-field", f"`{info.name}` has no field `{field.text}`{near}{choice}", field.source)
        return None

    def _test(self, test: TestDecl, info: TypeInfo) -> CheckedTest | None:
        position = self._position(test.field, info)
        if position is None:
            return None
        domain = info.domains[position]
        place = f"{info.name}.{test.field.text}"
        if test.op in {"lt", "lte", "gt", "gte"} and domain.kind not in {"count", "scaled"}:
            message = f"`{test.op}` compares numbers, and `{place}` is a {domain.kind}: use an equality, `ne` or `in`"
            self._problems.add("policy-operator", message, test.field.source)
            return None
        if isinstance(test.value, tuple):
            values = self._list(test.value, domain)
            return CheckedTest(position, test.field.text, test.op, values, "", test.field.source) if values else None
        value, setting = self._value(test.value, domain, place)
        return None if value is None else CheckedTest(position, test.field.text, test.op, value, setting, test.field.source)

    def _list(self, nodes: tuple[ScalarNode, ...], domain: Domain) -> tuple[Atom, ...]:
        found: dict[Atom, None] = {}
        for node in nodes:
            if node.text.startswith("$"):
                self._problems.add("policy-value", f"`in` lists constants, not `{node.text}`", node.source)
                continue
            value = self._constant(node, domain)
            if value is None:
                continue
            if value in found:
                self._problems.add("policy-duplicate", f"`{node.text}` stands twice", node.source)
            found[value] = None
        return tuple(found)

    def _constant(self, node: ScalarNode, domain: Domain) -> Atom | None:
        value = constant(node, domain)
        if isinstance(value, Misfit):
            self._problems.add(value.code, value.message, node.source)
            return None
        return value

    def _value(self, node: ScalarNode, domain: Domain, place: str) -> tuple[Atom | Join | None, str]:
        if not node.text.startswith("$"):
            return self._constant(node, domain), ""
        setting = _SETTING.fullmatch(node.text)
        if setting:
            return self._setting(setting["setting"], node, domain, place)
        found = self._join(node)
        if found is None:
            return None, ""
        join, other = found
        if _comparable(domain, other):
            return join, ""
        message = f"`{node.text}` is a `{other.name}`, which never equals a `{domain.name}` such as `{place}`"
        self._problems.add("policy-join", message, node.source)
        return None, ""

    def _setting(self, name: str, node: ScalarNode, domain: Domain, place: str) -> tuple[Atom | None, str]:
        key = f"{self._file.name}.{name}"
        setting = self._names.settings.get(key)
        if setting is None:
            if name not in self._file.attempted:
                own = self._file.settings
                hint = f": write `${name}.field` for a pattern's field" if name in self._aliases else did_you_mean(name, own)
                self._problems.add("policy-unknown-setting", f"this rule set has no setting `{name}`{hint}", node.source)
            return None, ""
        self.used.add(name)
        value = encode(setting.value, domain)
        if not isinstance(value, Misfit):
            return value, key
        overridden = setting.origin.file != self._file.file
        where = f" (read at {node.source})" if overridden else ""
        message = f"setting `{key}` does not suit `{place}`: {value.message}{where}"
        self._problems.add(value.code, message, setting.origin if overridden else node.source)
        return None, ""

    def _join(self, node: ScalarNode) -> tuple[Join, Domain] | None:
        match = _ALIAS.fullmatch(node.text)
        if match is None:
            self._problems.add("policy-value", f"`{node.text[:80]}` must be `$name.field` or `$setting`", node.source)
            return None
        found = self._aliases.get(match["alias"])
        if found is None:
            if match["alias"] not in self._unread and not self._rule.broken:
                near = did_you_mean(match["alias"], self._aliases)
                message = f"no earlier positive pattern is called `{match['alias']}`{near}: name one with `type as name`"
                self._problems.add("policy-unknown-alias", message, node.source)
            return None
        index, info = found
        position = self._position(ScalarNode(match["field"], True, node.source), info)
        return None if position is None else (Join(index, position), info.domains[position])

    def _conclusion(self, declared: PatternDecl) -> None:
        """Hold a conclusion to naming the earlier stage that it means, and verdicts to being that stage's."""
        stages = list(self._names.vocabulary.stages)
        earlier = stages[: stages.index(self._file.stage.text)]
        named = [test.value for test in declared.tests if test.field.text == "stage" and test.op == "eq"]
        stage = named[0] if named else None
        if not isinstance(stage, ScalarNode) or stage.text.startswith("$"):
            source = stage.source if isinstance(stage, ScalarNode) else declared.source
            self._problems.add("policy-conclusion", f"`{CONCLUSION}` must name the stage it means: `stage: <name>`", source)
            return
        if stage.text not in earlier:
            if stage.text in stages:
                message = f"stage `{stage.text}` has not concluded when stage `{self._file.stage.text}` runs"
                self._problems.add("policy-conclusion", message, stage.source)
            return
        verdicts = self._names.vocabulary.stages[stage.text].verdicts
        for test in declared.tests:
            values = test.value if isinstance(test.value, tuple) else (test.value,)
            for value in values:
                if test.field.text == "verdict" and not value.text.startswith("$") and value.text not in verdicts:
                    self._wrong_verdict(value, stage.text, verdicts)

    def _wrong_verdict(self, value: ScalarNode, stage: str, verdicts: tuple[str, ...]) -> None:
        if value.text not in self._names.domains["verdict"].symbols:
            return
        self._problems.add("policy-unknown-verdict", no_verdict(value.text, stage, verdicts), value.source)

    def head(self, declared: HeadDecl) -> CheckedHead | None:
        """Return one checked entry of `then`."""
        info = self._derivable(declared)
        if info is None:
            return None
        given: dict[str, Atom | Join] = {"about": ""} if info.kind == "finding" else {}
        missing = set(info.fields) - set(given) - {field.text for field, _ in declared.fields}
        if missing and not self._rule.broken:
            named = ", ".join(f"`{name}`" for name in info.fields if name in missing)
            self._problems.add("policy-head", f"`{info.name}` needs {named}", declared.source)
        for field, node in declared.fields:
            position = self._position(field, info)
            value = None if position is None else self._head_value(field.text, node, info, info.domains[position])
            if value is not None:
                given[field.text] = value
        complete = all(name in given for name in info.fields)
        return CheckedHead(info, tuple(given[name] for name in info.fields)) if complete else None

    def _derivable(self, declared: HeadDecl) -> TypeInfo | None:
        name = declared.type
        if name == FINDING:
            return self._names.finding
        info = self._own.get(name)
        if info is not None and info.kind == "derived":
            return info
        if info is not None or name in self._names.measured:
            what = "a table" if info is not None else "measured"
            self._problems.add(
                "policy-head", f"`{name}` is {what}: a rule derives `{FINDING}` or a type under `derive`", declared.source
            )
        elif name not in self._file.attempted:
            near = did_you_mean(name, [FINDING, *self._file.derive])
            self._problems.add("policy-unknown-type", f"no type `{name}` is declared under `derive`{near}", declared.source)
        return None

    def _head_value(self, field: str, node: ScalarNode, info: TypeInfo, domain: Domain) -> Atom | Join | None:
        place = f"{info.name}.{field}"
        if info.kind == "finding" and field in {"verdict", "reason"}:
            return self._finding_word(field, node)
        if not node.text.startswith("$"):
            return self._constant(node, domain)
        if _SETTING.fullmatch(node.text):
            self._problems.add("policy-head", f"`{place}` takes a constant or `$name.field`, not a setting", node.source)
            return None
        found = self._join(node)
        if found is None:
            return None
        join, source = found
        if _fits(domain, source):
            return join
        self._problems.add("policy-head", f"`{node.text}` is a `{source.name}`, which `{place}` does not hold", node.source)
        return None

    def _finding_word(self, field: str, node: ScalarNode) -> str | None:
        if field == "reason":
            if _REASON.fullmatch(node.text) and len(node.text) <= 64:
                return node.text
            self._problems.add(
                "policy-name", f"reason `{node.text[:80]}` must be a constant kebab-case or snake_case id", node.source
            )
            return None
        verdicts = self._names.vocabulary.stages[self._file.stage.text].verdicts
        if node.text in verdicts:
            return node.text
        self._problems.add("policy-unknown-verdict", no_verdict(node.text, self._file.stage.text, verdicts), node.source)
        return None


def _comparable(one: Domain, other: Domain) -> bool:
    """Whether values of two domains can be equal and mean the same."""
    if one.kind != other.kind or one.scale != other.scale:
        return False
    return one.kind != "symbol" or not set(one.symbols).isdisjoint(other.symbols)


def _fits(target: Domain, source: Domain) -> bool:
    """Whether every value of `source` is one of `target`; an id may be any symbol."""
    if target.kind == "id":
        return source.kind in {"id", "symbol"}
    if target.kind != source.kind or target.scale != source.scale:
        return False
    if target.kind == "symbol":
        return set(source.symbols) <= set(target.symbols)
    return target.minimum <= source.minimum and source.maximum <= target.maximum
