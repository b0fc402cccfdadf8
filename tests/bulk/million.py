"""Two bundles replay many requests on Dask while a worker and then the driver are killed; the outcome is that of a plain run.

usage: million.py [--requests N] [--rows N] [--jobs N] [--engine compiled|durable] [--slice N] [--rounds N] [--work FOLDER]

Plain is a pool of processes of the standard library over the same chunks. Under the first bundle a worker is killed midway;
under the second the driver, which is then started again. Throughput is compared in rounds of `--slice` requests, plain and Dask
in turns, so that whatever else the machine does weighs on both. One JSON object is printed, and each part of it before on
stderr. Exit code 1 where an outcome differs or the ratio of throughputs is below 0.85. `--requests 0` compares throughput alone;
its ratio of processor seconds says the same on a machine that others use too.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, NamedTuple

import psutil

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bulk.making import write

from reflect_gate import load_bundle
from reflect_gate.bulk.chunks import read_input
from reflect_gate.bulk.parcel import Contents
from reflect_gate.bulk.running import Ears, replay
from reflect_gate.bulk.scheduling import Run, scheduler
from reflect_gate.bulk.working import Done, Task, work

BUNDLES: Final = ("structured", "introspect")
LEAST_RATIO: Final = 0.85


class FailedError(Exception):
    """Something did not come out as it must."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run it all; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, default in (("requests", 1_000_000), ("rows", 1_000), ("jobs", 2), ("slice", 10_000), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--engine", choices=("compiled", "durable"), default="compiled")
    parser.add_argument("--work", type=Path)
    chosen = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="reflect-gate-") as folder:
        found = measured(chosen, chosen.work or Path(folder))
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 0 if found["throughput"]["ratio"] >= LEAST_RATIO else 1


def measured(chosen: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return every figure; raises where the outcomes of both ways are not the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"requests": chosen.requests, "rows": chosen.rows, "jobs": chosen.jobs, "engine": chosen.engine}
    found["throughput"] = throughput(chosen, folder)
    told("throughput", found["throughput"])
    if not chosen.requests:
        return found
    source = write(folder / "requests.parquet", chosen.requests, chosen.rows)
    for name, disturb in zip(BUNDLES, (one_worker_killed, driver_killed), strict=True):
        plain, dask = folder / f"{name}-plain", folder / f"{name}-dask"
        started = time.monotonic()
        report = replay(source, plain, contents(name, chosen.engine), lambda: pool(chosen.jobs), silent()).report
        between = time.monotonic()
        disturbed = disturb(command(source, dask, name, chosen, report["bundle"]["as_of"]), dask, report["chunks"])
        seconds = {"plain": round(between - started, 1), "dask": round(time.monotonic() - between, 1)}
        if not same(plain, dask):
            raise FailedError(f"{name}: the outcomes differ")
        counts = {status: report[status] for status in ("admitted", "undecided", "refused", "invalid", "failed")}
        found[name] = {"digest": report["digest"], **counts, "seconds": seconds, **disturbed}
        told(name, found[name])
    return found


def told(what: str, figures: object) -> None:
    """Say on stderr what is known already: the whole takes long."""
    sys.stderr.write(f"{what}: {json.dumps(figures)}\n")


def contents(name: str, engine: str) -> Contents:
    """Return what judges, as `--engine` has it."""
    bundle = load_bundle(name)
    return Contents(bundle._replace(engine="compiled", cross_check=False) if engine == "compiled" else bundle)


def silent() -> Ears:
    """Return what hears nothing."""
    return Ears(lambda _: None, lambda _: None, lambda *_: None)


def same(one: Path, other: Path) -> bool:
    """Return whether two folders hold the same files, byte for byte."""
    names = sorted(path.name for path in one.iterdir())
    if names != sorted(path.name for path in other.iterdir()):
        return False
    return filecmp.cmpfiles(one, other, names, shallow=False)[0] == names


# -- plain -------------------------------------------------------------------------------------------------------------------


@contextmanager
def pool(jobs: int) -> Iterator[Run]:
    """Yield what does tasks in processes of the standard library."""
    with get_context("spawn").Pool(jobs) as processes:
        yield lambda tasks: processes.imap_unordered(_numbered, enumerate(tasks))


def _numbered(task: tuple[int, Task]) -> tuple[int, Done]:
    number, one = task
    return number, work(one)


