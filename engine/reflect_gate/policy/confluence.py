"""Whether order matters: rules and facts in other orders must come to the same program, firings and findings.

Each round compiles the rule sets with their rules and files in another order, which must give the same program; then runs the
cases of facts with their facts in another order through every engine that can be had, and through the compiled engine with the
strata in another order that their dependencies allow.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from .._canonical import canonical_bytes
from ..errors import ReflectGateError, Source
from ..infer import Engine, make_engine
from .bench import Bench, Encoded, Shelf
from .bundle import Bundle
from .case_files import CASES_SUFFIX, CaseDecl
from .cases import case_files, read_cases
from .codec import encode_program
from .compile import compile_program
from .lint.world import World, names_of_world, read_world
from .model import EncodedFact, Firing, Program, Rule, Stratum
from .problems import Problems

__all__ = ["Shuffled", "check_confluence", "reordered"]

T = TypeVar("T")


class Shuffled(NamedTuple):
    """What was tried: cases, runs of them in other orders, and what came out otherwise."""

    cases: int
    runs: int
    differences: tuple[ReflectGateError, ...]


def check_confluence(policies: str | Path | None, paths: Iterable[str | Path], rounds: int, seed: int) -> Shuffled:
    """Try `rounds` other orders of the rules, and of the facts of each case at `paths`; raises what cannot be read or run."""
    world, shelf = read_world(policies), Shelf(policies)
    found = [error for number in range(rounds) for error in _compiled(world, _draw(seed, number))]
    cases = runs = 0
    for path in case_files(paths):
        if path.name.endswith(CASES_SUFFIX):
            bench = Bench(read_cases(path.read_bytes(), str(path)), policies, shelf)
            tried = [case for case in bench.cases.cases if case.facts is not None]
            cases += len(tried)
            runs += len(tried) * rounds
            found += _ruleset(bench, tried, rounds, seed)
    return Shuffled(cases, runs, tuple(found))


def _draw(*of: object) -> random.Random:
    return random.Random("/".join(map(str, of)))  # noqa: S311 - orders to try, no secrets


def _compiled(world: World, draw: random.Random) -> list[ReflectGateError]:
    """Return what is wrong where the rules of every file stand in another order."""
    sets = [dataclasses.replace(checked, rules=_drawn(checked.rules, draw)) for checked in world.checked.values()]
    program = compile_program(_drawn(sets, draw), names_of_world(world), Problems())
    if program is not None and _meaning(program) == _meaning(world.program):
        return []
    message = "the rules compile to another program when their files list them in another order"
    return [ReflectGateError("policy-confluence", message, Source(world.policies.file))]


def _meaning(program: Program) -> bytes:
    return canonical_bytes(encode_program(program, meaning_only=True))


def _drawn(items: Sequence[T], draw: random.Random) -> tuple[T, ...]:
    return tuple(draw.sample(list(items), len(items)))


def _ruleset(bench: Bench, cases: Sequence[CaseDecl], rounds: int, seed: int) -> list[ReflectGateError]:
    found = []
    known = [(case, bench.encode(case)) for case in cases]
    wanted = [_run(ready.gate.engine_of(ready.stage), ready, ready.facts, ready.gate.program) for _, ready in known]
    for number in range(rounds):
        draw = _draw(seed, bench.cases.ruleset, number)
        engines: dict[str, tuple[Engine, Program]] = {}
        for (case, ready), expected in zip(known, wanted, strict=True):
            program = ready.gate.program
            facts = _drawn(ready.facts, draw)
            key = ready.gate.bundle.digest
            if key not in engines:
                moved = reordered(program, draw)
                engines[key] = make_engine(moved, "compiled", cross_check=False), moved
            runs = ((ready.gate.engine_of(ready.stage), program), engines[key])
            if any(_run(engine, ready, facts, of) != expected for engine, of in runs):
                name = f"{bench.cases.ruleset}/{case.id}"
                message = f"case `{name}` comes out otherwise when rules and facts stand in another order (round {number + 1})"
                found.append(ReflectGateError("policy-confluence", message, case.source))
    return found


def _run(engine: Engine, ready: Encoded, facts: Sequence[EncodedFact], program: Program) -> frozenset[tuple[str, object]]:
    bundle: Bundle = ready.gate.bundle
    with engine.session(bundle.limits) as session:
        fired: list[Firing] = session.advance(ready.stage, facts)
    return frozenset((program.rules[index].name, bound) for index, bound in fired)


def reordered(program: Program, draw: random.Random) -> Program:
    """Return `program` with its strata, and the rules in each, in another order that their dependencies allow."""
    strata: list[Stratum] = []
    for stage in program.stages:
        strata += _order([stratum for stratum in program.strata if stratum.stage == stage], program, draw)
    rules: list[Rule] = []
    placed: list[Stratum] = []
    for place, stratum in enumerate(strata):
        members = _drawn(stratum.rules, draw)
        first = len(rules)
        rules += [program.rules[old]._replace(number=first + new, stratum=place) for new, old in enumerate(members)]
        placed.append(stratum._replace(rules=tuple(range(first, len(rules)))))
    return program._replace(rules=tuple(rules), strata=tuple(placed))


def _order(strata: Sequence[Stratum], program: Program, draw: random.Random) -> list[Stratum]:
    """Return the strata of a stage in a drawn order in which every reader still comes after what it reads."""
    heads = [{head.type for rule in stratum.rules for head in program.rules[rule].heads} for stratum in strata]
    reads = [
        {pattern.type for rule in stratum.rules for pattern in (*program.rules[rule].positive, *program.rules[rule].negative)}
        for stratum in strata
    ]
    left, done = list(range(len(strata))), []
    while left:
        ready = [one for one in left if not any(heads[other] & reads[one] for other in left if other != one)]
        chosen = draw.choice(ready)
        left.remove(chosen)
        done.append(strata[chosen])
    return done
