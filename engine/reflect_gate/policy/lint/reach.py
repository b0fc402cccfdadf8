"""Lint rules about what rules can do: fire, decide, agree; and about comparisons that every value passes, or none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from ...config import Limits
from ...facts import Domain
from ..checked import CONCLUSION, FINDING, CheckedHead, CheckedPattern, CheckedRule, CheckedTest
from ..model import Join
from ..parsed import SettingDecl
from ..values import Misfit, encode
from .logic import Facts, Values, compared, covers, rows_of, values_of, whole
from .model import Found
from .world import World

__all__ = ["contradictory_findings", "idle_condition", "shadowed_rule", "unreachable_rule", "unreachable_threshold"]

_ORDERED: Final = frozenset({"lt", "lte", "gt", "gte"})

MEASURED: Final[Mapping[tuple[str, str], tuple[int, str]]] = {
    ("hits", "n"): (1, "text_chars"),
    ("hits", "coverage"): (0, ""),
    ("hazard", "n"): (1, "text_chars"),
    ("disguised", "n"): (1, "text_chars"),
    ("backing", "n"): (1, "items"),
    ("record", "traces"): (0, "items"),
    ("record", "items"): (0, "items"),
    ("item", "seq"): (0, ""),
    ("claim", "anchors"): (0, "text_chars"),
    ("claim", "unfound"): (0, "text_chars"),
    ("claim", "terms"): (0, "text_chars"),
    ("support", "anchors"): (0, "text_chars"),
    ("support", "terms"): (0, "text_chars"),
    ("scope", "terms"): (0, "text_chars"),
    ("lesson", "words"): (0, "text_chars"),
    ("lesson", "hedges"): (0, "text_chars"),
    ("lesson", "sentences"): (0, "text_chars"),
}
"""What a measure can come to where that is less than its domain: the least, and the limit of the policies that bounds it."""


# -- rules that cannot fire --------------------------------------------------------------------------------------------


def unreachable_rule(world: World) -> Iterator[Found]:
    """Yield the rules that no facts make fire; a comparison that nothing passes is told by `unreachable-threshold`."""
    reached: set[str] = set()
    alone = {rule.name: _why_alone(rule, world) for rule in world.rules}
    grown = True
    while grown:
        grown = False
        for rule in world.rules:
            if rule.name not in reached and not alone[rule.name] and not _underived(rule, world, reached):
                reached.add(rule.name)
                grown = True
    silent = {found.subject for found in unreachable_threshold(world)}
    for rule in world.rules:
        if rule.name not in reached and rule.name not in silent:
            why = alone[rule.name] or _underived(rule, world, reached)
            yield Found(rule.name, f"rule `{rule.id}` can never fire: {why}", rule.source)


def _why_alone(rule: CheckedRule, world: World) -> str:
    """Return why the conditions of `rule` exclude each other, empty where they do not."""
    facts = Facts(rule)
    place = facts.empty()
    if place is not None:
        pattern = rule.positive[place[0]]
        return f"its tests leave no value for `{pattern.type.name}.{pattern.type.fields[place[1]]}`"
    everything = tuple(range(len(rule.positive)))
    for pattern in rule.negative:
        if any(facts.match(index, pattern, everything) for index in everything):
            return f"it asks for the absence of `{pattern.type.name}` that another of its patterns needs"
    for pattern in rule.positive:
        if pattern.type.kind == "table" and not rows_of(pattern, _rows(pattern, rule, world)):
            return f"no row of table `{pattern.type.name}` is like that"
        if pattern.type.name == CONCLUSION and pattern.type.kind == "measured":
            why = _unsaid(pattern, world)
            if why:
                return why
    return ""


def _rows(pattern: CheckedPattern, rule: CheckedRule, world: World) -> list[tuple[int | str, ...]]:
    return [row for info, row in world.checked[rule.ruleset].rows if info == pattern.type]


def _unsaid(pattern: CheckedPattern, world: World) -> str:
    """Return why a stage does not conclude so: no rule says it, it is not the stage's default, and no toggle makes it neutral."""
    tests = {test.field: values_of(test, pattern.type.domains[test.position]) for test in pattern.tests}
    stages, verdicts = tests.get("stage"), tests.get("verdict")
    if stages is None or stages.among is None or verdicts is None or verdicts.among is None:
        return ""
    for stage in stages.among:
        if verdicts.among & _said(str(stage), world):
            return ""
    said, stage = " or ".join(f"`{word}`" for word in sorted(map(str, verdicts.among))), ", ".join(map(str, stages.among))
    return f"no rule of stage `{stage}` says {said}"


