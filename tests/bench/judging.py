"""The sections beyond inference: a whole evaluation beside other gates, the start of a process, and the lexicons."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from reflect_gate import evaluate, load_bundle
from reflect_gate.measure.lexicon import LexiconSet, wrapped
from reflect_gate.measure.text import normalise
from reflect_gate.policy import Bundle

from .table import Budget, Row, Section
from .texts import Texts
from .timing import Sampler, alternate, ratio, sampler, spread, timed

__all__ = ["lexicons", "process_start", "whole"]

_STORE_SIZES: Final = (100, 400, 800)
"""Texts that a gate holds; the last is the size of the logged corpus, at which the budget stands."""

_SAMPLE: Final = 40
_COMMAND: Final = "from reflect_gate.cli import entry; entry()"
"""What the installed `reflect-gate` script runs."""


def _gate(held: Sequence[str]) -> Any:
    """Return an assay gate that holds these texts, put into it by its own `add`."""
    gate = importlib.import_module("assay_gate").Gate()
    for text in held:
        gate.add(text)
    return gate


def _variants(plain: Sequence[str], count: int) -> list[str]:
    """Return `count` different texts: those given, and after them the same with a number."""
    rounds = (f"{text} ({again})" if again else text for again in itertools.count() for text in plain)
    return list(itertools.islice(rounds, count))


def _adding(held: int, plain: Sequence[str], seconds: float) -> Sampler:
    """Return the task that adds new texts to a gate that holds `held`, and takes what it admitted out again."""
    gate = _gate(_variants(plain, held))
    fresh = (f"{text} [{number}]" for number, text in enumerate(itertools.cycle(plain)))
    texts = gate._texts

    def step() -> None:
        for text in itertools.islice(fresh, _SAMPLE):
            gate.add(text)
            del texts[held:]

    return sampler(step, _SAMPLE, seconds)


def _guarding(plain: Sequence[str], seconds: float) -> Sampler:
    """Return the task that writes texts through agent-memory-guard, each under a key of its own."""
    guard = importlib.import_module("agent_memory_guard").MemoryGuard()
    numbers = itertools.count()
    texts = itertools.cycle(plain)

    def step() -> None:
        for text in itertools.islice(texts, _SAMPLE):
            guard.write(f"lesson-{next(numbers)}", text)

    return sampler(step, _SAMPLE, seconds)


def _evaluating(requests: Sequence[dict[str, Any]], bundle: Bundle, seconds: float) -> Sampler:
    size = min(len(requests), 5 * _SAMPLE)
    around = itertools.cycle(requests)

    def step() -> None:
        for request in itertools.islice(around, size):
            evaluate(request, bundle)

    return sampler(step, size, seconds)


def whole(rounds: int, seconds: float, texts: Texts, sizes: Sequence[int] = _STORE_SIZES) -> Section:
    """Judge texts by ours, which reads of a store what the request brings, and by the peers, some of them over growing stores."""
    bundle = load_bundle("structured", cache=False)
    for request in texts.requests:
        evaluate(request, bundle)
    ours = f"evaluate, {bundle.engine}{', cross-checked' if bundle.cross_check else ''}"
    tasks = {ours: _evaluating(texts.requests, bundle, seconds)}
    full = f"assay-gate Gate.add, {_STORE_SIZES[-1]} held"
    if importlib.util.find_spec("assay_gate"):
        tasks |= {f"assay-gate Gate.add, {size} held": _adding(size, texts.plain, seconds) for size in sizes}
    if importlib.util.find_spec("agent_memory_guard"):
        tasks["agent-memory-guard write, permissive"] = _guarding(texts.plain, seconds)
    times = alternate(tasks, rounds)
    rows = [Row(name, spread(own), ratio(own, times[ours])) for name, own in times.items()]
    budgets = (
        [Budget(f"evaluate against Gate.add, {_STORE_SIZES[-1]} held", ratio(times[full], times[ours]), ">=", 2.0)]
        if full in times
        else []
    )
    note = f"a text of {texts.origin}; ratio: how many times the time of evaluate"
    return Section("whole", note, rows, budgets)


@contextmanager
def _environment(request: Mapping[str, Any]) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield a request file, and an environment whose bundle cache and byte code are its own; the first run of each warms them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "request.json"
        file.write_text(json.dumps(request), encoding="utf-8")
        kept = {key: value for key, value in os.environ.items() if not key.startswith("REFLECT_GATE_")}
        kept.pop("PYTHONDONTWRITEBYTECODE", None)
        yield (
            file,
            {
                **kept,
                "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
                "REFLECT_GATE_CACHE": str(folder / "cache"),
                "REFLECT_GATE_HOME": str(folder / "home"),
            },
        )


def _process(command: Sequence[str], environment: Mapping[str, str], expected: Sequence[int]) -> Sampler:
    def step() -> None:
        done = subprocess.run(command, env=dict(environment), stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode not in expected:
            raise RuntimeError(f"{' '.join(command[1:])} ended with {done.returncode}: {done.stderr.decode()[-500:]}")

    return timed(step)


def process_start(rounds: int, texts: Texts) -> Section:
    """Start processes, one after another: the gate over one request, its help, a peer's import, and Python itself."""
    python, ours = sys.executable, "reflect-gate evaluate FILE"
    with _environment(texts.requests[0]) as (file, environment):
        tasks = {
            "python -c pass": _process([python, "-c", "pass"], environment, [0]),
            "reflect-gate --help": _process([python, "-c", _COMMAND, "--help"], environment, [0]),
            ours: _process([python, "-c", _COMMAND, "evaluate", str(file)], environment, [0, 4, 5]),
        }
        peer = 'python -c "import assay_gate"'
        if importlib.util.find_spec("assay_gate"):
            tasks[peer] = _process([python, "-c", "import assay_gate"], environment, [0])
        times = alternate(tasks, rounds)
    yardstick = times.get(peer, times["python -c pass"])
    rows = [Row(name, spread(own), ratio(own, yardstick)) for name, own in times.items()]
    budgets = (
        [Budget("evaluate FILE against the import of assay_gate", ratio(times[ours], times[peer]), "<=", 3.0)]
        if peer in times
        else []
    )
    note = f"a process, byte code and bundle cache warm; ratio: how many times {peer if peer in times else 'python -c pass'}"
    return Section("start", note, rows, budgets)


