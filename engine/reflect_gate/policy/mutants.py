"""Mutants of a program: one small mistake each, of the kind that an author makes, with the place where it would stand.

A mutant says what it changes by rule, pattern and condition, so that it can be applied to every bundle of the same rule set,
whatever its settings are. Changed are compiled programs, never files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from ..errors import Source
from ..facts import load_vocabulary
from .model import Head, Join, Operator, Pattern, Program, Rule, Test
from .reduced import without
from .wording import condition_text, domain_of, patterns_of, presence_text, value_text

__all__ = ["KINDS", "Kind", "Mutant", "apply", "mutants"]

Kind: TypeAlias = Literal[
    "shift-threshold",
    "negate-condition",
    "drop-condition",
    "drop-value",
    "drop-pattern",
    "swap-verdict",
    "disable-rule",
    "drop-lexicon-pattern",
]

KINDS: Final[tuple[Kind, ...]] = (
    "shift-threshold",
    "negate-condition",
    "drop-condition",
    "drop-value",
    "drop-pattern",
    "swap-verdict",
    "disable-rule",
    "drop-lexicon-pattern",
)

_OPPOSITE: Final[Mapping[Operator, Operator]] = {
    "eq": "ne",
    "ne": "eq",
    "gt": "lte",
    "lte": "gt",
    "gte": "lt",
    "lt": "gte",
}
_COMPARES: Final = frozenset({"gt", "gte", "lt", "lte"})


class Mutant(NamedTuple):
    """One change of one rule.

    Attributes:
        kind: what is done.
        rule: the rule as `ruleset/id`; of a lexicon pattern, `lexicon/group`.
        pattern: the pattern of the rule, or the head of `swap-verdict`; -1 where the whole rule is meant.
        test: the condition of the pattern, -1 where the whole pattern is meant.
        detail: by how many steps a threshold is shifted, or which of the values of `in` is dropped.
        text: the change in words.
        source: where it would stand.
    """

    kind: Kind
    rule: str
    pattern: int
    test: int
    detail: int
    text: str
    source: Source

    @property
    def id(self) -> str:
        """A name that does not change while the rule does not: what results are kept by."""
        return f"{self.kind}:{self.rule}:{self.pattern}:{self.test}:{self.detail}:{self.text}"


def mutants(program: Program, ruleset: str, file: str) -> list[Mutant]:
    """Return every mutant of the rules of one rule set, in the order of its file; `file` is where they stand."""
    found = [mutant for rule in program.rules if rule.ruleset == ruleset for mutant in _of_rule(program, rule)]
    placed = [mutant._replace(source=Source(file, mutant.source.line, mutant.source.column)) for mutant in found]
    return sorted(placed, key=lambda mutant: (mutant.source.line, mutant.source.column, mutant.pattern, mutant.test))


def _of_rule(program: Program, rule: Rule) -> Iterator[Mutant]:
    yield Mutant("disable-rule", rule.name, -1, -1, 0, f"disable `{rule.id}`", rule.source)
    yield from _verdicts(program, rule)
    for place, pattern in enumerate(patterns_of(rule)):
        if _droppable(rule, place):
            text = f"drop `{presence_text(program, rule, place)}`"
            yield Mutant("drop-pattern", rule.name, place, -1, 0, text, pattern.source)
        for number, test in enumerate(pattern.tests):
            said = condition_text(program, rule, place, test)
            yield Mutant("drop-condition", rule.name, place, number, 0, f"drop `{said}`", test.source)
            yield Mutant("negate-condition", rule.name, place, number, 0, f"negate `{said}`", test.source)
            yield from _values(program, rule, place, number)


def _verdicts(program: Program, rule: Rule) -> Iterator[Mutant]:
    """Yield a swap of each finding's verdict for the next more severe one, or for the one before where there is none."""
    finding = program.type_index("finding")
    ordered = load_vocabulary().stages[rule.stage].verdicts
    for place, head in enumerate(rule.heads):
        if head.type == finding and isinstance(head.values[0], int) and len(ordered) > 1:
            said = program.symbols[head.values[0]]
            other = _neighbour(ordered, said)
            yield Mutant("swap-verdict", rule.name, place, -1, 0, f"say `{other}` instead of `{said}`", rule.source)


def _neighbour(ordered: Sequence[str], said: str) -> str:
    place = ordered.index(said)
    return ordered[place + 1] if place + 1 < len(ordered) else ordered[place - 1]


def _values(program: Program, rule: Rule, place: int, number: int) -> Iterator[Mutant]:
    """Yield a threshold moved by one step each way, as far as its domain allows, and each value of `in` left out."""
    pattern = patterns_of(rule)[place]
    test = pattern.tests[number]
    said = condition_text(program, rule, place, test)
    if isinstance(test.value, tuple):
        for index, value in enumerate(test.value if len(test.value) > 1 else ()):
            named = value_text(program, pattern.type, test.position, value)
            text = f"drop `{named}` of `{said}`"
            yield Mutant("drop-value", rule.name, place, number, index, text, test.source)
    elif test.op in _COMPARES and isinstance(test.value, int):
        domain = domain_of(program, pattern.type, test.position)
        for step in (-1, 1):
            moved = test.value + step
            if domain is not None and domain.minimum <= moved <= domain.maximum:
                text = f"compare with {value_text(program, pattern.type, test.position, moved)}: `{said}`"
                yield Mutant("shift-threshold", rule.name, place, number, step, text, test.source)


