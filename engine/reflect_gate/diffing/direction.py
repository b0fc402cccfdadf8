"""Which way a change can move the verdict of its stage, by what the files say alone.

A verdict is the most severe one that a rule, or a rule set that is off, says; the stage's default where none is said. So a rule
that says a verdict at least as severe as the default can only make it stricter. What is not shown to go one way can go either.
What later stages make of an earlier one's verdict is not followed: there, only a corpus shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ..facts import load_vocabulary
from ..policy.parsed import HeadDecl, RuleDecl, RuleFile, TestDecl

if TYPE_CHECKING:
    from ..policy import Bundle
    from .sides import Side

__all__ = ["Direction", "of_neutral", "of_pattern", "of_rule", "of_setting", "of_toggle"]

Direction: TypeAlias = Literal["milder", "stricter", "either", "neither"]

_MEASURED: Final = frozenset({"hedges", "virtue-level"})
"""Lexicons that measures count with as well (`stages.calibrate`), so that rules read them under other names."""

_FINDING: Final = "finding"


def _named(ways: set[str]) -> Direction:
    if len(ways) == 2:
        return "either"
    return "milder" if "milder" in ways else "stricter" if "stricter" in ways else "neither"


def _compared(stage: str, pairs: Iterable[tuple[frozenset[int], frozenset[int]]]) -> Direction:
    """Return which way a verdict can go, given what is said before and after, beside whatever else is said in the stage."""
    known = load_vocabulary().stages[stage]
    default = known.verdicts.index(known.default)
    others = [frozenset[int](), *(frozenset({place}) for place in range(len(known.verdicts)))]
    ways = set()
    for (first, second), beside in product(pairs, others):
        was, now = max(first | beside, default=default), max(second | beside, default=default)
        if was != now:
            ways.add("milder" if now < was else "stricter")
    return _named(ways)


def of_toggle(before: Bundle, after: Bundle, name: str) -> Direction:
    """Return which way a rule set goes that is switched on or off, added or removed."""
    stage = next(ruleset.stage for bundle in (after, before) for ruleset in bundle.rulesets if ruleset.name == name)
    return _compared(stage, product(_sayings(before, name), _sayings(after, name)))


def _sayings(bundle: Bundle, name: str) -> list[frozenset[int]]:
    """Return what a rule set may say in a bundle: nothing, or one of its verdicts; switched off, what it is neutral by."""
    found = next((ruleset for ruleset in bundle.rulesets if ruleset.name == name), None)
    if found is None:
        return [frozenset()]
    verdicts = load_vocabulary().stages[found.stage].verdicts
    if not found.on:
        return [frozenset({verdicts.index(found.neutral)}) if found.decides else frozenset()]
    program = bundle.program
    kind = program.type_index(_FINDING)
    said = {
        head.values[0]
        for rule in program.rules
        if rule.ruleset == name
        for head in rule.heads
        if head.type == kind and isinstance(head.values[0], int)
    }
    return [frozenset(), *(frozenset({verdicts.index(program.symbols[number])}) for number in said)]


def of_neutral(before: Bundle, after: Bundle, name: str) -> Direction:
    """Return which way a rule set goes whose neutral verdict is another."""
    if before.ruleset(name).on and after.ruleset(name).on:
        return "neither"
    return of_toggle(before, after, name)


def _verdicts(stage: str, heads: Iterable[HeadDecl]) -> list[int] | None:
    """Return the verdicts that heads say, `None` where one derives something else, which other rules may read."""
    known = load_vocabulary().stages[stage].verdicts
    found = []
    for head in heads:
        said = {field.text: value.text for field, value in head.fields}.get("verdict", "")
        if head.type != _FINDING or said not in known:
            return None
        found.append(known.index(said))
    return found


def of_rule(stage: str, first: RuleDecl | None, second: RuleDecl | None) -> Direction:
    """Return which way a rule goes that is added, removed or changed."""
    if first is None or second is None:
        only = first or second
        heads = _verdicts(stage, only.then) if only else []
        return "either" if heads is None else _firing(stage, heads, more=first is None)
    if _heads(first) != _heads(second):
        return "either"
    heads = _verdicts(stage, second.then)
    width = _width(first, second)
    return "either" if heads is None or width is None else _firing(stage, heads, more=width)


def _firing(stage: str, heads: Iterable[int], *, more: bool) -> Direction:
    """Return which way it goes when a rule with these verdicts fires where it did not, or no longer where it did."""
    silent, said = frozenset[int](), frozenset(heads)
    return _compared(stage, [(silent, said) if more else (said, silent)])


def _heads(rule: RuleDecl) -> list[tuple[str, list[tuple[str, str]]]]:
    return sorted((head.type, sorted((field.text, value.text) for field, value in head.fields)) for head in rule.then)


def _width(first: RuleDecl, second: RuleDecl) -> bool | None:
    """Return whether a rule holds wherever it held before, or only where it did (false); `None` where neither is clear."""
    was, now = list(_conditions(first)), list(_conditions(second))
    if all(condition in was for condition in now):
        return True
    if all(condition in now for condition in was):
        return False
    return None


def _conditions(rule: RuleDecl) -> Iterator[object]:
    """Yield each condition of a rule, whose conjunction it is; a negated pattern is one condition as a whole."""
    for pattern in rule.when:
        tests = [_test(test) for test in pattern.tests]
        if pattern.negated:
            yield pattern.type, sorted(tests)
            continue
        # Two patterns of one type may be met by two facts, so only patterns with equal tests can be told to be the same.
        yield pattern.type, pattern.alias, sorted(tests)


def _test(test: TestDecl) -> str:
    values = test.value if isinstance(test.value, tuple) else (test.value,)
    return f"{test.field.text} {test.op} {sorted(node.text for node in values)}"


def of_setting(before: Side, after: Side, key: str) -> Direction:
    """Return which way a setting goes, from how the rules of both sides compare with it."""
    ruleset, _, name = key.partition(".")
    was, now = before.resolved.settings[key].value, after.resolved.settings[key].value
    if isinstance(was, bool | str) or isinstance(now, bool | str):
        return "either"
    ways: set[str] = set()
    for side in (before, after):
        file = side.parts.rulesets.get(ruleset)
        declared = file.settings.get(name) if file else None
        if file is None or declared is None or declared.use == "python":
            return "either"
        for rule in side.deciding(ruleset).values():
            way = _rule_setting(file, rule, f"${name}", raised=now > was)
            ways |= {"milder", "stricter"} if way == "either" else {way} - {"neither"}
    return _named(ways)


def _rule_setting(file: RuleFile, rule: RuleDecl, variable: str, *, raised: bool) -> Direction:
    wider = set()
    for pattern in rule.when:
        for test in pattern.tests:
            nodes = test.value if isinstance(test.value, tuple) else (test.value,)
            if all(node.text != variable for node in nodes):
                continue
            if test.op not in {"gt", "gte", "lt", "lte"}:
                return "either"
            # A raised minimum is met by fewer facts, and a negated pattern holds where fewer meet it.
            met_by_more = raised if test.op in {"lt", "lte"} else not raised
            wider.add(met_by_more != pattern.negated)
    if any(variable == value.text for head in rule.then for _, value in head.fields):
        return "either"
    if not wider:
        return "neither"
    heads = _verdicts(file.stage.text, rule.then)
    return "either" if heads is None or len(wider) == 2 else _firing(file.stage.text, heads, more=wider.pop())


def of_pattern(before: Side, after: Side, lexicon: str, *, added: bool) -> Direction:
    """Return which way a pattern of a lexicon goes, from the rules that name the lexicon in a test."""
    if lexicon in _MEASURED:
        return "either"
    ways: set[str] = set()
    for side in (before, after):
        for file in side.parts.rulesets.values():
            for rule in side.deciding(file.name).values():
                way = _rule_pattern(file, rule, lexicon, added=added)
                ways |= {"milder", "stricter"} if way == "either" else {way} - {"neither"}
    return _named(ways)


def _rule_pattern(file: RuleFile, rule: RuleDecl, lexicon: str, *, added: bool) -> Direction:
    wider = set()
    for pattern in rule.when:
        if pattern.type not in {"hits", "disguised"}:
            continue
        named = [test for test in pattern.tests if test.field.text == "lexicon"]
        if len(named) != 1 or named[0].op not in {"eq", "in"}:
            return "either"
        value = named[0].value
        if lexicon not in {node.text for node in (value if isinstance(value, tuple) else (value,))}:
            continue
        # More patterns find more: only a test that a number may grow out of turns that round.
        if any(test.field.text in {"n", "coverage"} and test.op not in {"gt", "gte"} for test in pattern.tests):
            return "either"
        # `disguised` tells what is found only beneath the surface, so a new pattern may also end it.
        if pattern.type == "disguised":
            return "either"
        wider.add(added != pattern.negated)
    if not wider:
        return "neither"
    heads = _verdicts(file.stage.text, rule.then)
    return "either" if heads is None or len(wider) == 2 else _firing(file.stage.text, heads, more=wider.pop())
