"""The inference sections: 40 rules over 25 facts, and the shipped `grounding` rule set over few and many items."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

from reflect_gate import load_bundle
from reflect_gate.facts import Domain, load_vocabulary
from reflect_gate.infer.compiled import Compiled
from reflect_gate.infer.durable import Durable, durable_missing
from reflect_gate.policy.model import EncodedFact, Program

from .clips_engine import Clips
from .engines import Contender, Facts, Own
from .rego_engine import Regorus
from .table import Budget, Row, Section
from .timing import Task, alternate, ratio, spread
from .workload import STAGE, fact_sets, forty_rules
from .zen_engine import Zen

__all__ = ["PEERS", "agree", "contenders", "forty", "grounding", "grounding_facts", "grounding_program"]

PEERS: Final[Mapping[str, Callable[..., Contender]]] = {"clips": Clips, "regorus": Regorus, "zen": Zen}
"""The module that a peer needs, and how it is made."""

_SETS = 200


def contenders(program: Program, *, trace: bool, names: Sequence[str] = tuple(PEERS)) -> list[Contender]:
    """Return the engines of this project that run here, and the peers that are installed."""
    found: list[Contender] = [Own("compiled", Compiled(program), program)]
    if not durable_missing():
        found.append(Own("durable", Durable(program), program))
    return found + [PEERS[name](program, trace=trace) for name in names if importlib.util.find_spec(name)]


def agree(engines: Sequence[Contender], sets: Sequence[Facts], *, trace: bool) -> int:
    """Return how many findings there were; `RuntimeError` where an engine finds, or with `trace` derives, anything else."""
    first, *others = engines
    count = 0
    for number, facts in enumerate(sets):
        expected = first.run(first.prepare(facts))
        derived = first.derived(expected.trace)
        count += len(expected.findings)
        for other in others:
            answer = other.run(other.prepare(facts))
            if answer.findings != expected.findings or (trace and other.derived(answer.trace) != derived):
                raise RuntimeError(f"{other.name} and {first.name} do not conclude the same of fact set {number}")
    return count


def _task(engine: Contender, sets: Sequence[Facts], chunk: int) -> Task:
    """Return the task that goes round the fact sets, `chunk` of them a step."""
    prepared = itertools.cycle([engine.prepare(facts) for facts in sets])
    run = engine.run

    def step() -> None:
        for facts in itertools.islice(prepared, chunk):
            run(facts)

    return Task(step, chunk)


def _time(engines: Sequence[Contender], sets: Sequence[Facts], rounds: int, seconds: float) -> dict[str, list[float]]:
    return alternate({engine.name: _task(engine, sets, min(20, len(sets))) for engine in engines}, rounds, seconds)


def _rows(times: Mapping[str, list[float]], prefix: str = "") -> list[Row]:
    yardstick = times.get("clipspy")
    return [Row(prefix + name, spread(own), ratio(yardstick, own) if yardstick else None) for name, own in times.items()]


def forty(rounds: int, seconds: float, names: Sequence[str] = tuple(PEERS)) -> Section:
    """Run the 40 rules; every engine agrees on 200 fact sets, findings and derivations, before a time counts."""
    program = forty_rules()
    sets: list[Facts] = [{STAGE: facts} for facts in fact_sets(program, _SETS)]
    engines = contenders(program, trace=True, names=names)
    found = agree(engines, sets, trace=True)
    times = _time(engines, sets, rounds, seconds)
    wanted = [("durable", "clipspy", 2.0), ("durable", "regorus", 1.1), ("compiled", "durable", 5.0)]
    budgets = [
        Budget(f"{own} against {other}", ratio(times[other], times[own]), ">=", bound)
        for own, other, bound in wanted
        if own in times and other in times
    ]
    note = f"one evaluation of 40 rules over 25 facts ({found} findings in {_SETS}); ratio to clipspy"
    return Section("40 rules", note, _rows(times), budgets)


def grounding_program() -> Program:
    """Return the shipped `grounding` rule set alone."""
    return load_bundle("structured", disable=["calibration", "admission", "blame"], cache=False).program


def _value(rng: Random, domain: Domain, number: Callable[[str], int]) -> int:
    if domain.kind == "symbol":
        return number(rng.choice(domain.symbols))
    if domain.kind == "flag":
        return int(rng.random() < 0.85)
    return rng.randrange(101) if domain.kind == "scaled" else rng.randrange(5)


def grounding_facts(program: Program, items: int, seed: int) -> dict[str, list[EncodedFact]]:
    """Return what is measured of four claims and `items` cited items; values are drawn at random."""
    rng, vocabulary = Random(seed), load_vocabulary()
    numbers = {name: number for number, name in enumerate(program.symbols)}

    def number(name: str) -> int:
        return numbers.setdefault(name, len(numbers))

    def fact(name: str, **known: int) -> EncodedFact:
        fields = vocabulary.facts[name].fields
        drawn = {f: known[f] if f in known else _value(rng, vocabulary.domains[d], number) for f, d in fields.items()}
        return (program.type_index(name), *drawn.values())

    ids = [number(f"item-{place}") for place in range(items)]
    claims = [number(field) for field in vocabulary.domains["field"].symbols]
    evidence = [fact("record", complete=1, items=items, traces=items), *[fact("item", item=own) for own in ids]]
    cited = [fact("cite", item=own, exists=1) for own in ids]
    support = [fact("support", field=claim, item=own) for claim in claims for own in ids]
    grounds = [*[fact("claim", field=claim, populated=1) for claim in claims], *cited, *support]
    return {"evidence": evidence, "ledger": [], "ground": grounds}


def grounding(rounds: int, seconds: float, names: Sequence[str] = tuple(PEERS)) -> Section:
    """Run the rule set `grounding`; every engine agrees on the findings of each fact set before a time counts."""
    program = grounding_program()
    rows: list[Row] = []
    for items, count in ((8, 50), (200, 4)):
        sets: list[Any] = [grounding_facts(program, items, seed) for seed in range(count)]
        engines = contenders(program, trace=False, names=names)
        agree(engines, sets, trace=False)
        rows += _rows(_time(engines, sets, rounds, seconds), f"4 claims × {items} items, ")
    rules = len(program.rules)
    note = f"the {rules} rules of the shipped rule set; peers give findings only, ours every firing; ratio to clipspy"
    return Section("grounding", note, rows)