def _droppable(rule: Rule, place: int) -> bool:
    """Return whether a pattern can be left out: nothing refers to it, and it is not the only one to find a fact."""
    if place >= len(rule.positive):
        return True
    values = [test.value for pattern in patterns_of(rule) for test in pattern.tests]
    values += [value for head in rule.heads for value in head.values]
    referred = any(isinstance(value, Join) and value.pattern == place for value in values)
    return len(rule.positive) > 1 and not referred and not rule.positive[place].tests


def apply(program: Program, mutant: Mutant) -> Program | None:
    """Return `program` with the mistake of `mutant` in it; `None` where it has no such rule or the change makes none."""
    rule = next((rule for rule in program.rules if rule.name == mutant.rule), None)
    if rule is None:
        return None
    if mutant.kind == "disable-rule":
        return without(program, lambda other: other.number == rule.number)
    changed = _CHANGES[mutant.kind](program, rule, mutant)
    rules = [changed if other.number == rule.number else other for other in program.rules]
    return program._replace(rules=tuple(rules))


def _with_pattern(rule: Rule, place: int, pattern: Pattern) -> Rule:
    if place < len(rule.positive):
        return rule._replace(positive=(*rule.positive[:place], pattern, *rule.positive[place + 1 :]))
    place -= len(rule.positive)
    return rule._replace(negative=(*rule.negative[:place], pattern, *rule.negative[place + 1 :]))


def _with_tests(rule: Rule, mutant: Mutant, *tests: Test) -> Rule:
    pattern = patterns_of(rule)[mutant.pattern]
    kept = (*pattern.tests[: mutant.test], *tests, *pattern.tests[mutant.test + 1 :])
    return _with_pattern(rule, mutant.pattern, pattern._replace(tests=kept))


def _test(rule: Rule, mutant: Mutant) -> Test:
    return patterns_of(rule)[mutant.pattern].tests[mutant.test]


def _shift(_: Program, rule: Rule, mutant: Mutant) -> Rule:
    test = _test(rule, mutant)
    return _with_tests(rule, mutant, test._replace(value=test.value + mutant.detail)) if isinstance(test.value, int) else rule


def _negate(_: Program, rule: Rule, mutant: Mutant) -> Rule:
    test = _test(rule, mutant)
    if isinstance(test.value, tuple):
        return _with_tests(rule, mutant, *(test._replace(op="ne", value=value) for value in test.value))
    return _with_tests(rule, mutant, test._replace(op=_OPPOSITE[test.op]))


def _drop_test(_: Program, rule: Rule, mutant: Mutant) -> Rule:
    return _with_tests(rule, mutant)


def _drop_value(_: Program, rule: Rule, mutant: Mutant) -> Rule:
    test = _test(rule, mutant)
    if not isinstance(test.value, tuple):
        return rule
    left = test.value[: mutant.detail] + test.value[mutant.detail + 1 :]
    return _with_tests(rule, mutant, test._replace(value=left))


def _drop_pattern(_: Program, rule: Rule, mutant: Mutant) -> Rule:
    place, positive = mutant.pattern, len(rule.positive)
    if place >= positive:
        return rule._replace(negative=rule.negative[: place - positive] + rule.negative[place - positive + 1 :])

    def moved(value: int | tuple[int, ...] | Join) -> int | tuple[int, ...] | Join:
        return Join(value.pattern - 1, value.position) if isinstance(value, Join) and value.pattern > place else value

    def pattern_moved(pattern: Pattern) -> Pattern:
        return pattern._replace(tests=tuple(test._replace(value=moved(test.value)) for test in pattern.tests))

    left = rule.positive[:place] + rule.positive[place + 1 :]
    heads = [Head(head.type, tuple(moved(value) for value in head.values)) for head in rule.heads]  # type: ignore[misc]
    return rule._replace(
        positive=tuple(map(pattern_moved, left)), negative=tuple(map(pattern_moved, rule.negative)), heads=tuple(heads)
    )


def _swap(program: Program, rule: Rule, mutant: Mutant) -> Rule:
    head = rule.heads[mutant.pattern]
    said = head.values[0]
    if not isinstance(said, int):
        return rule
    other = _neighbour(load_vocabulary().stages[rule.stage].verdicts, program.symbols[said])
    swapped = Head(head.type, (program.symbols.index(other), *head.values[1:]))
    return rule._replace(heads=(*rule.heads[: mutant.pattern], swapped, *rule.heads[mutant.pattern + 1 :]))


_CHANGES: Final[Mapping[str, Callable[[Program, Rule, Mutant], Rule]]] = {
    "shift-threshold": _shift,
    "negate-condition": _negate,
    "drop-condition": _drop_test,
    "drop-value": _drop_value,
    "drop-pattern": _drop_pattern,
    "swap-verdict": _swap,
}
