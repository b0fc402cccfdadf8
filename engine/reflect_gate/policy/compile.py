"""From checked rule sets to a `Program`: symbols become numbers, types and rules get their places.

The result does not depend on the order of files, rules, tests or table rows: types are ordered by owner and name, symbols by
text, rules by stratum and name, tests by field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Final

from ..errors import Source
from .checked import Atom, CheckedPattern, CheckedRule, CheckedSet, Known, TypeInfo
from .model import EncodedFact, Head, Join, Pattern, Program, Rule, Stratum, Test, TypeDecl
from .problems import Problems
from .strata import Component, stratify

__all__ = ["MAX_ROWS", "MAX_RULES", "compile_program"]

MAX_RULES: Final = 400
MAX_ROWS: Final = 2_000


def compile_program(sets: Sequence[CheckedSet], names: Known, problems: Problems) -> Program | None:
    """Return the program of the rule sets that are on, `None` with problems where they break a limit or cannot be stratified."""
    before = len(problems)
    rules = [rule for checked in sets for rule in checked.rules]
    rows = [row for checked in sets for row in checked.rows]
    if len(rules) > MAX_RULES:
        problems.add("policy-limit", f"the bundle has {len(rules)} rules, more than {MAX_RULES}", None)
    if len(rows) > MAX_ROWS:
        problems.add("policy-limit", f"the tables of the bundle have {len(rows)} rows, more than {MAX_ROWS}", None)
    strata = [
        (stage, part) for stage in names.stages for part in stratify([rule for rule in rules if rule.stage == stage], problems)
    ]
    if len(problems) > before:
        return None
    return _Linker(sets, rules, rows, names).program(strata)


class _Linker:
    """Numbers of one program."""

    def __init__(
        self,
        sets: Sequence[CheckedSet],
        rules: Sequence[CheckedRule],
        rows: Sequence[tuple[TypeInfo, tuple[Atom, ...]]],
        names: Known,
    ) -> None:
        own = sorted((info for checked in sets for info in checked.types), key=lambda info: (info.owner, info.name))
        self._infos = (*names.measured.values(), names.finding, *own)
        self._types = {(info.owner, info.name): index for index, info in enumerate(self._infos)}
        # The empty text is what a finding without `about` says.
        texts = {"", *(symbol for domain in names.domains.values() for symbol in domain.symbols)}
        texts.update(value for _, values in rows for value in values if isinstance(value, str))
        texts.update(value for rule in rules for value in _atoms(rule) if isinstance(value, str))
        self._symbols = tuple(sorted(texts))
        self._numbers: Mapping[str, int] = {text: number for number, text in enumerate(self._symbols)}
        self._rows = rows
        self._stages = names.stages

    def program(self, strata: Sequence[tuple[str, Component]]) -> Program:
        """Return the program with these strata in this order."""
        rules: list[Rule] = []
        placed: list[Stratum] = []
        for stage, part in strata:
            members = range(len(rules), len(rules) + len(part.rules))
            rules.extend(self._rule(rule, index, len(placed)) for index, rule in zip(members, part.rules, strict=True))
            placed.append(Stratum(stage, tuple(members), part.recursive))
        types = (
            TypeDecl(info.name, info.fields, tuple(domain.name for domain in info.domains), info.owner) for info in self._infos
        )
        tables = sorted(self._fact(info, values) for info, values in self._rows)
        return Program(tuple(types), self._symbols, tuple(rules), tuple(placed), tuple(tables), self._stages)

    def _rule(self, rule: CheckedRule, index: int, stratum: int) -> Rule:
        return Rule(
            index,
            rule.id,
            rule.ruleset,
            rule.stage,
            stratum,
            rule.doc,
            tuple(map(self._pattern, rule.positive)),
            tuple(map(self._pattern, rule.negative)),
            tuple(Head(self._type(head.type), tuple(map(self._value, head.values))) for head in rule.heads),
            _short(rule.source),
            rule.maturity,
        )

    def _pattern(self, pattern: CheckedPattern) -> Pattern:
        tests = tuple(
            Test(test.position, test.field, test.op, self._operand(test.value), test.setting, _short(test.source))
            for test in pattern.tests
        )
        return Pattern(self._type(pattern.type), pattern.alias, pattern.negated, tests, _short(pattern.source))

    def _operand(self, value: Atom | tuple[Atom, ...] | Join) -> int | tuple[int, ...] | Join:
        if isinstance(value, tuple):
            return tuple(sorted(map(self._number, value)))
        return self._value(value)

    def _value(self, value: Atom | Join) -> int | Join:
        return value if isinstance(value, Join) else self._number(value)

    def _number(self, value: Atom) -> int:
        return self._numbers[value] if isinstance(value, str) else value

    def _type(self, info: TypeInfo) -> int:
        return self._types[info.owner, info.name]

    def _fact(self, info: TypeInfo, values: tuple[Atom, ...]) -> EncodedFact:
        return (self._type(info), *map(self._number, values))


def _atoms(rule: CheckedRule) -> Iterable[Atom]:
    for pattern in (*rule.positive, *rule.negative):
        for test in pattern.tests:
            if isinstance(test.value, tuple):
                yield from test.value
            elif not isinstance(test.value, Join):
                yield test.value
    for head in rule.heads:
        yield from (value for value in head.values if not isinstance(value, Join))


def _short(source: Source) -> Source:
    """Return the place with the file's bare name: decisions carry it, and they must not tell where the rules are installed."""
    return Source(PurePath(source.file).name, source.line, source.column)
