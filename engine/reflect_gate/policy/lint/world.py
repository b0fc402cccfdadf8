"""Everything that lint rules look at: every file beside the policies as written, and as checked against each other.

Rule sets that no bundle names are read too. What does not load is no matter for lint: every such fault is raised here.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from ..._canonical import digest
from ...config import choose_policies
from ...errors import ReflectGateError, Source, raise_all
from ...facts import Vocabulary, load_vocabulary
from ...resources import data_path
from ..build import Inputs, lexicon_files, read_policies, ruleset_files
from ..bundle import Change, Notice, Setting
from ..case_files import CASES_SUFFIX, CasesFile, load_cases
from ..check import check_ruleset
from ..checked import CheckedRule, CheckedSet, Known, known
from ..codec import encode_program
from ..compile import compile_program
from ..headers import kind_of
from ..load import load_ruleset
from ..load_lexicon import load_lexicon
from ..model import Program
from ..naming import with_live_names
from ..parsed import LexiconFile, PoliciesFile, RuleDecl, RuleFile, SettingDecl
from ..problems import Problems
from ..resolve import resolve_chain, resolve_lexicons, resolve_rulesets, resolve_settings
from ..roles import Roles, old_names, resolve_roles
from ..source import ListNode, MapNode, Node, parse_document
from ..values import parse_date

__all__ = ["Resolved", "World", "names_of_world", "read_world", "shipped"]


class Resolved(NamedTuple):
    """What one bundle makes of it: rule sets on or off, the values of settings, the overrides that it names, single rules."""

    on: Mapping[str, bool]
    settings: Mapping[str, Setting]
    changes: tuple[Change, ...]
    roles: Roles


@dataclass(frozen=True)
class World:
    """The policies and every file beside them; `texts` are the files as text, by path."""

    policies: PoliciesFile
    rulesets: Mapping[str, RuleFile]
    lexicons: Mapping[str, LexiconFile]
    cases: Mapping[str, CasesFile]
    checked: Mapping[str, CheckedSet]
    bundles: Mapping[str, Resolved]
    texts: Mapping[str, str]
    program: Program
    vocabulary: Vocabulary
    as_of: str
    old_names: tuple[Notice, ...] = ()
    """Where case files use names that rules had before; `cases` holds the live ones."""

    @cached_property
    def meaning(self) -> str:
        """The digest of all that decides or is tested: rules without their docs and aliases, lexicons, cases, bundles.

        Rules go by their live names, since an old one says the same.
        """
        others = ((file, text) for file, text in sorted(self.texts.items()) if kind_of(text) != "rules")
        trees = {file: _bare(file, text, self.live_names(file)) for file, text in others}
        return digest({"program": encode_program(self.program, meaning_only=True), "files": trees})

    @cached_property
    def rules(self) -> tuple[CheckedRule, ...]:
        """Every rule of every rule set."""
        return tuple(rule for checked in self.checked.values() for rule in checked.rules)

    @cached_property
    def renamed(self) -> Mapping[str, str]:
        """The live name of each old one, as `ruleset/rule`."""
        return old_names(self.rulesets.values())

    def live_names(self, file: str) -> Mapping[str, str]:
        """Return the live names of rules by old ones, as a file names rules: a case file without their rule set."""
        path = Path(file)
        if not path.name.endswith(CASES_SUFFIX):
            return self.renamed
        prefix = f"{path.name.removesuffix(CASES_SUFFIX)}/"
        own = {old: now for old, now in self.renamed.items() if old.startswith(prefix)}
        return {old.removeprefix(prefix): now.removeprefix(prefix) for old, now in own.items()}

    @cached_property
    def looking_on(self) -> frozenset[str]:
        """The experimental rules that no bundle lets decide."""
        promoted = {name for bundle in self.bundles.values() for name in bundle.roles.promoted}
        return frozenset(rule.name for rule in self.rules if rule.maturity == "experimental") - promoted

    def declared(self) -> Iterator[tuple[RuleFile, RuleDecl]]:
        """Yield each rule as written, with its file."""
        for file in self.rulesets.values():
            for rule in file.rules:
                yield file, rule

    def setting(self, key: str) -> SettingDecl | None:
        """Return the declaration of `ruleset.setting`."""
        ruleset, _, name = key.partition(".")
        file = self.rulesets.get(ruleset)
        return file.settings.get(name) if file else None


def _bare(file: str, text: str, names: Mapping[str, str]) -> object:
    """Return what a file says, without places and docs, and with other names for some texts."""
    return _plain(parse_document(text.encode("utf-8"), file, Problems()), names)


def _plain(node: Node | None, names: Mapping[str, str]) -> object:
    if isinstance(node, MapNode):
        return {entry.key.text: _plain(entry.value, names) for entry in node.entries if entry.key.text != "doc"}
    if isinstance(node, ListNode):
        return [_plain(item, names) for item in node.items]
    return None if node is None else [names.get(node.text, node.text), node.plain]


def read_world(policies: str | Path | None = None, as_of: str | None = None, instead: Mapping[str, str] | None = None) -> World:
    """Return what the policies file (or its folder; else the one in force) and its folders hold; raises what does not load.

    `instead` maps files to texts that stand in for what they hold.
    """
    problems, inputs = Problems(), _Overlay(instead=instead or {})
    path = choose_policies(policies).path.absolute()
    declared = read_policies(path, inputs, problems)
    if declared is None:
        problems.stop_if_any()
        raise ReflectGateError("policy-file", "the policies could not be read", Source(str(path)))
    today = as_of or dt.datetime.now(dt.UTC).date().isoformat()
    if not parse_date(today):
        raise ReflectGateError("policy-date", f"`as_of` must be a date `YYYY-MM-DD`, not `{today[:40]}`")
    texts = {str(path): (inputs.read(path, problems) or b"").decode("utf-8", "replace")}
    reader = _Reader(texts, inputs, problems)
    rulesets = reader.rulesets(declared)
    lexicons = reader.lexicons(declared)
    cases = reader.cases(declared)
    vocabulary = load_vocabulary()
    names = _names(rulesets, lexicons, vocabulary, today, problems)
    found = {name: check_ruleset(file, names, problems) for name, file in sorted(rulesets.items())}
    checked = {name: part for name, part in found.items() if part is not None}
    problems.stop_if_any()
    program = compile_program(list(checked.values()), names, problems)
    bundles = {name: _resolve(declared, name, rulesets, lexicons, today, problems) for name in declared.bundles}
    raise_all({str(error): error for error in problems.errors}.values())
    if program is None:
        raise ReflectGateError("policy-file", "the rules could not be compiled", Source(str(path)))
    cases, notices = _live(cases, rulesets)
    return World(declared, rulesets, lexicons, cases, checked, bundles, texts, program, vocabulary, today, notices)


def _live(cases: Mapping[str, CasesFile], rulesets: Mapping[str, RuleFile]) -> tuple[dict[str, CasesFile], tuple[Notice, ...]]:
    """Return the cases with the live names of rules, and where old ones stand."""
    names = old_names(rulesets.values())
    renamed = {name: with_live_names(file, names) for name, file in cases.items()}
    live = {name: found.cases for name, found in renamed.items()}
    return live, tuple(notice for found in renamed.values() for notice in found.notices)


@dataclass(slots=True)
class _Overlay(Inputs):
    """Inputs of which some are read from memory instead of their files."""

    instead: Mapping[str, str] = field(default_factory=dict)

    def read(self, path: Path, problems: Problems, source: Source | None = None) -> bytes | None:
        text = self.instead.get(str(path))
        return super(_Overlay, self).read(path, problems, source) if text is None else text.encode("utf-8")


class _Reader:
    """Reads files once, keeping their text."""

    def __init__(self, texts: dict[str, str], inputs: Inputs, problems: Problems) -> None:
        self._texts = texts
        self._inputs = inputs
        self._problems = problems

    def _read(self, path: Path) -> bytes | None:
        data = self._inputs.read(path, self._problems)
        if data is not None:
            self._texts[str(path)] = data.decode("utf-8", "replace")
        return data

    def rulesets(self, declared: PoliciesFile) -> dict[str, RuleFile]:
        found = {}
        for path in ruleset_files(declared):
            data = self._read(path)
            file = None if data is None else load_ruleset(data, str(path), self._problems)
            if file is not None:
                found[file.name] = file
        return found

    def lexicons(self, declared: PoliciesFile) -> dict[str, LexiconFile]:
        found = {}
        for path in lexicon_files(declared)[1]:
            data = self._read(path)
            file = None if data is None else load_lexicon(data, str(path), self._problems)
            if file is not None:
                found[file.name] = file
        return found

    def cases(self, declared: PoliciesFile) -> dict[str, CasesFile]:
        found = {}
        for path in ruleset_files(declared):
            beside = path.with_name(path.stem + CASES_SUFFIX)
            data = self._read(beside) if beside.is_file() else None
            file = None if data is None else load_cases(data, str(beside), self._problems)
            if file is not None:
                found[file.ruleset] = file
        return found


def _names(
    rulesets: Mapping[str, RuleFile],
    lexicons: Mapping[str, LexiconFile],
    vocabulary: Vocabulary,
    as_of: str,
    problems: Problems,
) -> Known:
    """Return what the rule sets may refer to, with every setting at its default."""
    settings, _ = resolve_settings((), rulesets, frozenset(), (), as_of, problems)
    private = {name: file.name for file in rulesets.values() for name in (*file.tables, *file.derive)}
    return known(vocabulary, sorted(lexicons), settings, private)


def names_of_world(world: World) -> Known:
    """Return what the rule sets of `world` may refer to."""
    return _names(world.rulesets, world.lexicons, world.vocabulary, world.as_of, Problems())


def _resolve(
    policies: PoliciesFile,
    name: str,
    rulesets: Mapping[str, RuleFile],
    lexicons: Mapping[str, LexiconFile],
    as_of: str,
    problems: Problems,
) -> Resolved:
    chain = resolve_chain(policies, name, problems)
    choices = resolve_rulesets(chain, (), (), problems)
    for ruleset, choice in choices.items():
        if ruleset not in rulesets:
            problems.add("policy-unknown-ruleset", f"there is no rule set `{ruleset}`", choice.origin)
    mine = {ruleset: rulesets[ruleset] for ruleset in choices if ruleset in rulesets}
    settings, changes = resolve_settings(chain, mine, frozenset(), (), as_of, problems)
    _, edits = resolve_lexicons(chain, lexicons, frozenset(), as_of, problems)
    roles = resolve_roles(chain, mine, frozenset(rulesets.keys() - mine.keys()), (), (), (), problems)
    return Resolved({ruleset: choice.on for ruleset, choice in choices.items()}, settings, (*changes, *edits), roles)


def shipped(path: str) -> bool:
    """Return whether a file is one of those that the package brings along."""
    return Path(path).resolve().is_relative_to(data_path("rules").resolve())