def _said(stage: str, world: World) -> set[int | str]:
    spec = world.vocabulary.stages.get(stage)
    found: set[int | str] = {spec.default} if spec else set()
    for checked in world.checked.values():
        if checked.stage == stage:
            found.add(checked.neutral)
            found |= {_verdict(head) for rule in checked.rules for head in rule.heads if head.type.name == FINDING}
    return found


def _verdict(head: CheckedHead) -> str:
    return str(head.values[head.type.fields.index("verdict")])


def _underived(rule: CheckedRule, world: World, reached: set[str]) -> str:
    """Return which derived fact of `rule` no rule of `reached` derives, empty where each is derived."""
    for pattern in rule.positive:
        if pattern.type.kind != "derived":
            continue
        makers = (other for other in world.checked[rule.ruleset].rules if other.name in reached and _heard(other, rule, world))
        if not any(_makes(head, pattern) for maker in makers for head in maker.heads):
            return f"no rule that fires derives `{pattern.type.name}` like that"
    return ""


def _heard(other: CheckedRule, rule: CheckedRule, world: World) -> bool:
    """Whether what `other` says can matter to `rule`: what only looks on reaches nothing that decides."""
    return other.name not in world.looking_on or rule.name in world.looking_on


def _makes(head: CheckedHead, pattern: CheckedPattern) -> bool:
    if head.type != pattern.type:
        return False
    for test in pattern.tests:
        value = head.values[test.position]
        if not isinstance(value, Join) and not values_of(test, pattern.type.domains[test.position]).holds(value):
            return False
    return True


# -- rules that change nothing, or say two things ----------------------------------------------------------------------


def shadowed_rule(world: World) -> Iterator[Found]:
    """Yield the rules that change nothing: whenever they fire, another one has done the same, or says something more severe."""
    known = {rule.name: Facts(rule) for rule in world.rules}
    told: set[tuple[str, str]] = set()
    for special in world.rules:
        if known[special.name].empty() is not None:
            continue
        for general in _others(special, world):
            if (general.name, special.name) in told:
                continue
            why = _shadow(general, special, known, world)
            if why:
                told.add((special.name, general.name))
                place = f"{general.source}" if general.ruleset != special.ruleset else f"line {general.source.line}"
                message = f"rule `{special.id}` changes nothing: whenever it fires, `{general.name}` ({place}) {why}"
                yield Found(special.name, message, special.source)
                break


def _others(rule: CheckedRule, world: World) -> Iterator[CheckedRule]:
    """Yield the other rules of the stage that run beside `rule`."""
    for other in world.rules:
        beside = other.name != rule.name and other.stage == rule.stage and _together(rule, other, world)
        if beside and _heard(other, rule, world):
            yield other


def _together(rule: CheckedRule, other: CheckedRule, world: World) -> bool:
    """Whether the default bundle runs both; an ablation switches one off to see what the other does alone."""
    on = world.bundles[world.policies.default].on
    return rule.ruleset == other.ruleset or (on.get(rule.ruleset, False) and on.get(other.ruleset, False))


def _shadow(general: CheckedRule, special: CheckedRule, known: Mapping[str, Facts], world: World) -> str:
    verdicts = world.vocabulary.stages[special.stage].verdicts
    facts = known[special.name]
    for mapped in covers(general, special, facts):
        if all(any(facts.same_head(mine, other, mapped) for other in general.heads) for mine in special.heads):
            return "derives the same"
        mine = [head for head in special.heads if head.type.name == FINDING]
        theirs = [verdicts.index(_verdict(head)) for head in general.heads if head.type.name == FINDING]
        milder = len(mine) == len(special.heads) and all(verdicts.index(_verdict(head)) < max(theirs, default=0) for head in mine)
        # Of two rules with the same conditions `contradictory-findings` tells.
        if milder and not any(covers(special, general, known[general.name])):
            return f"says the more severe `{verdicts[max(theirs)]}`"
    return ""


def contradictory_findings(world: World) -> Iterator[Found]:
    """Yield rules that say two verdicts of one thing at once, alone or with another rule of exactly the same conditions."""
    known = {rule.name: Facts(rule) for rule in world.rules}
    for number, rule in enumerate(world.rules):
        facts = known[rule.name]
        if facts.empty() is not None:
            continue
        everything = tuple(range(len(rule.positive)))
        clash = _clash(rule, rule, facts, everything)
        if clash:
            yield Found(rule.name, f"rule `{rule.id}` says {clash} of the same thing", rule.source)
        for other in world.rules[number + 1 :]:
            beside = other.stage == rule.stage and _together(rule, other, world)
            # A rule that looks on is there to say something else.
            beside = beside and (rule.name in world.looking_on) == (other.name in world.looking_on)
            if beside and any(covers(rule, other, known[other.name])):
                clash = next((said for mapped in covers(other, rule, facts) if (said := _clash(rule, other, facts, mapped))), "")
                if clash:
                    message = f"rules `{rule.name}` and `{other.name}` fire together and say {clash} of the same thing"
                    yield Found(other.name, message, other.source)


