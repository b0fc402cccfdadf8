"""Run one program on every engine and on the naive reading of its YAML, and say where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from reflect_gate.config import Limits
from reflect_gate.facts import Fact, load_vocabulary
from reflect_gate.infer import Engine
from reflect_gate.infer.compiled import Compiled
from reflect_gate.infer.durable import Durable, durable_missing
from reflect_gate.policy import Bundle
from reflect_gate.policy.model import EncodedFact, Firing, Interner, Join, Program

from .naive import Known, Naive, NaiveFiring

__all__ = ["Decoder", "differences", "engines_of"]


class Decoder:
    """Puts facts into numbers and firings back into what the naive reading calls them."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._interner = Interner(program.symbols, {name: number for number, name in enumerate(program.symbols)})
        self._measured = {declared.name: index for index, declared in enumerate(program.types) if not declared.owner}

    def encode(self, facts: Sequence[Fact]) -> list[EncodedFact]:
        """Return measured facts as the engines take them."""
        number = self._interner.number
        return [(self._measured[str(f[0])], *[number(v) if isinstance(v, str) else int(v) for v in f[1:]]) for f in facts]

    def fact(self, fact: EncodedFact) -> Known:
        """Return a fact as the naive reading calls it."""
        declared = self._program.types[fact[0]]
        domains = [load_vocabulary().domains[name] for name in declared.domains]
        named = [d.kind in {"symbol", "id"} for d in domains]
        values = [self._interner.name(v) if text else v for v, text in zip(fact[1:], named, strict=True)]
        return (f"{declared.owner}/{declared.name}", *values)

    def firing(self, firing: Firing) -> NaiveFiring:
        """Return a firing as the naive reading calls it."""
        return self._program.rules[firing[0]].name, tuple(map(self.fact, firing[1]))

    def derived(self, firings: Sequence[Firing]) -> set[Known]:
        """Return what the rules of `firings` derive."""
        found = set()
        for index, bound in firings:
            for head in self._program.rules[index].heads:
                values = [bound[v.pattern][v.position + 1] if isinstance(v, Join) else v for v in head.values]
                found.add(self.fact((head.type, *values)))
        return found


def engines_of(program: Program) -> dict[str, Engine]:
    """Return every engine that runs here."""
    found: dict[str, Engine] = {"compiled": Compiled(program), "tracing": Compiled(program, tracing=True)}
    if not durable_missing():
        found["durable"] = Durable(program)
    return found


def differences(
    bundle: Bundle,
    engines: Mapping[str, Engine],
    documents: Sequence[Mapping[str, Any]],
    facts: Mapping[str, list[Fact]],
    rng: Random,
) -> tuple[list[str], int]:
    """Return a line for each stage in which an engine differs from the naive reading, and how many firings there were.

    Each engine gets the facts of a stage in an order of its own.
    """
    naive = Naive(documents)
    expected = {stage: naive.advance(stage, own) for stage, own in facts.items()}
    known = Decoder(bundle.program)
    found = []
    for name, engine in engines.items():
        fired: list[Firing] = []
        with engine.session(Limits()) as session:
            for stage, own in facts.items():
                shuffled = rng.sample(own, len(own))
                firings = session.advance(stage, known.encode(shuffled))
                fired += firings
                got = set(map(known.firing, firings))
                if got != expected[stage] or len(got) != len(firings) or firings != sorted(firings):
                    missing, extra = expected[stage] - got, got - expected[stage]
                    found.append(f"{name} in stage {stage}: missing {sorted(missing)[:3]}, extra {sorted(extra)[:3]}")
        if not found and not known.derived(fired) <= naive.facts:
            found.append(f"{name}: derives {sorted(known.derived(fired) - naive.facts)[:3]}")
    return found, sum(map(len, expected.values()))
