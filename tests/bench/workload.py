"""The inference workload: 40 rules in four chained levels over 25 facts, written once and translated for every engine.

A rule reads `name: pattern & pattern & !pattern -> head`; a pattern `type alias(field op value, …)`, where a value is a number, a
word or another pattern's `alias.field`. The rules hold comparisons, equality joins over two and three patterns, and absence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, get_args

from reflect_gate.errors import Source
from reflect_gate.policy.model import EncodedFact, Head, Join, Operator, Pattern, Program, Rule, Stratum, Test, TypeDecl

__all__ = ["STAGE", "fact_sets", "forty_rules"]

STAGE: Final = "judge"
_MEASURED: Final = {
    "case": "id severity outcome attempts",
    "claim": "id kind confidence reach modality",
    "proof": "id claim origin stance weight",
    "mark": "id claim label times",
    "near": "id claim relation similarity",
    "finding": "verdict reason about",
}
_WORDS: Final = (
    "failed passed cause fix rule local global may must test log user model for against "
    "absolute hedge vague blame injection secret duplicate contrary refines "
    "reject revise defer keep hold all c0 c1 c2 c3"
).split()
_RULES: Final = """
sure: claim c(confidence gte 80) -> sure(c.id)
unsure: claim c(confidence lt 40) -> unsure(c.id)
sweeping: claim c(reach eq global, modality eq must) -> sweeping(c.id)
tested: proof p(origin eq test, stance eq for, weight gte 70) -> tested(p.claim)
told: proof p(origin eq user, stance eq for) -> told(p.claim)
opposed: proof p(stance eq against, weight gte 50) -> opposed(p.claim)
own-word: proof p(origin eq model) -> own_word(p.claim)
logged: proof p(origin eq log, weight gte 40) -> logged(p.claim)
absolute: mark m(label eq absolute, times gte 2) -> absolute(m.claim)
hedged: mark m(label eq hedge) -> hedged(m.claim)
injected: mark m(label eq injection) -> injected(m.claim)
leaking: mark m(label eq secret) -> leaking(m.claim)
known: near n(relation eq duplicate, similarity gte 90) -> known(n.claim)
rival: near n(relation eq contrary, similarity gte 70) -> rival(n.claim)
grave: case f(outcome eq failed, severity gte 3) -> grave(f.id)

overstated: sweeping s() & absolute a(claim eq s.claim) -> overstated(s.claim)
earned: sure s() & tested t(claim eq s.claim) -> earned(s.claim)
contested: tested t() & opposed o(claim eq t.claim) -> contested(t.claim)
guess: hedged h() & unsure u(claim eq h.claim) -> guess(h.claim)
clash: rival r() & sure s(claim eq r.claim) -> clash(r.claim)
refuted: sweeping s() & opposed o(claim eq s.claim) -> refuted(s.claim)
verified: claim c(kind eq fix) & tested t(claim eq c.id) & told u(claim eq c.id) -> verified(c.id)
traced: logged l() & tested t(claim eq l.claim) & claim c(id eq l.claim, kind ne rule) -> traced(c.id)
shaky: hedged h() & opposed o(claim eq h.claim) & logged l(claim eq h.claim) -> shaky(h.claim)
redundant: known k() & claim c(id eq k.claim, kind ne cause) -> redundant(c.id)
unsafe: injected i() & claim c(id eq i.claim) -> unsafe(c.id)
leak: leaking l() & claim c(id eq l.claim) -> leak(c.id)

unearned: sure s() & !tested(claim eq s.claim) -> unearned(s.claim)
self-referring: own_word o() & !told(claim eq o.claim) -> self_referring(o.claim)
blocked-unsafe: unsafe u() -> blocked(u.claim)
blocked-leak: leak l() -> blocked(l.claim)
bad-overstated: overstated o() -> bad(o.claim)
bad-unearned: unearned u() -> bad(u.claim)
open: contested c() & !verified(claim eq c.claim) -> open(c.claim)
good: earned e() & !contested(claim eq e.claim) & !refuted(claim eq e.claim) -> good(e.claim)

