"""Bundles as plain lists and mappings for the cache, and back; the back way is on the hot path of every start.

The generated engine is kept as code, since reading its text takes longer than judging a request; a cache entry is therefore
good for one interpreter only, which its name says.
"""

from __future__ import annotations

import marshal
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from types import CodeType
from typing import Any, Final

from .._reading import loads
from ..config import Limits
from ..errors import Source
from .bundle import Bundle, Change, Group, Lexicon, Notice, RuleSet, Setting, SettingValue, Trial
from .model import Head, Join, Pattern, Program, Rule, Stratum, Test, TypeDecl

__all__ = ["KeptLexicons", "decode_bundle", "encode_bundle", "encode_program", "marshalled"]

_JOIN: Final = "j"
_LIST: Final = "l"


def encode_bundle(bundle: Bundle) -> dict[str, object]:
    """Return `bundle` as JSON data that `decode_bundle` turns into an equal one."""
    return {
        "name": bundle.name,
        "digest": bundle.digest,
        "as_of": bundle.as_of,
        "doc": bundle.doc,
        "file": bundle.file,
        "program": encode_program(bundle.program),
        "rulesets": _lists(bundle.rulesets),
        "lexicons": _lists(tuple(bundle.lexicons.values())),
        "settings": [
            [key, _value(found.value), found.doc, list(found.origin), found.reason, found.owner, found.expires]
            for key, found in bundle.settings.items()
        ],
        "changes": _lists(bundle.changes),
        "limits": list(bundle.limits),
        "engine": bundle.engine,
        "cross_check": bundle.cross_check,
        "measures": dict(bundle.measures),
        "code": _kept(bundle.generated),
        "trial": None if bundle.trial is None else _encode_trial(bundle.trial),
        "renamed": dict(bundle.renamed),
        "notices": _lists(bundle.notices),
    }


def _encode_trial(trial: Trial) -> dict[str, object]:
    return {
        "rules": list(trial.rules),
        "digest": trial.digest,
        "program": encode_program(trial.program),
        "rulesets": _lists(trial.rulesets),
        "code": _kept(trial.generated),
    }


def marshalled(generated: str | bytes | CodeType) -> bytes:
    """Return the generated engine as the bytes of its code."""
    return generated if isinstance(generated, bytes) else marshal.dumps(_code(generated))


def _kept(generated: str | bytes | CodeType) -> str:
    return b2a_base64(marshalled(generated), newline=False).decode()


def _code(generated: str | CodeType) -> CodeType:
    return generated if isinstance(generated, CodeType) else compile(generated, "<compiled bundle>", "exec")


def _loaded(text: str) -> CodeType:
    found = marshal.loads(a2b_base64(text))  # noqa: S302 -- an entry is the user's own file, whole by its digest
    if not isinstance(found, CodeType):
        raise TypeError("no code")
    return found


def _lists(value: object) -> object:
    """Return tuples, of whatever class, as lists."""
    return [_lists(part) for part in value] if isinstance(value, tuple) else value


def encode_program(program: Program, *, meaning_only: bool = False) -> dict[str, object]:
    """Return `program` as JSON data; with `meaning_only` without docs, aliases and places, which decide nothing."""
    files = [] if meaning_only else sorted({place.file for place in _places(program)})
    encoder = _Encoder({name: index for index, name in enumerate(files)}, meaning_only=meaning_only)
    return {
        "files": files,
        "types": [[decl.name, list(decl.fields), list(decl.domains), decl.owner] for decl in program.types],
        "symbols": list(program.symbols),
        "rules": [encoder.rule(rule) for rule in program.rules],
        "strata": [[stratum.stage, list(stratum.rules), stratum.recursive] for stratum in program.strata],
        "tables": [list(fact) for fact in program.tables],
        "stages": list(program.stages),
    }


def _places(program: Program) -> list[Source]:
    found = []
    for rule in program.rules:
        found.append(rule.source)
        for pattern in (*rule.positive, *rule.negative):
            found.append(pattern.source)
            found.extend(test.source for test in pattern.tests)
    return found


class _Encoder:
    def __init__(self, files: Mapping[str, int], *, meaning_only: bool) -> None:
        self._files = files
        self._bare = meaning_only

    def rule(self, rule: Rule) -> list[object]:
        body = [
            [self._pattern(pattern) for pattern in rule.positive],
            [self._pattern(pattern) for pattern in rule.negative],
            [[head.type, [_operand(value) for value in head.values]] for head in rule.heads],
        ]
        return [
            rule.id,
            rule.ruleset,
            rule.stage,
            rule.stratum,
            *body,
            *([] if self._bare else [rule.doc, self._place(rule.source), rule.maturity]),
        ]

    def _pattern(self, pattern: Pattern) -> list[object]:
        tests = [
            [
                test.position,
                test.field,
                test.op,
                _operand(test.value),
                test.setting,
                *([] if self._bare else [self._place(test.source)]),
            ]
            for test in pattern.tests
        ]
        return [pattern.type, tests, *([] if self._bare else [pattern.alias, self._place(pattern.source)])]

    def _place(self, source: Source) -> list[int]:
        return [self._files[source.file], source.line, source.column]


