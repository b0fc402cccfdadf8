"""Lint rules about what is declared and never used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ...errors import Source
from ..checked import CheckedRule, CheckedSet, TypeInfo
from ..model import Join
from ..parsed import DeriveDecl, RuleDecl, TableDecl
from .logic import values_of
from .model import Edit, Found
from .world import World, shipped

__all__ = [
    "MEASURED_LEXICONS",
    "inert_override",
    "unread_fact",
    "unused_alias",
    "unused_derived_type",
    "unused_field",
    "unused_lexicon",
    "unused_setting",
    "unused_table",
]

MEASURED_LEXICONS: Final = frozenset({"hedges", "virtue-level"})
"""Lexicons that a measure reads by name, so that rules need not (`lesson.hedges`, `lesson.platitudes`)."""

_REFERENCE: Final = re.compile(r"\$([a-z][a-z0-9_]*)\.")


def unused_lexicon(world: World) -> Iterator[Found]:
    """Yield lexicons that no rule asks for; a rule that asks for hits of any lexicon uses them all."""
    read: set[int | str] = set(MEASURED_LEXICONS)
    for rule in world.rules:
        for pattern in (*rule.positive, *rule.negative):
            for position, domain in enumerate(pattern.type.domains):
                if domain.name != "lexicon" or pattern.type.kind != "measured":
                    continue
                tests = [test for test in pattern.tests if test.position == position]
                if not tests:
                    return
                for test in tests:
                    read |= values_of(test, domain).among or set()
    rows = {value for checked in world.checked.values() for _, row in checked.rows for value in row}
    for name, lexicon in world.lexicons.items():
        if name not in read and name not in rows:
            yield Found(name, f"no rule asks for hits of lexicon `{name}`", lexicon.source)


def unused_setting(world: World) -> Iterator[Found]:
    """Yield settings that are left to Python and that no measure reads; one that rules do not read does not load."""
    known = _python_settings()
    for file in world.rulesets.values():
        for setting in file.settings.values():
            key = f"{file.name}.{setting.name}"
            if setting.use == "python" and key not in known and not shipped(file.file):
                yield Found(key, f"no measure reads setting `{key}`, and `use: python` keeps it from the rules", setting.source)


def _python_settings() -> frozenset[str]:
    """Return the settings that the shipped rule sets leave to Python: what the measures read."""
    from ..reference import read_shipped

    rulesets, _ = read_shipped()
    return frozenset(f"{file.name}.{s.name}" for file in rulesets for s in file.settings.values() if s.use == "python")


def inert_override(world: World) -> Iterator[Found]:
    """Yield overrides that set what is so already."""
    for bundle in world.policies.bundles.values():
        before = world.bundles[bundle.extends].settings if bundle.extends in world.bundles else {}
        for change in bundle.settings:
            declared = world.setting(change.key)
            inherited = before.get(change.key)
            value = inherited.value if inherited else declared.default if declared else None
            if value is not None and value == change.value and type(value) is type(change.value):
                yield Found(
                    change.key, f"`{change.key}` is `{_shown(value)}` already: the override changes nothing", change.source
                )


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def unused_table(world: World) -> Iterator[Found]:
    """Yield tables that no rule reads."""
    for checked, declared in _types(world, "table"):
        if not _readers(checked, declared.name):
            yield Found(f"{checked.name}/{declared.name}", f"no rule reads table `{declared.name}`", declared.source)


def unused_derived_type(world: World) -> Iterator[Found]:
    """Yield derived types that rules derive and none reads."""
    for checked, declared in _types(world, "derived"):
        if not _readers(checked, declared.name):
            yield Found(f"{checked.name}/{declared.name}", f"no rule reads derived type `{declared.name}`", declared.source)


def unused_field(world: World) -> Iterator[Found]:
    """Yield columns of tables and fields of derived types that no rule reads, where their type has others that are read."""
    for kind in ("table", "derived"):
        for checked, declared in _types(world, kind):
            if len(declared.columns) < 2 or not _readers(checked, declared.name):
                continue
            read = _fields_read(checked, declared.name)
            for field, _ in declared.columns:
                if field.text not in read:
                    message = f"no rule reads `{field.text}` of `{declared.name}`"
                    yield Found(f"{checked.name}/{declared.name}", message, field.source)


def unread_fact(world: World) -> Iterator[Found]:
    """Yield fact types that the stages measure and no rule of these policies reads."""
    read = {pattern.type.name for rule in world.rules for pattern in (*rule.positive, *rule.negative)}
    for name, fact in world.vocabulary.facts.items():
        if name not in read:
            message = f"fact `{name}` of stage `{fact.stage}` is measured, and no rule reads it"
            yield Found(name, message, Source(world.policies.file, 1, 1))


def _types(world: World, kind: str) -> Iterator[tuple[CheckedSet, TableDecl | DeriveDecl]]:
    for name, checked in world.checked.items():
        file = world.rulesets[name]
        declared: list[TableDecl | DeriveDecl] = [*(file.tables if kind == "table" else file.derive).values()]
        for one in declared:
            yield checked, one


def _readers(checked: CheckedSet, name: str) -> list[CheckedRule]:
    return [
        rule for rule in checked.rules if any(_own(pattern.type, checked, name) for pattern in (*rule.positive, *rule.negative))
    ]


def _own(info: TypeInfo, checked: CheckedSet, name: str) -> bool:
    return info.owner == checked.name and info.name == name


def _fields_read(checked: CheckedSet, name: str) -> set[str]:
    """Return the fields of a private type that a test looks at, or that a join or a head takes the value of."""
    found: set[str] = set()
    for rule in checked.rules:
        joins = [value for head in rule.heads for value in head.values if isinstance(value, Join)]
        for pattern in (*rule.positive, *rule.negative):
            joins += [test.value for test in pattern.tests if isinstance(test.value, Join)]
            if _own(pattern.type, checked, name):
                found |= {test.field for test in pattern.tests}
        for join in joins:
            info = rule.positive[join.pattern].type
            if _own(info, checked, name):
                found.add(info.fields[join.position])
    return found


def unused_alias(world: World) -> Iterator[Found]:
    """Yield names of patterns that nothing in their rule refers to."""
    for file, rule in world.declared():
        used = set(_REFERENCE.findall("\n".join(_values(rule))))
        for pattern in rule.when:
            if pattern.alias and pattern.alias not in used:
                source = pattern.source
                edit = Edit(file.file, source.line, source.column, f"{pattern.type} as {pattern.alias}", pattern.type)
                yield Found(f"{file.name}/{rule.id}", f"nothing refers to `{pattern.type} as {pattern.alias}`", source, edit)


def _values(rule: RuleDecl) -> Iterator[str]:
    for pattern in rule.when:
        for test in pattern.tests:
            if not isinstance(test.value, tuple):
                yield test.value.text
    for head in rule.then:
        for _, value in head.fields:
            yield value.text
