"""Lint rules about upkeep: docs, cases, overrides, toggles, and the line that tells editors of the schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from ...errors import Source
from ...facts import Domain
from ..case_files import CASES_SUFFIX, CaseDecl, CasesFile
from ..checked import Atom, CheckedPattern, CheckedRule, CheckedTest
from ..headers import header_line, header_of, kind_of
from ..model import Join
from ..roles import deprecations
from ..values import Misfit, constant, encode
from .logic import compared
from .model import Edit, Found
from .world import World, shipped

__all__ = [
    "deprecated_rule",
    "expired_override",
    "missing_cases",
    "missing_doc",
    "missing_firing_case",
    "missing_group_case",
    "missing_header",
    "missing_near_miss_case",
    "missing_silent_case",
    "missing_toggle",
    "renamed_rule",
    "unnamed_ruleset",
]

_WORDS: Final = re.compile(r"[^\W_]+")
_PLACEHOLDER: Final = re.compile(r"(?i)\b(?:todo|fixme|tbd|xxx|lorem ipsum|to be written|describe (?:this|me))\b|^[.…?-]+$")
_FEWEST_WORDS: Final = 3
_NEAR: Final = 1


# -- docs --------------------------------------------------------------------------------------------------------------


def missing_doc(world: World) -> Iterator[Found]:
    """Yield docs that say nothing: a placeholder, a word or two, or the name once more."""
    for subject, name, doc, source in _docs(world):
        words = [word.lower() for word in _WORDS.findall(doc)]
        if _PLACEHOLDER.search(doc):
            yield Found(subject, f"the doc of `{name}` is a placeholder: `{doc[:60]}`", source)
        elif words == [word.lower() for word in _WORDS.findall(name.replace("_", " "))]:
            yield Found(subject, f"the doc of `{name}` only repeats its name", source)
        elif len(words) < _FEWEST_WORDS and doc.isascii():
            yield Found(subject, f"the doc of `{name}` is too short to say anything: `{doc}`", source)


def _docs(world: World) -> Iterator[tuple[str, str, str, Source]]:
    for file in world.rulesets.values():
        yield file.name, file.name, file.doc, file.source
        for setting in file.settings.values():
            yield f"{file.name}.{setting.name}", setting.name, setting.doc, setting.source
        for table in file.tables.values():
            yield f"{file.name}/{table.name}", table.name, table.doc, table.source
        for rule in file.rules:
            yield f"{file.name}/{rule.id}", rule.id, rule.doc, rule.source
    for lexicon in world.lexicons.values():
        yield lexicon.name, lexicon.name, lexicon.doc, lexicon.source
        for group in lexicon.groups.values():
            yield f"{lexicon.name}/{group.id}", group.id, group.doc, group.source


# -- cases -------------------------------------------------------------------------------------------------------------


def missing_cases(world: World) -> Iterator[Found]:
    """Yield rule sets without a case file."""
    for file in world.rulesets.values():
        if file.name not in world.cases:
            yield Found(file.name, f"rule set `{file.name}` has no cases: there is no `{file.name}{CASES_SUFFIX}`", file.source)


def missing_firing_case(world: World) -> Iterator[Found]:
    """Yield rules that no case expects to fire."""
    for rule, cases in _tried(world):
        if not any(rule.id in _expected(case) for case in cases.cases):
            yield Found(rule.name, f"no case expects rule `{rule.id}` to fire", rule.source)


def missing_silent_case(world: World) -> Iterator[Found]:
    """Yield rules that no case expects to stay silent."""
    for rule, cases in _tried(world):
        if not any(name.text == rule.id for case in cases.cases for name in case.expect.silent):
            yield Found(rule.name, f"no case expects rule `{rule.id}` to stay silent", rule.source)


def missing_near_miss_case(world: World) -> Iterator[Found]:
    """Yield rules that are silent in cases, but in none that comes near: at most one condition of theirs away."""
    for rule, cases in _tried(world):
        silent = [case for case in cases.cases if _is_silent(rule, case)]
        if silent and not any(case.facts is None or _is_near(rule, case, world) for case in silent):
            message = (
                f"rule `{rule.id}` is silent only in cases that do not come near it: write one that fails a single condition"
            )
            yield Found(rule.name, message, rule.source)


def _tried(world: World) -> Iterator[tuple[CheckedRule, CasesFile]]:
    for rule in world.rules:
        cases = world.cases.get(rule.ruleset)
        if cases is not None:
            yield rule, cases


def _expected(case: CaseDecl) -> set[str]:
    expect = case.expect
    return {name.text for name in (*(finding.rule for finding in expect.findings), *expect.fires)}


def _is_silent(rule: CheckedRule, case: CaseDecl) -> bool:
    """Whether a case says that the rule is silent; of a rule with a finding, a case of facts says so by not naming it."""
    if any(name.text == rule.id for name in case.expect.silent):
        return True
    finds = any(head.type.kind == "finding" for head in rule.heads)
    return finds and case.facts is not None and rule.id not in _expected(case)


def _is_near(rule: CheckedRule, case: CaseDecl, world: World) -> bool:
    """Whether the facts of a case fail at most `_NEAR` conditions of the rule, as far as constants and defaults tell."""
    facts = _facts(case, world)
    failed = 0
    for pattern in rule.positive:
        if pattern.type.kind != "measured":
            continue
        # A pattern without tests fails in one way alone: there is no such fact.
        far = _NEAR if not pattern.tests else _NEAR + 1
        failed += min((_failing(pattern, fact) for name, fact in facts if name == pattern.type.name), default=far)
    return failed <= _NEAR


def _facts(case: CaseDecl, world: World) -> list[tuple[str, Mapping[str, Atom]]]:
    found: list[tuple[str, Mapping[str, Atom]]] = []
    for fact in case.facts or ():
        known = world.vocabulary.facts.get(fact.type.text)
        if known is None:
            continue
        values: dict[str, Atom] = {}
        for key, node in fact.fields:
            domain = world.vocabulary.domains.get(known.fields.get(key.text, ""))
            value = None if domain is None else constant(node, _open(domain))
            if value is not None and not isinstance(value, Misfit):
                values[key.text] = value
        found.append((known.name, values))
    return found


def _open(domain: Domain) -> Domain:
    """Return the domain of lexicon names as one of any names: which lexicons there are is checked elsewhere."""
    return domain._replace(kind="id") if domain.kind == "symbol" and not domain.symbols else domain


def _failing(pattern: CheckedPattern, fact: Mapping[str, Atom]) -> int:
    """Return how many tests of a pattern a fact fails; what the case leaves to the vocabulary's default is looked up."""
    return sum(not _passes(test, fact.get(test.field, _default(pattern, test))) for test in pattern.tests)


