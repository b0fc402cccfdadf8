"""What the inference sections evaluate: a program, its fact sets, and whether the trace counts besides the findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from reflect_gate import load_bundle
from reflect_gate.facts import Domain, load_vocabulary
from reflect_gate.policy.model import EncodedFact, Program

from .engines import Facts
from .workload import STAGE, fact_sets, forty_rules

__all__ = ["CASES", "Case"]


class Case(NamedTuple):
    """A program and the facts of many evaluations of it."""

    program: Program
    sets: Sequence[Facts]
    trace: bool


def _forty() -> Case:
    program = forty_rules()
    return Case(program, [{STAGE: facts} for facts in fact_sets(program, 200)], trace=True)


def _value(rng: Random, domain: Domain, number: Callable[[str], int]) -> int:
    if domain.kind == "symbol":
        return number(rng.choice(domain.symbols))
    if domain.kind == "flag":
        return int(rng.random() < 0.85)
    return rng.randrange(101) if domain.kind == "scaled" else rng.randrange(5)


def _measured(program: Program, items: int, seed: int) -> Facts:
    """Return what is measured of four claims and `items` cited items; values that join nothing are drawn at random."""
    rng, vocabulary = Random(seed), load_vocabulary()
    numbers = {name: number for number, name in enumerate(program.symbols)}

    def number(name: str) -> int:
        return numbers.setdefault(name, len(numbers))

    def fact(name: str, **known: int) -> EncodedFact:
        fields = vocabulary.facts[name].fields
        drawn = [
            known[field] if field in known else _value(rng, vocabulary.domains[domain], number)
            for field, domain in fields.items()
        ]
        return (program.type_index(name), *drawn)

    ids = [number(f"item-{place}") for place in range(items)]
    claims = [number(field) for field in vocabulary.domains["field"].symbols]
    evidence = [fact("record", complete=1, items=items, traces=items), *[fact("item", item=own) for own in ids]]
    cited = [fact("cite", item=own, exists=1) for own in ids]
    support = [fact("support", field=claim, item=own) for claim in claims for own in ids]
    grounds = [*[fact("claim", field=claim, populated=1) for claim in claims], *cited, *support]
    return {"evidence": evidence, "ledger": [], "ground": grounds}


def _grounding(items: int, count: int) -> Case:
    others = [ruleset.name for ruleset in load_bundle("structured", as_of="2026-01-01").rulesets if ruleset.name != "grounding"]
    program = load_bundle("structured", disable=others, cache=False, as_of="2026-01-01").program
    return Case(program, [_measured(program, items, seed) for seed in range(count)], trace=False)


CASES: Final[Mapping[str, Callable[[], Case]]] = {
    "forty": _forty,
    "grounding-8": lambda: _grounding(8, 50),
    "grounding-200": lambda: _grounding(200, 4),
}
