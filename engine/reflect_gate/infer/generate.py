"""Generates one Python module from a program: a forward chainer with hash joins, one function a stage.

The text holds integers and fixed words only. In a stage every stratum runs once, in order; a recursive stratum is evaluated
semi-naively: a round joins what the last round derived with everything older, so that no combination is looked at twice.

Names in the text: `T` facts by type, `S` the set of all facts, `O` the firings so far, `L` their limit, `V` raises. `tN` are the
facts of type N; in a recursive stratum `oN` are those before the last round, `dN` those of the last round, `aN` both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..policy.model import Join, Pattern, Program, Rule, Stratum, Test
from ._emit import FORMAT, condition_expression, head_expression, value_expression
from .protocol import STEPS_PER_FIRING

__all__ = ["generate"]

"""Version of the generated text; a cached text of another version is not used."""

_SHARED = 3
"""A constant field is indexed when that many patterns of a stage begin with it; below, a scan is faster."""


def _facts_name(place: int) -> str:
    return f"f{place}"


def _equalities(pattern: Pattern) -> dict[int, Test]:
    """Return the first equality on each field, by field: what a hash index can look up."""
    found: dict[int, Test] = {}
    for test in pattern.tests:
        if test.op == "eq" and not isinstance(test.value, tuple):
            found.setdefault(test.position, test)
    return dict(sorted(found.items()))


@dataclass
class _Text:
    """Lines with their indentation; `indexes` maps the name of every hash index used to the fields that it is keyed by."""

    lines: list[str] = field(default_factory=list)
    depth: int = 1
    indexes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def add(self, line: str, deeper: int = 0) -> None:
        self.lines.append(" " * self.depth + line)
        self.depth += deeper


class _StageWriter:
    """Writes the function of one stage."""

    def __init__(self, program: Program, stage: str) -> None:
        self._program = program
        self._text = _Text()
        self._strata = [stratum for stratum in program.strata if stratum.stage == stage]
        rules = [program.rules[index] for stratum in self._strata for index in stratum.rules]
        self._read = {p.type for rule in program.rules for p in (*rule.positive, *rule.negative)}
        self._types = sorted(
            {p.type for rule in rules for p in (*rule.positive, *rule.negative)}
            | ({head.type for rule in rules for head in rule.heads} & self._read)
        )
        firsts = [rule.positive[0] for rule in rules if rule.positive]
        self._shared = Counter((first.type, position) for first in firsts for position in _equalities(first))

    def write(self, name: str) -> list[str]:
        text = self._text
        text.add("w=0")
        for type_index in self._types:
            text.add(f"t{type_index}=T[{type_index}]")
        for stratum in self._strata:
            if stratum.recursive:
                self._recursive(stratum)
            else:
                self._once(stratum)
        unbuilt = [" " + "=".join([*text.indexes, "None"])] if text.indexes else []
        return [f"def {name}(T,S,O,L,V,M):", *unbuilt, *text.lines]

    def builders(self) -> dict[str, str]:
        """Return the functions that build the indexes of the stage, by name."""
        return {
            f"k{_joined(fields)}": f"def k{_joined(fields)}(t):\n x=X()\n for g in t:x[{_lookup(fields)}].append(g)\n return x"
            for fields in self._text.indexes.values()
        }

    def _once(self, stratum: Stratum) -> None:
        for index in stratum.rules:
            rule = self._program.rules[index]
            self._rule(rule, [f"t{pattern.type}" for pattern in rule.positive])
        self._text.add("if len(O)>L:V()")

    def _recursive(self, stratum: Stratum) -> None:
        """Write a first round over everything, then rounds in which one pattern at a time takes only what is new."""
        text = self._text
        rules = [self._program.rules[index] for index in stratum.rules]
        own = sorted({head.type for rule in rules for head in rule.heads} & self._read)
        for type_index in own:
            text.add(f"n{type_index}=len(t{type_index})")
            text.add(f"a{type_index}=t{type_index}[:]")
        for rule in rules:
            self._rule(rule, [f"a{p.type}" if p.type in own else f"t{p.type}" for p in rule.positive])
        text.add("while 1:", 1)
        for type_index in own:
            text.add(f"m{type_index}=n{type_index};n{type_index}=len(t{type_index})")
            text.add(f"o{type_index}=t{type_index}[:m{type_index}];a{type_index}=t{type_index}[:]")
            text.add(f"d{type_index}=t{type_index}[m{type_index}:]")
        text.add("if not(" + " or ".join(f"d{type_index}" for type_index in own) + "):break")
        text.add("if len(O)>L:V()")
        stale = len(text.lines)
        for rule in rules:
            for sources in _deltas(rule, own):
                self._rule(rule, sources)
        of_round = [name for name in text.indexes if not name.startswith("xt")]
        if of_round:
            text.lines.insert(stale, " " * text.depth + "=".join([*of_round, "None"]))
        text.depth -= 1

    def _rule(self, rule: Rule, sources: Sequence[str]) -> None:
        """Write the loops of `rule`; `sources` names the list that each positive pattern is taken from."""
        text = self._text
        depth = text.depth
        if sources:
            text.add("if " + " and ".join(dict.fromkeys(sources)) + ":", 1)
        plans = [self._plan(place, pattern, sources[place]) for place, pattern in enumerate(rule.positive)]
        for source, keys, _ in plans:
            self._index(source, tuple(keys))
        for pattern in rule.negative:
            self._index(f"t{pattern.type}", tuple(_equalities(pattern)))
        joined = [p for p in rule.negative if any(isinstance(test.value, Join) for test in p.tests)]
        for place, pattern in enumerate(p for p in rule.negative if p not in joined):
            self._absent(pattern, place)
        for place, plan in enumerate(plans):
            self._loop(place, plan)
        for place, pattern in enumerate(joined, len(rule.negative)):
            self._absent(pattern, place)
        self._fire(rule)
        text.depth = depth

    def _plan(self, place: int, pattern: Pattern, source: str) -> tuple[str, dict[int, Test], list[Test]]:
        """Return the list, the equalities to look up by an index, and the tests that remain."""
        keys = _equalities(pattern)
        if place == 0:
            best = max(keys, key=lambda position: (self._shared[pattern.type, position], -position), default=None)
            worth = best is not None and self._shared[pattern.type, best] >= _SHARED
            keys = {best: keys[best]} if best is not None and worth else {}
        looked_up = {id(test) for test in keys.values()}
        return source, keys, [test for test in pattern.tests if id(test) not in looked_up]

    def _index(self, source: str, positions: tuple[int, ...]) -> None:
        """Write the building of a hash index where it is not built yet."""
        if positions:
            name = _index_name(source, positions)
            self._text.indexes[name] = positions
            self._text.add(f"if {name} is None:{name}=k{_joined(positions)}({source})")

    def _loop(self, place: int, plan: tuple[str, dict[int, Test], list[Test]]) -> None:
        source, keys, rest = plan
        text = self._text
        over = source
        if keys:
            over = f"b{place}"
            text.add(f"{over}={_index_name(source, tuple(keys))}.get({_key(keys)})")
            text.add(f"if {over}:", 1)
        if place:
            text.add(f"w+=len({over})")
            text.add(f"if w>{STEPS_PER_FIRING}*L or len(O)>L:V()")
        fact = _facts_name(place)
        text.add(f"for {fact} in {over}:", 1)
        if rest:
            text.add("if " + " and ".join(condition_expression(test, fact) for test in rest) + ":", 1)

    def _absent(self, pattern: Pattern, place: int) -> None:
        """Write the condition that no fact passes the tests; what follows stands inside it."""
        text = self._text
        keys = _equalities(pattern)
        rest = [test for test in pattern.tests if keys.get(test.position) is not test]
        source = f"t{pattern.type}"
        if keys and not rest:
            text.add(f"if {_key(keys)} not in {_index_name(source, tuple(keys))}:", 1)
            return
        over = f"{_index_name(source, tuple(keys))}.get({_key(keys)},())" if keys else source
        if not rest:
            text.add(f"if not {over}:", 1)
            return
        text.add(f"c{place}={over}")
        text.add(f"w+=len(c{place})")
        text.add(f"for g in c{place}:", 1)
        text.add("if " + " and ".join(condition_expression(test, "g") for test in rest) + ":break")
        text.depth -= 1
        text.add("else:", 1)

    def _fire(self, rule: Rule) -> None:
        text = self._text
        bound = [_facts_name(place) for place in range(len(rule.positive))]
        text.add(f"O.append(({rule.number},({''.join(name + ',' for name in bound)})))")
        for head in rule.heads:
            if head.type not in self._read:
                text.add(f"S.add({head_expression(head, bound)})")
                continue
            text.add(f"h={head_expression(head, bound)}")
            text.add(f"if h not in S:S.add(h);t{head.type}.append(h)")


def _joined(positions: tuple[int, ...]) -> str:
    return "_".join(map(str, positions))


def _index_name(source: str, positions: tuple[int, ...]) -> str:
    return f"x{source}_{_joined(positions)}"


def _lookup(positions: tuple[int, ...]) -> str:
    """Return the expression of a fact's key in an index over `positions`."""
    key = ",".join(f"g[{position + 1}]" for position in positions)
    return key if len(positions) == 1 else f"({key})"


