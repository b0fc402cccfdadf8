"""What is in force in one bundle and not in the other, as single changes that can each be taken back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

from ..errors import Source
from ..policy.parsed import DeriveDecl, PatternDecl, RuleDecl, RuleFile, TableDecl, TestDecl
from ..policy.source import ScalarNode
from ..policy.values import show
from .direction import Direction, of_neutral, of_pattern, of_rule, of_setting, of_toggle
from .sides import Side

__all__ = ["Change", "Kind", "aligned", "changes", "in_both", "rule_meaning"]

Kind: TypeAlias = Literal["ruleset", "rule", "maturity", "table", "derive", "neutral", "setting", "pattern", "limit", "engine"]


class Change(NamedTuple):
    """One change from the first bundle to the second.

    Attributes:
        kind: what changes.
        name: its name; a rule as `ruleset/rule`, a pattern by its group as `lexicon/group`.
        before: what it was, empty where it was not there.
        after: what it is, empty where it is gone.
        place: where it stands in the second bundle, else in the first.
        can: which way it can move a verdict of its stage.
        revert: the option that takes it back, empty where there is none.
    """

    kind: Kind
    name: str
    before: str
    after: str
    place: str
    can: Direction
    revert: str = ""

    @property
    def ruleset(self) -> str:
        """The rule set or lexicon that it belongs to; empty for limits and the engine."""
        return "" if self.kind in {"limit", "engine"} else self.name.partition("/")[0].partition(".")[0]


def changes(before: Side, after: Side) -> list[Change]:
    """Return every change that can make a decision differ, sorted by kind and name."""
    found = [
        *_toggles(before, after),
        *(change for name in in_both(before, after) for change in _contents(before, after, name)),
        *_settings(before, after),
        *_patterns(before, after),
        *_frame(before, after),
    ]
    return sorted(found, key=lambda change: (change.kind, change.name, change.before, change.after))


def in_both(before: Side, after: Side) -> list[str]:
    """Return the rule sets whose contents are compared: those of both sides, unless both have them off."""
    shared = before.parts.rulesets.keys() & after.parts.rulesets.keys()
    return sorted(name for name in shared if before.parts.choices[name].on or after.parts.choices[name].on)


def _state(side: Side, name: str) -> str:
    choice = side.parts.choices.get(name)
    return "" if choice is None else "on" if choice.on else "off"


def _toggles(before: Side, after: Side) -> Iterator[Change]:
    for name in sorted(before.parts.choices.keys() | after.parts.choices.keys()):
        was, now = _state(before, name), _state(after, name)
        if was == now:
            continue
        option = {"on": f"--enable {name}", "off": f"--disable {name}"}.get(was, "") if now else ""
        choice = after.parts.choices.get(name) or before.parts.choices[name]
        place = (after if name in after.parts.choices else before).place(choice.origin)
        yield Change("ruleset", name, was, now, place, of_toggle(before.bundle, after.bundle, name), option)


def _contents(before: Side, after: Side, name: str) -> Iterator[Change]:
    old, new = before.parts.rulesets[name], after.parts.rulesets[name]
    was, now = aligned(before.deciding(name), after.deciding(name))
    for rule_id in sorted(was.keys() | now.keys()):
        first, second = was.get(rule_id), now.get(rule_id)
        if _meaning(first) == _meaning(second):
            continue
        place = after.place(second.source) if second else before.place(first.source if first else None)
        can = of_rule(old.stage.text, first, second)
        yield Change("rule", f"{name}/{rule_id}", _text(first), _text(second), place, can)
    yield from _maturities(before, after, name)
    yield from _declared("table", before, after, name)
    yield from _declared("derive", before, after, name)
    if old.neutral.text != new.neutral.text:
        place, can = after.place(new.neutral.source), of_neutral(before.bundle, after.bundle, name)
        yield Change("neutral", name, old.neutral.text, new.neutral.text, place, can)


def aligned(
    first: Mapping[str, RuleDecl], second: Mapping[str, RuleDecl]
) -> tuple[Mapping[str, RuleDecl], Mapping[str, RuleDecl]]:
    """Return the rules of two sides by id, a renamed one by its new id on both."""
    return _by_new_id(first, second), _by_new_id(second, first)


def _by_new_id(rules: Mapping[str, RuleDecl], others: Mapping[str, RuleDecl]) -> dict[str, RuleDecl]:
    names = {old.text: other.id for other in others.values() for old in other.renamed_from if other.id not in rules}
    return {names.get(key, key): rule for key, rule in rules.items()}


def _maturities(before: Side, after: Side, ruleset: str) -> Iterator[Change]:
    """Yield how far along rules are, and what those say that look on: it decides nothing, and is told for that."""
    was, now = aligned(*({rule.id: rule for rule in side.parts.rulesets[ruleset].rules} for side in (before, after)))
    for rule_id in sorted(was.keys() | now.keys()):
        old, new = was.get(rule_id), now.get(rule_id)
        first, second = _life(before, ruleset, old), _life(after, ruleset, new)
        there = new or old
        if first != second and there is not None:
            place = (after if new else before).place(there.source)
            yield Change("maturity", f"{ruleset}/{rule_id}", first, second, place, "neither")


def _life(side: Side, ruleset: str, rule: RuleDecl | None) -> str:
    """Return how far along a rule is; of a stable one nothing is to be said."""
    if rule is None:
        return ""
    role = side.parts.roles.of(f"{ruleset}/{rule.id}", rule.maturity)
    if role == "looks-on":
        return f"looks on: {_text(rule)}"
    switched = "off, " if role == "off" else ""
    return f"{switched}{rule.maturity}" if switched or rule.maturity != "stable" else ""


def _declared(kind: Literal["table", "derive"], before: Side, after: Side, name: str) -> Iterator[Change]:
    was, now = _of_kind(kind, before.parts.rulesets[name]), _of_kind(kind, after.parts.rulesets[name])
    for key in sorted(was.keys() | now.keys()):
        first, second = _shape(was.get(key)), _shape(now.get(key))
        # A table without a reader and a derived type without a rule say nothing: what reads or derives them is compared itself.
        if first != second and first and second:
            yield Change(kind, f"{name}.{key}", first, second, after.place(now[key].source), "either")


def _of_kind(kind: str, file: RuleFile) -> Mapping[str, TableDecl | DeriveDecl]:
    return file.tables if kind == "table" else file.derive


def _shape(declared: TableDecl | DeriveDecl | None) -> str:
    if declared is None:
        return ""
    columns = sorted(f"{field.text}: {domain.text}" for field, domain in declared.columns)
    rows = (
        sorted(", ".join(f"{field}: {cell.text}" for field, cell in sorted(cells.items())) for _, cells in declared.rows)
        if isinstance(declared, TableDecl)
        else []
    )
    return "; ".join([", ".join(columns), *rows])


def _settings(before: Side, after: Side) -> Iterator[Change]:
    was, now = before.resolved.settings, after.resolved.settings
    for key in sorted(was.keys() & now.keys()):
        first, second = show(was[key].value), show(now[key].value)
        if first != second:
            can = of_setting(before, after, key)
            yield Change("setting", key, first, second, after.place(now[key].origin), can, f"--set {key}={first}")


def _patterns(before: Side, after: Side) -> Iterator[Change]:
    was, now = _all_patterns(before), _all_patterns(after)
    for lexicon, group, pattern in sorted(was ^ now):
        gone = (lexicon, group, pattern) in was
        side = before if gone else after
        can = of_pattern(before, after, lexicon, added=not gone)
        file = side.parts.lexicons[lexicon]
        found = [node.source for node in file.groups[group].patterns if node.text == pattern]
        # A pattern that a bundle adds stands in the policies file.
        place = side.place(found[0] if found else Source(side.bundle.file))
        yield Change("pattern", f"{lexicon}/{group}", pattern if gone else "", "" if gone else pattern, place, can)


def _all_patterns(side: Side) -> set[tuple[str, str, str]]:
    return {
        (lexicon.name, group.id, pattern)
        for lexicon in side.resolved.lexicons.values()
        for group in lexicon.groups
        for pattern in group.patterns
    }


def _frame(before: Side, after: Side) -> Iterator[Change]:
    place = after.place(Source(after.bundle.file))
    for name, first, second in zip(
        before.bundle.limits._fields, before.parts.policies.limits, after.parts.policies.limits, strict=True
    ):
        if first != second:
            yield Change("limit", name, str(first), str(second), place, "neither")
    was, now = _engine(before), _engine(after)
    if was != now:
        yield Change("engine", "engine", was, now, place, "neither")


def _engine(side: Side) -> str:
    declared = side.parts.policies
    return f"{declared.mode}, cross-checked" if declared.cross_check else declared.mode


def rule_meaning(rule: RuleDecl) -> tuple[object, object]:
    """Return what a rule says, whatever the order of its tests and heads, its doc and its place."""
    return [_pattern(pattern) for pattern in rule.when], sorted(
        (head.type, sorted((field.text, _scalar(value)) for field, value in head.fields)) for head in rule.then
    )


def _meaning(rule: RuleDecl | None) -> object:
    return None if rule is None else rule_meaning(rule)


def _pattern(pattern: PatternDecl) -> tuple[str, str, bool, list[tuple[str, str, object]]]:
    return pattern.type, pattern.alias, pattern.negated, sorted(map(_test, pattern.tests), key=repr)


def _test(test: TestDecl) -> tuple[str, str, object]:
    values = sorted(map(_scalar, test.value)) if isinstance(test.value, tuple) else _scalar(test.value)
    return test.field.text, test.op, values


def _scalar(node: ScalarNode) -> tuple[str, bool]:
    return node.text, node.plain


def _text(rule: RuleDecl | None) -> str:
    """Return a rule on one line, near to how it is written."""
    if rule is None:
        return ""
    whens = [
        f"{'not ' if pattern.negated else ''}{pattern.type}{f' as {pattern.alias}' if pattern.alias else ''}"
        f" {{{', '.join(map(_test_text, pattern.tests))}}}"
        for pattern in rule.when
    ]
    thens = [f"{head.type} {{{', '.join(f'{field.text}: {value.text}' for field, value in head.fields)}}}" for head in rule.then]
    return f"{'; '.join(whens)} → {'; '.join(thens)}"


def _test_text(test: TestDecl) -> str:
    value = f"[{', '.join(node.text for node in test.value)}]" if isinstance(test.value, tuple) else test.value.text
    return f"{test.field.text}: {value}" if test.op == "eq" else f"{test.field.text}: {{{test.op}: {value}}}"