reject: blocked b() -> finding(reject, reject, b.claim)
revise: bad b() & !blocked(claim eq b.claim) -> finding(revise, revise, b.claim)
defer: open o() & !bad(claim eq o.claim) & !blocked(claim eq o.claim) -> finding(defer, defer, o.claim)
keep: good g() & grave f() & !bad(claim eq g.claim) & !blocked(claim eq g.claim) -> finding(keep, keep, g.claim)
hold: case f() & !blocked() & !bad() & !good() -> finding(hold, hold, all)
"""
_PATTERN = re.compile(r"(?P<negated>!?)(?P<type>\w+)(?: (?P<alias>\w+))?\((?P<inside>.*)\)")
_OPERATORS: Mapping[str, Operator] = {name: name for name in get_args(Operator)}


class _Reader:
    """Reads the rules above; a type that only heads name has one field for each of its values, the first called `claim`."""

    def __init__(self) -> None:
        self.fields = {name: fields.split() for name, fields in _MEASURED.items()}
        self.names = list(self.fields)
        self.rules: list[Rule] = []
        for line in filter(None, map(str.strip, _RULES.splitlines())):
            self.rules.append(self._rule(line))

    def _rule(self, line: str) -> Rule:
        index = len(self.rules)
        source = Source("forty.rules", index + 1)
        name, _, rest = line.partition(": ")
        when, _, then = rest.partition(" -> ")
        positive: list[Pattern] = []
        negative: list[Pattern] = []
        for text in when.split(" & "):
            pattern = self._pattern(text, positive, source)
            (negative if pattern.negated else positive).append(pattern)
        head = self._head(then, positive)
        return Rule(index, name, "forty", STAGE, index, name, tuple(positive), tuple(negative), (head,), source)

    def _pattern(self, text: str, positive: Sequence[Pattern], source: Source) -> Pattern:
        match = _PATTERN.fullmatch(text)
        assert match, text
        fields = self.fields[match["type"]]
        tests = []
        for part in filter(None, match["inside"].split(", ")):
            field, op, value = part.split()
            tests.append(Test(fields.index(field), field, _OPERATORS[op], self._value(value, positive), "", source))
        return Pattern(self.names.index(match["type"]), match["alias"] or "", bool(match["negated"]), tuple(tests), source)

    def _value(self, text: str, positive: Sequence[Pattern]) -> int | Join:
        if text.isdigit():
            return int(text)
        if "." not in text:
            return _WORDS.index(text)
        alias, field = text.split(".")
        place = next(number for number, pattern in enumerate(positive) if pattern.alias == alias)
        return Join(place, self.fields[self.names[positive[place].type]].index(field))

    def _head(self, text: str, positive: Sequence[Pattern]) -> Head:
        match = _PATTERN.fullmatch(text)
        assert match, text
        name, values = match["type"], match["inside"].split(", ")
        if name not in self.fields:
            self.fields[name] = ["claim"]
            self.names.append(name)
        return Head(self.names.index(name), tuple(self._value(value, positive) for value in values))


def forty_rules() -> Program:
    """Return the program; each rule is a stratum of its own, readers after derivers."""
    read = _Reader()
    types = tuple(
        TypeDecl(name, tuple(fields), ("count",) * len(fields), "" if name in _MEASURED else "forty")
        for name, fields in read.fields.items()
    )
    strata = tuple(Stratum(STAGE, (rule.number,), recursive=False) for rule in read.rules)
    return Program(types, tuple(_WORDS), tuple(read.rules), strata, (), (STAGE,))


def _one(program: Program, rng: Random) -> list[EncodedFact]:
    word = _WORDS.index
    claims = [word(f"c{number}") for number in range(4)]
    ids = iter(range(1_000, 2_000))

    def fact(name: str, *values: int) -> EncodedFact:
        return (program.type_index(name), *values)

    def pick(names: str, weights: Sequence[float] | None = None) -> int:
        return word(rng.choices(names.split(), weights)[0])

    facts = [fact("case", next(ids), rng.randrange(6), pick("failed failed passed"), rng.randrange(1, 6))]
    for claim in claims:
        reach, modality = pick("local local global"), pick("may must")
        facts.append(fact("claim", claim, pick("cause fix rule"), rng.randrange(20, 101), reach, modality))
    for _ in range(8):
        origin, stance = pick("test test log user model"), pick("for against", (3, 1))
        facts.append(fact("proof", next(ids), rng.choice(claims), origin, stance, rng.randrange(30, 101)))
    for _ in range(8):
        label = pick("absolute hedge vague blame injection secret", (4, 4, 4, 4, 0.15, 0.15))
        facts.append(fact("mark", next(ids), rng.choice(claims), label, rng.randrange(1, 4)))
    for _ in range(4):
        relation = pick("duplicate contrary refines refines")
        facts.append(fact("near", next(ids), rng.choice(claims), relation, rng.randrange(40, 101)))
    return facts


def fact_sets(program: Program, count: int, seed: int = 11) -> list[list[EncodedFact]]:
    """Return `count` times 25 facts, the same for the same seed."""
    rng = Random(seed)
    return [_one(program, rng) for _ in range(count)]