def _loop(bundle: Bundle) -> Callable[[Mapping[str, str]], set[tuple[str, str]]]:
    """Return what finds the lexicons of a bundle by one `re` search a pattern."""
    patterns = [
        (lexicon.name, re.compile(wrapped(pattern).replace("(?i)", ""), re.IGNORECASE | re.ASCII))
        for lexicon in bundle.lexicons.values()
        for group in lexicon.groups
        for pattern in group.patterns
    ]

    def hits(fields: Mapping[str, str]) -> set[tuple[str, str]]:
        found = set()
        for target, text in fields.items():
            normal = normalise(text).text
            found |= {(name, target) for name, pattern in patterns if any(pattern.finditer(normal))}
        return found

    return hits


def lexicons(rounds: int, seconds: float, texts: Texts) -> Section:
    """Find every pattern of every lexicon in the fields of reflections; both ways hit the same lexicons before a time counts."""
    bundle = load_bundle("structured", cache=False)
    fields = [
        {key: value for key, value in request["reflection"].items() if isinstance(value, str) and key != "outcome"}
        for request in texts.requests
    ]
    ours, loop = LexiconSet(bundle.lexicons), _loop(bundle)
    for given in fields[:100]:
        if {(hit.lexicon, hit.target) for hit in ours.hits(given)} != loop(given):
            raise RuntimeError("the lexicons and the loop over `re` do not find the same")
    steps: dict[str, Callable[[Mapping[str, str]], object]] = {
        "LexiconSet, with spans and coverage": ours.hits,
        "re, a search a pattern": loop,
    }
    times = alternate({name: _over(hits, fields, seconds) for name, hits in steps.items()}, rounds)
    slow = times["re, a search a pattern"]
    rows = [Row(name, spread(own), ratio(slow, own)) for name, own in times.items()]
    count = sum(len(group.patterns) for lexicon in bundle.lexicons.values() for group in lexicon.groups)
    return Section("lexicons", f"{count} patterns over the fields of a reflection; ratio to the loop", rows)


def _over(hits: Callable[[Mapping[str, str]], object], fields: Sequence[Mapping[str, str]], seconds: float) -> Sampler:
    around = itertools.cycle(fields)

    def step() -> None:
        for given in itertools.islice(around, 10):
            hits(given)

    return sampler(step, 10, seconds)