def throughput(chosen: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return requests a second of both ways, in turns, with workers that are there and have judged before; and their ratio."""
    source = write(folder / "slice.parquet", chosen.slice, chosen.rows)
    judged = contents(BUNDLES[0], chosen.engine)
    plain: list[_Spent] = []
    dask: list[_Spent] = []
    began = time.monotonic()
    with scheduler("processes", chosen.jobs) as spread:
        started = time.monotonic() - began
        with pool(chosen.jobs) as pooled:
            for number in range(chosen.rounds + 1):
                for run, seconds in ((pooled, plain), (spread, dask)):
                    out = folder / f"round-{number}"
                    seconds.append(timed(lambda run=run, out=out: replay(source, out, judged, lambda: _open(run), silent())))  # type: ignore[misc]
                    shutil.rmtree(out)
    # The first round warms both up.
    ratios = [(one.seconds / other.seconds, one.cpu / other.cpu) for one, other in zip(plain[1:], dask[1:], strict=True)]
    wall, cpu = ([round(pair[place], 3) for pair in ratios] for place in (0, 1))
    return {
        "slice": len(read_input(source).chunks) * chosen.rows,
        "plain": round(chosen.slice / statistics.median(spent.seconds for spent in plain[1:]), 1),
        "dask": round(chosen.slice / statistics.median(spent.seconds for spent in dask[1:]), 1),
        "ratio": statistics.median(wall),
        "ratios": wall,
        "cpu_ratio": statistics.median(cpu),
        "cpu_ratios": cpu,
        "dask_start_seconds": round(started, 1),
    }


@contextmanager
def _open(run: Run) -> Iterator[Run]:
    yield run


class _Spent(NamedTuple):
    """Seconds that passed, and seconds of all processors together."""

    seconds: float
    cpu: float


def timed(act: Callable[[], object]) -> _Spent:
    """Return what it took, of this process and of those that it started."""
    started, before = time.monotonic(), _cpu()
    act()
    return _Spent(time.monotonic() - started, _cpu() - before)


def _cpu() -> float:
    first = psutil.Process()
    times = [one.cpu_times() for one in (first, *first.children(recursive=True))]
    return float(sum(one.user + one.system for one in times))


# -- on Dask, disturbed ------------------------------------------------------------------------------------------------------


def command(source: Path, out: Path, name: str, chosen: argparse.Namespace, as_of: str) -> list[str]:
    """Return the command line that judges on Dask."""
    where = ["--parquet", str(source), "--out", str(out), "--scheduler", "processes", "--jobs", str(chosen.jobs)]
    engine = ["--engine", "compiled"] if chosen.engine == "compiled" else []
    return [sys.executable, "-m", "reflect_gate", "evaluate", *where, "--bundle", name, "--as-of", as_of, *engine, "-f", "json"]


def one_worker_killed(arguments: Sequence[str], out: Path, chunks: int) -> dict[str, Any]:
    """Kill a worker when a third is done; the run ends well by itself."""
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as driver:
        at = _wait(driver, out, chunks // 3)
        killed = _workers(driver.pid)[0]
        killed.send_signal(signal.SIGKILL)
        _, said = driver.communicate()
    if driver.returncode != 0:
        raise FailedError(f"the driver ended with {driver.returncode}: {said.decode()[-2000:]}")
    return {"worker_killed_at_chunk": at}


def driver_killed(arguments: Sequence[str], out: Path, chunks: int) -> dict[str, Any]:
    """Kill the driver when half is done, and start it again; its workers end with it."""
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
        at = _wait(driver, out, chunks // 2)
        workers = _workers(driver.pid)
        driver.kill()
    _, left = psutil.wait_procs(workers, timeout=30)
    if left:
        raise FailedError(f"{len(left)} workers outlived their driver")
    again = subprocess.run([*arguments, "--error-format", "json"], capture_output=True, check=False)
    if again.returncode != 0:
        raise FailedError(f"the driver ended with {again.returncode}: {again.stderr.decode()[-2000:]}")
    kept = json.loads(again.stderr.splitlines()[-1])["summary"]["kept"]
    return {"driver_killed_at_chunk": at, "chunks_kept": kept}


def _wait(driver: subprocess.Popen[bytes], out: Path, parts: int) -> int:
    """Wait until so many parts are finished; return how many are."""
    while (done := len(list(out.glob("*.parquet")))) < parts:
        try:
            driver.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        raise FailedError(f"the driver ended with {driver.returncode} before {parts} parts were finished")
    return done


def _workers(driver: int) -> list[psutil.Process]:
    children = psutil.Process(driver).children(recursive=True)
    return [child for child in children if any("spawn_main" in word for word in child.cmdline())]


if __name__ == "__main__":
    raise SystemExit(main())
