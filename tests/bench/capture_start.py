"""How long `reflect-gate capture` takes, as a process, against a bare interpreter and against one that only imports click.

    python tests/bench/capture_start.py --runs 30

Every run captures another failure of `--bytes` into a fresh queue. CPU seconds of the process, medians; printed as JSON, with the
part of the time that `put` takes of it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["Taken", "measure"]

COMMANDS: Final = {
    "bare python": ["-c", ""],
    "import click": ["-c", "import click"],
    "capture": ["-m", "reflect_gate", "capture", "-"],
}


class Taken(NamedTuple):
    """Medians of one command, in milliseconds."""

    cpu: float
    wall: float


def _one(command: list[str], data: bytes, environ: dict[str, str]) -> tuple[float, float]:
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *command], input=data, env=environ, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1000 * cpu, 1000 * wall


def measure(runs: int, size: int) -> dict[str, Taken]:
    """Return the medians of each command; they take turns, so that a busy machine is as busy for all."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "REFLECT_GATE_HOME": home, "REFLECT_GATE_CACHE": str(Path(home) / "cache")}
        for number in range(runs + 1):
            trace = {"kind": "error", "text": "x y\n" * (size // 4), "error_class": "TimeoutError"}
            data = json.dumps({"failure_id": f"run-{number}", "outcome": None, "traces": [trace]}).encode()
            for name, command in COMMANDS.items():
                once = _one(command, data, environ)
                # The first round reads every file from the disk.
                if number:
                    taken[name].append(once)
    pick: Callable[[list[tuple[float, float]], int], float] = lambda found, at: round(statistics.median(x[at] for x in found), 1)  # noqa: E731
    return {name: Taken(pick(found, 0), pick(found, 1)) for name, found in taken.items()}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--bytes", type=int, default=20_000)
    options = parser.parse_args()
    found = measure(options.runs, options.bytes)
    ratio = round(found["capture"].cpu / found["bare python"].cpu, 1)
    print(json.dumps({**{name: each._asdict() for name, each in found.items()}, "capture / bare (cpu)": ratio}, indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