def _default(pattern: CheckedPattern, test: CheckedTest) -> Atom | None:
    from ..bench import field_defaults

    value = encode(field_defaults()[pattern.type.name][test.field], _open(pattern.type.domains[test.position]))
    return None if isinstance(value, Misfit) else value


def _passes(test: CheckedTest, value: Atom | None) -> bool:
    if value is None or isinstance(test.value, Join):
        return True
    if isinstance(test.value, tuple):
        return value in test.value
    return compared(test.op, test.value).holds(value)


def missing_group_case(world: World) -> Iterator[Found]:
    """Yield groups of lexicons without a text that they find, or without one that they must not find."""
    for lexicon in world.lexicons.values():
        for group in lexicon.groups.values():
            lacking = [kind for kind, texts in (("hit", group.hit), ("miss", group.miss)) if not texts]
            if lacking:
                message = f"group `{group.id}` has no text under {' and '.join(f'`{kind}`' for kind in lacking)}"
                yield Found(f"{lexicon.name}/{group.id}", message, group.source)


# -- bundles -----------------------------------------------------------------------------------------------------------


def expired_override(world: World) -> Iterator[Found]:
    """Yield overrides past their last day; they are not applied."""
    told = set()
    for bundle in world.bundles.values():
        for change in bundle.changes:
            if not change.applied and change.origin not in told:
                told.add(change.origin)
                message = f"the override of `{change.target}` by `{change.owner}` expired on {change.expires} and is not applied"
                yield Found(change.target.partition(" ")[0], message, change.origin)


def deprecated_rule(world: World) -> Iterator[Found]:
    """Yield deprecated rules that decide in a bundle; one that every bundle switches off is on its way out."""
    for notice in deprecations(world.rulesets.values()):
        name = next(f"{file.name}/{rule.id}" for file, rule in world.declared() if rule.source == notice.origin)
        ruleset = name.partition("/")[0]
        if any(bundle.on.get(ruleset) and name not in bundle.roles.off for bundle in world.bundles.values()):
            yield Found(name, notice.message, notice.origin)


def renamed_rule(world: World) -> Iterator[Found]:
    """Yield the places in bundles and cases that use an old name of a rule."""
    roles = (notice for bundle in world.bundles.values() for notice in bundle.roles.notices if notice.code == "policy-old-name")
    for notice in dict.fromkeys((*roles, *world.old_names)):
        yield Found(Path(notice.origin.file).name, notice.message, notice.origin, _renaming(world, notice.origin))


def _renaming(world: World, place: Source) -> Edit | None:
    """Return the edit that writes the live name at a place, `None` where the old one does not stand there as it is."""
    line = world.texts.get(place.file, "").split("\n")[place.line - 1 : place.line]
    for old, now in sorted(world.live_names(place.file).items(), key=lambda entry: -len(entry[0])):
        if line and line[0].startswith(old, place.column - 1):
            return Edit(place.file, place.line, place.column, old, now)
    return None


_DECIDES_NOTHING: Final = frozenset({"audit"})
"""Stages that change nothing of what is remembered, so that there is nothing to show without them."""


def missing_toggle(world: World) -> Iterator[Found]:
    """Yield rule sets that are on in every bundle that has them: no bundle shows what they change."""
    for name, file in world.rulesets.items():
        states = [bundle.on[name] for bundle in world.bundles.values() if name in bundle.on]
        if states and all(states) and file.stage.text not in _DECIDES_NOTHING:
            message = f"no bundle switches rule set `{name}` off, so that nothing shows what its rules change"
            yield Found(name, message, file.source)


def unnamed_ruleset(world: World) -> Iterator[Found]:
    """Yield rule sets that no bundle names: their rules never run."""
    for name, file in world.rulesets.items():
        if not any(name in bundle.on for bundle in world.bundles.values()) and not shipped(file.file):
            yield Found(name, f"no bundle names rule set `{name}`, so that its rules never run", file.source)


# -- the line for editors ----------------------------------------------------------------------------------------------


def missing_header(world: World) -> Iterator[Found]:
    """Yield files whose first line does not name the schema by which editors complete and check them."""
    for file, text in world.texts.items():
        kind = kind_of(text)
        if kind and not header_of(text):
            line = header_line(Path(file), kind)
            edit = Edit(file, 1, 1, "", line + "\n")
            yield Found(Path(file).name, "the first line does not name the schema for editors", Source(file, 1, 1), edit)