def _operand(value: int | tuple[int, ...] | Join) -> object:
    if isinstance(value, Join):
        return [_JOIN, value.pattern, value.position]
    return [_LIST, *value] if isinstance(value, tuple) else value


def _value(value: SettingValue) -> list[object]:
    return ["d", format(value, "f")] if isinstance(value, Decimal) else ["v", value]


class KeptLexicons(Mapping[str, Lexicon]):
    """Lexicons as JSON that is read when one is asked for: a process that looks after a store matches no phrases."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @cached_property
    def _found(self) -> Mapping[str, Lexicon]:
        return _lexicons(loads(self._data))

    def __getitem__(self, name: str) -> Lexicon:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def decode_bundle(data: Mapping[str, Any], lexicons: Mapping[str, Lexicon] | None = None, code: bytes = b"") -> Bundle:
    """Return the bundle that `encode_bundle` made `data` of; any `Exception` where it did not.

    With `lexicons` and `code` in place of its own, these are read when they are needed.
    """
    return Bundle(
        name=data["name"],
        digest=data["digest"],
        as_of=data["as_of"],
        doc=data["doc"],
        file=data["file"],
        program=_program(data["program"]),
        rulesets=_rulesets(data["rulesets"]),
        lexicons=_lexicons(data["lexicons"]) if lexicons is None else lexicons,
        settings={
            key: Setting(Decimal(value) if kind == "d" else value, doc, Source(*origin), reason, owner, expires)
            for key, (kind, value), doc, origin, reason, owner, expires in data["settings"]
        },
        changes=tuple(
            Change(kind, target, reason, owner, expires, Source(*origin), applied)
            for kind, target, reason, owner, expires, origin, applied in data["changes"]
        ),
        limits=Limits(*data["limits"]),
        engine=data["engine"],
        cross_check=data["cross_check"],
        measures=data["measures"],
        generated=code or _loaded(data["code"]),
        trial=None if data["trial"] is None else _trial(data["trial"]),
        renamed=data["renamed"],
        notices=tuple([Notice(code, message, Source(*origin)) for code, message, origin in data["notices"]]),
    )


def _lexicons(rows: Sequence[Any]) -> dict[str, Lexicon]:
    return {name: Lexicon(name, version, doc, tuple([_group(*entry) for entry in groups])) for name, version, doc, groups in rows}


def _rulesets(rows: Sequence[Any]) -> tuple[RuleSet, ...]:
    return tuple(
        [
            RuleSet(name, version, stage, on, neutral, doc, file, Source(*origin), decides)
            for name, version, stage, on, neutral, doc, file, origin, decides in rows
        ]
    )


def _trial(data: Mapping[str, Any]) -> Trial:
    rules, generated = tuple(data["rules"]), _loaded(data["code"])
    return Trial(rules, data["digest"], _program(data["program"]), _rulesets(data["rulesets"]), generated)


def _group(id_: str, doc: str, patterns: list[str], atoms: list[list[list[str]]]) -> Group:
    return Group(id_, doc, tuple(patterns), tuple([tuple(map(tuple, needs)) for needs in atoms]))


def _program(data: Mapping[str, Any]) -> Program:
    files: Sequence[str] = data["files"]
    return Program(
        tuple(TypeDecl(name, tuple(fields), tuple(domains), owner) for name, fields, domains, owner in data["types"]),
        tuple(data["symbols"]),
        tuple(_rule(index, entry, files) for index, entry in enumerate(data["rules"])),
        tuple(Stratum(stage, tuple(rules), recursive) for stage, rules, recursive in data["strata"]),
        tuple(map(tuple, data["tables"])),
        tuple(data["stages"]),
    )


def _rule(index: int, entry: Sequence[Any], files: Sequence[str]) -> Rule:
    id_, ruleset, stage, stratum, positive, negative, heads, doc, (file, line, column), maturity = entry
    return Rule(
        index,
        id_,
        ruleset,
        stage,
        stratum,
        doc,
        tuple([_pattern(parts, False, files) for parts in positive]),
        tuple([_pattern(parts, True, files) for parts in negative]),
        tuple([Head(type_, tuple([_plain(value) for value in values])) for type_, values in heads]),
        Source(files[file], line, column),
        maturity,
    )


def _pattern(parts: Sequence[Any], negated: bool, files: Sequence[str]) -> Pattern:
    type_, tests, alias, (file, line, column) = parts
    decoded = [
        Test(position, field, op, value if type(value) is int else _tagged(value), setting, Source(files[in_], at, column_))
        for position, field, op, value, setting, (in_, at, column_) in tests
    ]
    return Pattern(type_, alias, negated, tuple(decoded), Source(files[file], line, column))


def _plain(value: Any) -> int | Join:
    if type(value) is int:
        return value
    _, pattern, position = value
    return Join(pattern, position)


def _tagged(value: Sequence[Any]) -> tuple[int, ...] | Join:
    if value[0] == _JOIN:
        return Join(value[1], value[2])
    return tuple(value[1:])
