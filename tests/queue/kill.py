"""Kill whoever puts and works at random moments, and see whether a job is lost or run again after it was acknowledged.

    python tests/queue/kill.py --rounds 200

In a round one process puts jobs and two work on them: they acknowledge, retry, bury and give back. Each prints what it was told
once it was told it, with the time. All are killed with SIGKILL after a random wait. At the end no job may be missing, none may
have begun after it was acknowledged, and none may have been in work twice at the same time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from reflect_store.queue import Job, QueueSettings, open_queue

__all__ = ["Said", "Survived", "at_once", "kill_all"]

SETTINGS = QueueSettings(initial_delay=0.01, poll=0.01, capacity=300, block_timeout=60.0, lock_timeout=60.0)
LONGEST = 0.4


class Survived(NamedTuple):
    """What was acknowledged, and what is wrong."""

    rounds: int
    kills: int
    puts: int
    acks: int
    settled: int
    lost: list[str]
    again: list[str]
    at_once: list[str]
    corrupt: int


def _job(name: str) -> Job:
    return Job(name, "error", name, "failed", {"pad": "x" * (hash(name) % 9000)})


def _say(what: str, id_: str) -> None:
    # One write, so that a kill leaves a whole line or none.
    os.write(1, f"{what} {id_} {time.monotonic_ns()}\n".encode())


def put(folder: str, name: str, most: int) -> None:
    """Put jobs, and say so."""
    with open_queue(folder, SETTINGS) as queue:
        for number in range(most):
            job = _job(f"{name}-{number}")
            if queue.put(job).kept:
                _say("put", job.id)


def work(folder: str, seed: str, idle: float) -> None:
    """Work on jobs, and say what became of each, until none comes for so many seconds."""
    chance = random.Random(seed)
    with open_queue(folder, SETTINGS, rng=chance.random) as queue:
        while (claim := queue.claim(idle)) is not None:
            _say("begin", claim.id)
            what = chance.choices(["ack", "retry", "dead", "release"], [60, 20, 10, 10])[0]
            # What ends the work is said before it is done, since the next one may begin at once.
            _say("end", claim.id)
            if what == "ack":
                claim.ack()
            elif what == "release":
                claim.release()
            else:
                getattr(claim, what)("because")
            _say(what, claim.id)


def _round(folder: str, number: int, chance: random.Random) -> Iterator[list[str]]:
    roles = [["put", f"r{number}"], ["work", f"{number}a"], ["work", f"{number}b"]]
    started = [
        subprocess.Popen([sys.executable, __file__, "--role", *role, folder], stdout=subprocess.PIPE, text=True) for role in roles
    ]
    pipes = [process.stdout for process in started if process.stdout is not None]
    # Starting takes longer than the rest, and how long depends on the machine.
    first = [pipe.readline() for pipe in pipes]
    time.sleep(chance.uniform(0.0, LONGEST))
    for process in started:
        process.kill()
    for process, pipe, line in zip(started, pipes, first, strict=True):
        yield [each for each in (line, *pipe) if each.endswith("\n")]
        pipe.close()
        process.wait()


def kill_all(folder: str, rounds: int, seed: int) -> Survived:
    """Kill `rounds` times three processes on one folder, and judge the folder after the last."""
    chance = random.Random(seed)
    said = Said()
    settled = 0
    for number in range(rounds):
        for lines in _round(folder, number, chance):
            told = [line.split() for line in lines]
            said.hear(told)
            settled += sum(what in {"ack", "retry", "dead", "release"} for what, _, _ in told)
    with open_queue(folder, SETTINGS) as queue:
        found = queue.replay()
        there = {row.id for row in (*queue.jobs(), *queue.dead_letters())}
        lost = sorted(id_ for id_ in said.puts if id_ not in there and not queue.done(id_))
    again, twice = said.again(there), at_once(said.spans)
    return Survived(rounds, 3 * rounds, len(said.puts), len(said.acks), settled, lost, again, twice, found.corrupt)


class Said:
    """What processes said of jobs: which were put, when each was begun and acknowledged, and from when to when it was in work."""

    def __init__(self) -> None:
        self.puts: set[str] = set()
        self.acks: dict[str, int] = {}
        self.begins: dict[str, list[int]] = defaultdict(list)
        self.spans: list[tuple[str, int, int]] = []

    def hear(self, lines: Iterable[Sequence[str]]) -> None:
        """Take in what one process said, in its order: what happened, to which job, when."""
        opened: tuple[str, int] | None = None
        for what, id_, moment in lines:
            if what == "put":
                self.puts.add(id_)
            elif what == "begin":
                self.begins[id_].append(int(moment))
                opened = (id_, int(moment))
            elif what == "end" and opened is not None:
                self.spans.append((*opened, int(moment)))
            elif what == "ack":
                self.acks[id_] = int(moment)

    def again(self, there: Container[str]) -> list[str]:
        """Return the jobs that are still there, or were begun, after they were acknowledged."""
        return sorted(
            id_ for id_, moment in self.acks.items() if id_ in there or any(begin > moment for begin in self.begins[id_])
        )


def at_once(spans: list[tuple[str, int, int]]) -> list[str]:
    """Return the jobs that were in work twice at the same time; a span is a job, its begin and its end."""
    wrong = []
    spans.sort()
    for (one, _, end), (two, begin, _) in itertools.pairwise(spans):
        if one == two and begin < end:
            wrong.append(one)
    return wrong


def main() -> int:
    """Run as a script; exit code 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--role", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--most", type=int, default=1_000_000, help=argparse.SUPPRESS)
    parser.add_argument("--idle", type=float, default=60.0, help=argparse.SUPPRESS)
    parser.add_argument("folder", nargs="?", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.role:
        role, name = given.role
        if role == "put":
            put(given.folder, name, given.most)
        else:
            work(given.folder, name, given.idle)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        survived = kill_all(f"{folder}/queue", given.rounds, given.seed)
    print(json.dumps(survived._asdict()))  # noqa: T201 - the result
    return 1 if survived.lost or survived.again or survived.at_once or survived.corrupt else 0


if __name__ == "__main__":
    sys.exit(main())