def _clash(rule: CheckedRule, other: CheckedRule, facts: Facts, mapped: tuple[int, ...]) -> str:
    for mine in rule.heads:
        for theirs in other.heads:
            differ = mine.type.name == theirs.type.name == FINDING and _verdict(mine) != _verdict(theirs)
            if differ and facts.same_about(mine, theirs, mapped):
                return f"both `{_verdict(mine)}` and `{_verdict(theirs)}`"
    return ""


# -- comparisons -------------------------------------------------------------------------------------------------------


def unreachable_threshold(world: World) -> Iterator[Found]:
    """Yield comparisons that no value of the measure passes, whatever their setting is set to."""
    for rule, pattern, test in _comparisons(world):
        if not any(values.none is False for values in _passing(pattern, test, world)):
            reach = _reach(pattern, test, world)
            yield Found(rule.name, f"no value passes `{_text(pattern, test)}`: it is {reach}", test.source)


def idle_condition(world: World) -> Iterator[Found]:
    """Yield comparisons that every value of the measure passes, whatever their setting is set to."""
    for rule, pattern, test in _comparisons(world):
        everything = _range(pattern, test, world.policies.limits)
        if all(everything.within(values) for values in _passing(pattern, test, world)):
            reach = _reach(pattern, test, world)
            yield Found(rule.name, f"every value passes `{_text(pattern, test)}`: it is {reach}", test.source)


def _comparisons(world: World) -> Iterator[tuple[CheckedRule, CheckedPattern, CheckedTest]]:
    for rule in world.rules:
        for pattern in (*rule.positive, *rule.negative):
            for test in pattern.tests:
                if test.op in _ORDERED and not isinstance(test.value, Join):
                    yield rule, pattern, test


def _passing(pattern: CheckedPattern, test: CheckedTest, world: World) -> list[Values]:
    """Return the values that pass, for the constant or for either end of what the setting may be."""
    domain = pattern.type.domains[test.position]
    everything = _range(pattern, test, world.policies.limits)
    if not test.setting:
        return [everything.both(compared(test.op, test.value))] if isinstance(test.value, int) else [everything]
    declared = world.setting(test.setting)
    if declared is None or not isinstance(test.value, int):
        return [everything]
    ends = [bound for bound in _bounds(declared, domain) if bound is not None]
    values = {test.value, *ends}
    if len(ends) < 2:
        # A setting without bounds may be set to anything that the domain holds.
        values |= {domain.minimum, domain.maximum}
    return [everything.both(compared(test.op, value)) for value in values]


def _bounds(declared: SettingDecl, domain: Domain) -> tuple[int | None, int | None]:
    found = [None if bound is None else _encoded(bound, domain) for bound in (declared.minimum, declared.maximum)]
    return found[0], found[1]


def _encoded(number: Decimal, domain: Domain) -> int | None:
    value = encode(number, domain)
    return value if isinstance(value, int) and not isinstance(value, Misfit) else None


def _range(pattern: CheckedPattern, test: CheckedTest, limits: Limits) -> Values:
    """Return what the measure can come to."""
    everything = whole(pattern.type.domains[test.position])
    known = MEASURED.get((pattern.type.name, test.field)) if pattern.type.kind == "measured" else None
    if known is None:
        return everything
    return everything.both(Values(None, known[0], getattr(limits, known[1]) if known[1] else None))


def _reach(pattern: CheckedPattern, test: CheckedTest, world: World) -> str:
    domain, values = pattern.type.domains[test.position], _range(pattern, test, world.policies.limits)
    low, high = (str(Decimal(bound or 0).scaleb(-domain.scale)) for bound in (values.low, values.high))
    return f"from {low} to {high}"


def _text(pattern: CheckedPattern, test: CheckedTest) -> str:
    domain = pattern.type.domains[test.position]
    value = domain.show(test.value) if isinstance(test.value, int) else test.value
    shown = f"${test.setting.partition('.')[2]}" if test.setting else str(value)
    return f"{pattern.type.name}: {{{test.field}: {{{test.op}: {shown}}}}}"
