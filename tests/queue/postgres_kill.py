"""Writers, and workers that are killed, on a queue and a store of one server, while the server is stopped and started.

    python tests/queue/postgres_kill.py --workers 4 --writers 8 --jobs 50 --kills 40 --restarts 2

The server's data lies on a disk, synced. A job is a failure with its reflection; a worker lets the gate decide and applies that
to the store. Workers are killed with SIGKILL at random moments, and others take their place; every other stop of the server is a
crash. Afterwards every job that was put must be done, none may have begun after it was acknowledged or been in work twice at the
same time, every failure signature must have one lesson and every decision be there once, and the chain must verify. Then the same
numbers of processes put and take jobs without work, on the undisturbed server and in a folder, in turns: jobs a second of both.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

if __package__ in (None, ""):
    # Run as a script: the folder that holds `tests` is not on the path then.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.postgres_server import Server, running, unable
from tests.queue.kill import Said, at_once
from tests.queue.servers import Database

from reflect_store import StoreError, open_store
from reflect_store.queue import Claim, Job, Queue, QueueSettings, open_at
from reflect_store.queue.postgres.keeper import Lease
from reflect_store.queue.postgres.server import open_server

__all__ = ["Survived", "disturbed", "rate"]

SETTINGS: Final = QueueSettings(initial_delay=0.01, max_attempts=100, capacity=100_000, block_timeout=60.0, poll=0.02)
LEASE: Final = Lease(beat=0.3, stalled=3.0)
_LOOK: Final = 0.05
_PATIENCE: Final = 300.0


class Survived(NamedTuple):
    """What was acknowledged, and what is wrong."""

    kills: int
    puts: int
    acks: int
    begun: int
    lessons: int
    seconds: float
    lost: list[str]
    again: list[str]
    at_once: list[str]
    doubled: list[str]
    problems: list[str]

    @property
    def sound(self) -> bool:
        """Nothing is wrong."""
        return not (self.lost or self.again or self.at_once or self.doubled or self.problems)


# -- one process -----------------------------------------------------------------------------------------------------------


def _say(what: str, id_: str) -> None:
    # One write, so that a kill leaves a whole line or none.
    os.write(1, f"{what} {id_} {time.monotonic_ns()}\n".encode())


def _again(seconds: float = _LOOK) -> None:
    time.sleep(seconds)


def put(place: str, writer: int, jobs: int) -> None:
    """Put jobs, each until it is kept, and say so."""
    with open_at(place, SETTINGS) as queue:
        for number in range(writer * jobs, (writer + 1) * jobs):
            job = Job(f"failure {number}", "error", str(number), "resolved", {"number": number, "teller": f"w{writer}"})
            while True:
                with suppress(StoreError):
                    if queue.put(job).kept:
                        break
                _again()
            _say("put", job.id)


def work(place: str, seed: int, *, plain: bool) -> None:
    """Work on jobs until killed; `plain`: take and acknowledge them, no more."""
    chance = random.Random(seed)
    queue = open_at(place, SETTINGS) if plain else open_server(place, SETTINGS, clock=None, rng=chance.random, lease=LEASE)
    effect = (lambda _: None) if plain else _Effect(place)
    while True:
        try:
            claim = queue.claim(1.0)
            if claim is not None:
                _one(queue, claim, effect, "ack" if plain else chance.choices(["ack", "retry", "release"], [80, 10, 10])[0])
        except StoreError:
            _again()


class _Effect:
    """Lets the gate decide, and applies that; a second time it changes nothing."""

    def __init__(self, place: str) -> None:
        from reflect_gate import load_bundle

        self._bundle = load_bundle("structured")._replace(engine="compiled", cross_check=False)
        self._store = open_store(place)

    def __call__(self, job: Job) -> None:
        from tests.store.processes_apply import request

        from reflect_gate.memory.applying import apply

        apply(self._store, request(job.payload["number"], job.payload["teller"]), self._bundle)


def _one(_: Queue, claim: Claim, effect: Any, what: str) -> None:
    _say("begin", claim.id)
    effect(claim.job)
    # What ends the work is said before it is done, since the next one may begin at once.
    _say("end", claim.id)
    while True:
        try:
            if what == "retry":
                claim.retry("because")
            else:
                getattr(claim, what)()
        except StoreError as error:
            if error.code == "queue-claim":
                return
            _again()
        else:
            _say(what, claim.id)
            return


# -- all of them -----------------------------------------------------------------------------------------------------------


class _Processes:
    """Starts processes of this script, each of which writes what it says to a file of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        self._files: dict[int, Path] = {}

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        self._number += 1
        path = self._folder / f"{self._number}.said"
        with path.open("wb") as out:
            process = subprocess.Popen([sys.executable, __file__, *words], stdout=out)
        self._files[process.pid] = path
        return process

    def busy(self, process: subprocess.Popen[bytes]) -> bool:
        """Return whether a process has said anything: starting takes longer than most of what it does."""
        return self._files[process.pid].stat().st_size > 0

    def said(self) -> Iterator[list[list[str]]]:
        """Yield the whole lines of each process."""
        for path in sorted(self._folder.glob("*.said")):
            yield [line.split() for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def _acked(place: str) -> int:
    with suppress(StoreError), open_at(place, SETTINGS) as queue:
        from reflect_store.queue.moving import side_of

        return len(side_of(queue).done())
    return 0


def disturbed(server: Server, workers: int, writers: int, jobs: int, kills: int, restarts: int, seed: int = 0) -> Survived:
    """Put and do `writers` times `jobs` jobs while workers are killed and the server restarts, and judge what is there."""
    database, chance = Database(server), random.Random(seed)
    database.open().close()
    open_store(database.url, create=True).close()
    due = [writers * jobs * number // (restarts + 1) for number in range(1, restarts + 1)]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        processes = _Processes(Path(folder))
        started = [processes.start("--role", "put", str(number), "--jobs", str(jobs), database.url) for number in range(writers)]
        at_work = [processes.start("--role", "work", str(number), database.url) for number in range(workers)]
        done, stops, killed = 0, 0, 0
        while done < writers * jobs and time.monotonic() - began < _PATIENCE:
            time.sleep(chance.uniform(0.2, 1.0))
            chosen = chance.randrange(workers)
            if killed < kills and processes.busy(at_work[chosen]):
                at_work[chosen].kill()
                at_work[chosen].wait()
                killed += 1
                at_work[chosen] = processes.start("--role", "work", str(workers + killed), database.url)
            done = _acked(database.url)
            if stops < len(due) and done >= due[stops]:
                server.stop(crash=stops % 2 == 0)
                server.start()
                stops += 1
        for process in (*started, *at_work):
            process.kill()
            process.wait()
        return _judged(database, list(processes.said()), killed, round(time.monotonic() - began, 1), stops == restarts)


def _judged(database: Database, said: list[list[list[str]]], kills: int, seconds: float, restarted: bool) -> Survived:
    heard = Said()
    for lines in said:
        heard.hear(lines)
    with database.open() as queue:
        left = [row.id for row in (*queue.jobs(), *queue.dead_letters())]
        lost = sorted(id_ for id_ in heard.puts if id_ not in left and not queue.done(id_))
    lessons, doubled, problems = _kept(database.url, len(heard.puts))
    problems += [] if restarted else ["the server was not restarted as often as asked for"]
    problems += [f"{len(left)} jobs were not done in time"] if left else []
    begun = sum(map(len, heard.begins.values()))
    again, twice = heard.again(left), at_once(heard.spans)
    return Survived(kills, len(heard.puts), len(heard.acks), begun, lessons, seconds, lost, again, twice, doubled, problems)


def _kept(url: str, failures: int) -> tuple[int, list[str], list[str]]:
    """Return how many lessons the store has, what is there twice, and what is wrong with it."""
    with open_store(url) as store:
        lessons = collections.Counter(row["signature"] for row in store.iterate("lessons"))
        decided = collections.Counter(
            (event.data() or {})["decision"]["decision_id"] for event in store.events() if event.type == "decision-made"
        )
        problems = list(store.verify().problems)
    doubled = [name for name, count in (*lessons.items(), *decided.items()) if count > 1]
    if len(decided) != failures:
        problems.append(f"{len(decided)} decisions of {failures} failures")
    return sum(lessons.values()), doubled, problems


def rate(place: str, workers: int, writers: int, jobs: int) -> float:
    """Return how many jobs a second go through a queue, from the first put to the last acknowledgement."""
    with tempfile.TemporaryDirectory() as folder:
        processes = _Processes(Path(folder))
        at_work = [processes.start("--role", "plain", str(number), place) for number in range(workers)]
        started = [processes.start("--role", "put", str(number), "--jobs", str(jobs), place) for number in range(writers)]
        for process in started:
            process.wait()
        with open_at(place, SETTINGS) as queue:
            while queue.depth():
                time.sleep(_LOOK)
        for process in at_work:
            process.kill()
            process.wait()
        lines = [line for each in processes.said() for line in each]
    first = min(int(moment) for what, _, moment in lines if what == "put")
    last = max(int(moment) for what, _, moment in lines if what == "end")
    return writers * jobs / ((last - first) / 1e9)


def _rates(server: Server, folder: str, rounds: int, counts: tuple[int, int, int]) -> dict[str, list[float]]:
    """Return the rates of server and folder, in turns, since what else the machine does touches both then."""
    found: dict[str, list[float]] = {"server": [], "files": []}
    for number in range(rounds):
        calm = Database(server)
        calm.open().close()
        found["server"].append(rate(calm.url, *counts))
        found["files"].append(rate(f"{folder}/queue{number}", *counts))
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=50, help="of each writer")
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--restarts", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="in which jobs a second are measured")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--role", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("place", nargs="?", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Run as a script; exit code 1 where something is wrong."""
    given = _arguments()
    if given.role:
        role, number = given.role
        if role == "put":
            put(given.place, int(number), given.jobs)
        else:
            work(given.place, int(number), plain=role == "plain")
        return 0
    if reason := unable():
        print(reason)  # noqa: T201 - the result
        return 1
    with running(on_disk=True) as server, tempfile.TemporaryDirectory() as folder:
        os.environ["REFLECT_GATE_CACHE"] = folder
        counts = (given.workers, given.writers, given.jobs)
        survived = disturbed(server, *counts, given.kills, given.restarts, given.seed)
        rates = _rates(server, folder, given.rounds, counts)
    told = survived._asdict() | {"restarts": given.restarts, "sound": survived.sound}
    told |= {"jobs_a_second": {name: [round(value, 1) for value in values] for name, values in rates.items()}}
    told |= {"server_to_files": round(statistics.median(rates["server"]) / statistics.median(rates["files"]), 2)}
    print(json.dumps(told, indent=2))  # noqa: T201 - the result
    return 0 if survived.sound else 1


if __name__ == "__main__":
    sys.exit(main())
