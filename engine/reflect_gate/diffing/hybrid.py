"""The second bundle with some of its changes taken back: put together from both sides' files, checked and compiled."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping

from ..policy.atoms import atoms
from ..policy.build import Parts, Resolved, assemble
from ..policy.bundle import Bundle, Group, Lexicon, Setting
from ..policy.parsed import DeriveDecl, RuleDecl, RuleFile, SettingDecl, TableDecl
from ..policy.problems import Problems
from ..policy.resolve import Choice
from .changes import Change, Kind, aligned
from .sides import Side

__all__ = ["reverted"]


def reverted(before: Side, after: Side, taken: Collection[Change]) -> Bundle:
    """Return `after` with the changes of `taken` as they are in `before`.

    Raises:
        ReflectGateError: where the parts do not fit together, such as a rule that reads what only the other side derives.
    """
    mixer = _Mixer(before, after, taken)
    parts = mixer.parts()
    return assemble(after.request, parts, mixer.resolved(parts), Problems())


class _Mixer:
    def __init__(self, before: Side, after: Side, taken: Collection[Change]) -> None:
        self._before = before
        self._after = after
        self._taken = {(change.kind, change.name) for change in taken if change.kind != "pattern"}
        self._patterns = {(change.name, change.before or change.after) for change in taken if change.kind == "pattern"}

    def _back(self, kind: Kind, name: str) -> bool:
        return (kind, name) in self._taken

    def parts(self) -> Parts:
        """Return the files: of each rule set those rules that are not taken back, with what they read and derive."""
        choices = dict(self._choices())
        rulesets = {name: self._file(name) for name in choices}
        policies = self._after.parts.policies
        first = self._before.parts.policies
        limits = policies.limits._replace(
            **{name: value for name, value in first.limits._asdict().items() if self._back("limit", name)}
        )
        engine = first if self._back("engine", "engine") else policies
        policies = dataclasses.replace(policies, limits=limits, mode=engine.mode, cross_check=engine.cross_check)
        lexicons = {**self._before.parts.lexicons, **self._after.parts.lexicons}
        return Parts(policies, self._after.parts.chain, choices, rulesets, lexicons, frozenset(), frozenset())

    def _choices(self) -> Iterator[tuple[str, Choice]]:
        first, second = self._before.parts.choices, self._after.parts.choices
        for name in sorted(first.keys() | second.keys()):
            choice = (first if self._back("ruleset", name) else second).get(name)
            if choice is not None:
                yield name, choice

    def _file(self, name: str) -> RuleFile:
        first, second = self._before.parts.rulesets.get(name), self._after.parts.rulesets.get(name)
        second = second or first
        first = first or second
        if first is None or second is None:  # pragma: no cover - a rule set that is chosen stands in one side's files
            raise KeyError(name)
        rules = tuple(map(_decides, self._rules(name)))
        read, derived = set(_texts(rules)), {head.type for rule in rules for head in rule.then}
        derive = {
            key: one for key, one in self._derived(name, first, second).items() if key in derived | self._looked_on(first, second)
        }
        settings = {**first.settings, **second.settings}
        return dataclasses.replace(
            second,
            neutral=(first if self._back("neutral", name) else second).neutral,
            rules=rules,
            settings={key: one for key, one in settings.items() if _is_read(one, read)},
            tables=self._tables(name, first, second),
            derive=derive,
            # Everything was read, so a name that is missing is a fault and not one that was told before.
            attempted=frozenset(),
            # Such a type is left without a rule that derives it.
            broken_rules=not derive.keys() <= derived,
        )

    def _looked_on(self, *files: RuleFile) -> set[str]:
        """Return the types that rules derive which decide on neither side: others may read them all the same."""
        decide = {rule.id for file in files for side in (self._before, self._after) for rule in side.deciding(file.name).values()}
        return {head.type for file in files for rule in file.rules if rule.id not in decide for head in rule.then}

    def _rules(self, name: str) -> Iterator[RuleDecl]:
        was, now = aligned(self._before.deciding(name), self._after.deciding(name))
        if name not in self._after.parts.rulesets or name not in self._before.parts.rulesets:
            yield from (was or now).values()
            return
        for rule_id in sorted(was.keys() | now.keys()):
            rule = (was if self._back("rule", f"{name}/{rule_id}") else now).get(rule_id)
            if rule is not None:
                yield rule

    def _tables(self, name: str, first: RuleFile, second: RuleFile) -> Mapping[str, TableDecl]:
        back = {key: one for key, one in first.tables.items() if self._back("table", f"{name}.{key}")}
        return {**first.tables, **second.tables, **back}

    def _derived(self, name: str, first: RuleFile, second: RuleFile) -> Mapping[str, DeriveDecl]:
        back = {key: one for key, one in first.derive.items() if self._back("derive", f"{name}.{key}")}
        return {**first.derive, **second.derive, **back}

    def resolved(self, parts: Parts) -> Resolved:
        """Return the settings that the files declare, and the lexicons, each as it is on the side that it is taken from."""
        declared = sorted(f"{file.name}.{name}" for file in parts.rulesets.values() for name in file.settings)
        settings = {key: setting for key in declared if (setting := self._setting(key)) is not None}
        return Resolved(settings, dict(self._lexicons()), self._after.resolved.changes)

    def _setting(self, key: str) -> Setting | None:
        first, second = self._before.resolved.settings.get(key), self._after.resolved.settings.get(key)
        return first if self._back("setting", key) or second is None else second

    def _lexicons(self) -> Iterator[tuple[str, Lexicon]]:
        first, second = self._before.resolved.lexicons, self._after.resolved.lexicons
        for name in sorted(first.keys() | second.keys()):
            known = second.get(name) or first[name]
            groups = _groups(first.get(name)), _groups(second.get(name))
            merged = tuple(self._group(name, key, *groups) for key in sorted(groups[0].keys() | groups[1].keys()))
            yield name, known._replace(groups=tuple(group for group in merged if group.patterns))

    def _group(self, lexicon: str, key: str, first: Mapping[str, Group], second: Mapping[str, Group]) -> Group:
        was = set(first[key].patterns) if key in first else set()
        now = set(second[key].patterns) if key in second else set()
        back = {pattern for pattern in was ^ now if (f"{lexicon}/{key}", pattern) in self._patterns}
        patterns = tuple(sorted(now ^ back))
        return (second.get(key) or first[key])._replace(patterns=patterns, atoms=tuple(map(atoms, patterns)))


def _decides(rule: RuleDecl) -> RuleDecl:
    """Return a rule that decides whatever it was: the mixed bundle knows no rules that look on."""
    return dataclasses.replace(rule, maturity="stable", replaced_by=None)


def _groups(lexicon: Lexicon | None) -> Mapping[str, Group]:
    return {group.id: group for group in lexicon.groups} if lexicon else {}


def _is_read(setting: SettingDecl, read: Collection[str]) -> bool:
    return setting.use == "python" or f"${setting.name}" in read


def _texts(rules: Collection[RuleDecl]) -> Iterator[str]:
    for rule in rules:
        for head in rule.then:
            yield from (value.text for _, value in head.fields)
        for test in (test for pattern in rule.when for test in pattern.tests):
            yield from (node.text for node in (test.value if isinstance(test.value, tuple) else (test.value,)))
