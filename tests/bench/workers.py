"""One process for each engine, as in life: no heap, allocator setting or garbage of one is another's.

usage: workers.py CASE ENGINE

A worker evaluates every fact set of its case, prints the number of findings and a digest of all conclusions as JSON, and then,
for every line on standard input that names seconds, goes on evaluating for about that long and prints the seconds of one of them.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Final

if __package__:
    from .cases import CASES, Case
    from .clips_engine import Clips
    from .engines import Contender, Own
    from .rego_engine import Regorus
    from .timing import Sampler
    from .zen_engine import Zen
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.bench.cases import CASES, Case
    from tests.bench.clips_engine import Clips
    from tests.bench.engines import Contender, Own
    from tests.bench.rego_engine import Regorus
    from tests.bench.timing import Sampler
    from tests.bench.zen_engine import Zen

from reflect_gate.infer.compiled import Compiled
from reflect_gate.infer.durable import Durable, durable_missing

__all__ = ["ENGINES", "DisagreementError", "installed", "samplers"]

ENGINES: Final[Mapping[str, tuple[str, Callable[[Case], Contender]]]] = {
    "compiled": ("reflect_gate", lambda case: Own("compiled", Compiled(case.program), case.program)),
    "durable": ("durable_rules_engine", lambda case: Own("durable", Durable(case.program), case.program)),
    "clipspy": ("clips", lambda case: Clips(case.program, trace=case.trace)),
    "regorus": ("regorus", lambda case: Regorus(case.program, trace=case.trace)),
    "zen-engine": ("zen", lambda case: Zen(case.program, trace=case.trace)),
}
"""The module that an engine needs, and how it is made."""


class DisagreementError(Exception):
    """Two engines do not conclude the same; no time of theirs may be compared."""


def installed() -> list[str]:
    """Return the engines that can run here."""
    found = [name for name, (module, _) in ENGINES.items() if importlib.util.find_spec(module)]
    return [name for name in found if name != "durable" or not durable_missing()]


def _digest(engine: Contender, case: Case) -> tuple[int, str]:
    count, conclusions = 0, hashlib.sha256()
    for facts in case.sets:
        answer = engine.run(engine.prepare(facts))
        count += len(answer.findings)
        conclusions.update(repr(sorted(tuple(map(int, finding)) for finding in answer.findings)).encode())
        if case.trace:
            conclusions.update(repr(sorted(engine.derived(answer.trace))).encode())
    return count, conclusions.hexdigest()


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _work(case: Case, engine: Contender, orders: IO[str]) -> None:
    count, digest = _digest(engine, case)
    _say(json.dumps({"findings": count, "digest": digest}))
    prepared, run = [engine.prepare(facts) for facts in case.sets], engine.run
    for line in orders:
        wanted, done = float(line), 0
        begun = time.process_time()
        while not done or time.process_time() - begun < wanted:
            for facts in prepared:
                run(facts)
            done += len(prepared)
        _say(repr((time.process_time() - begun) / done))


def _sampler(worker: subprocess.Popen[str], seconds: float) -> Sampler:
    def sample() -> float:
        assert worker.stdin
        assert worker.stdout
        worker.stdin.write(f"{seconds}\n")
        worker.stdin.flush()
        return float(worker.stdout.readline())

    return sample


def _first_words(worker: subprocess.Popen[str]) -> dict[str, Any]:
    assert worker.stdout
    line = worker.stdout.readline()
    if not line:
        raise RuntimeError(f"a worker ended with {worker.wait()}: {worker.args!r}")
    words: dict[str, Any] = json.loads(line)
    return words


@contextmanager
def samplers(case: str, engines: Sequence[str], seconds: float) -> Iterator[tuple[dict[str, Sampler], int]]:
    """Yield a sampler for each engine, of about `seconds` a sample, and the number of findings on which they agree.

    Raises:
        DisagreementError: an engine concludes anything else than the first one.
    """
    with ExitStack() as running:
        workers: dict[str, subprocess.Popen[str]] = {}
        for name in engines:
            command = [sys.executable, str(Path(__file__)), case, name]
            worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            # Leaving a worker closes its standard input, at which it ends.
            workers[name] = running.enter_context(worker)
        said = {name: _first_words(worker) for name, worker in workers.items()}
        first = said[engines[0]]
        for name, own in said.items():
            if own != first:
                raise DisagreementError(f"{name} and {engines[0]} do not conclude the same of `{case}`: {own} and {first}")
        yield {name: _sampler(worker, seconds) for name, worker in workers.items()}, first["findings"]


def _main(case: str, engine: str) -> None:
    chosen = CASES[case]()
    _work(chosen, ENGINES[engine][1](chosen), sys.stdin)


if __name__ == "__main__":
    _main(*sys.argv[1:])