def _key(keys: dict[int, Test]) -> str:
    values = [value_expression(test.value) for test in keys.values() if not isinstance(test.value, tuple)]
    return values[0] if len(values) == 1 else f"({','.join(values)})"


def _deltas(rule: Rule, own: Sequence[int]) -> Iterator[list[str]]:
    """Yield the sources of each positive pattern: one takes what is new, those before it what is older, those after it both."""
    for new, chosen in enumerate(rule.positive):
        if chosen.type not in own:
            continue
        yield [
            f"t{p.type}" if p.type not in own else f"{'o' if place < new else 'd' if place == new else 'a'}{p.type}"
            for place, p in enumerate(rule.positive)
        ]


class _TraceWriter(_StageWriter):
    """Writes a stage that looks at every candidate and reports the first condition that each fails; see `compiled.Miss`."""

    def _rule(self, rule: Rule, sources: Sequence[str]) -> None:
        text = self._text
        depth = text.depth
        text.add("for _ in (0,):", 1)
        bound: list[str] = []
        for place, (pattern, source) in enumerate(zip(rule.positive, sources, strict=True)):
            fact = _facts_name(place)
            text.add(f"if not {source}:M({rule.number},{place},-1,0,0,({''.join(bound)}))")
            text.add(f"w+=len({source})")
            text.add(f"if w>{STEPS_PER_FIRING}*L or len(O)>L:V()")
            text.add(f"for {fact} in {source}:", 1)
            bound.append(fact + ",")
            for number, test in enumerate(pattern.tests):
                text.add(
                    f"if not({condition_expression(test, fact)}):M({_miss(rule, place, number, test, fact, bound)});continue"
                )
        for place, pattern in enumerate(rule.negative, len(rule.positive)):
            self._refuted(rule, place, pattern, bound)
        self._fire(rule)
        text.depth = depth

    def _refuted(self, rule: Rule, place: int, pattern: Pattern, bound: list[str]) -> None:
        text = self._text
        tests = " and ".join(condition_expression(test, "g") for test in pattern.tests) or "1"
        text.add("c=None")
        text.add(f"w+=len(t{pattern.type})")
        text.add(f"for g in t{pattern.type}:", 1)
        text.add(f"if {tests}:c=g;break")
        text.depth -= 1
        text.add(f"if c is not None:M({rule.number},{place},-1,0,0,({''.join(bound)}c,));continue")


def _miss(rule: Rule, place: int, number: int, test: Test, fact: str, bound: list[str]) -> str:
    if isinstance(test.value, tuple):
        needed = "(" + "".join(f"{value:d}," for value in test.value) + ")"
    else:
        needed = value_expression(test.value)
    return f"{rule.number},{place},{number},{fact}[{test.position + 1}],{needed},({''.join(bound)})"


def generate(program: Program, *, tracing: bool = False) -> str:
    """Return the module text of `program`; with `tracing` each failed condition is reported to a callback."""
    lines: list[str] = []
    builders: dict[str, str] = {}
    names = []
    for place, stage in enumerate(program.stages):
        if not any(stratum.stage == stage for stratum in program.strata):
            continue
        names.append(place)
        writer = (_TraceWriter if tracing else _StageWriter)(program, stage)
        lines += writer.write(f"s{place}")
        builders |= writer.builders()
    table = "R={" + ",".join(f"{place}:s{place}" for place in names) + "}"
    return "\n".join([f"F={FORMAT}", *builders.values(), *lines, table]) + "\n"
