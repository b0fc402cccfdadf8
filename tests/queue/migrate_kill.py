"""Kill a move between a folder and a server at random moments, and see whether a job is lost or run twice.

    python tests/queue/migrate_kill.py --rounds 40

In a round jobs are put into one of the two, and a process that moves them to the other is killed with SIGKILL. In every second
round workers of both sides then finish what they are given, as if nobody knew of the move. At last it is done again and all is
finished: every job must have run once. The next round goes the other way.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

if __package__ in (None, ""):
    # Run as a script: the folder that holds `tests` is not on the path then.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.postgres_server import Server, running, unable
from tests.queue.servers import Database

from reflect_store.queue import Job, Queue, QueueSettings, open_at
from reflect_store.queue.moving import move, side_of

__all__ = ["Survived", "moves"]

SETTINGS = QueueSettings(capacity=10_000, poll=0.02)
JOBS = 15
LONGEST = 0.05


class Survived(NamedTuple):
    """Rounds in which the move was killed before its end, jobs that were put, and what is wrong with them."""

    rounds: int
    cut: int
    jobs: int
    lost: list[str]
    twice: list[str]
    left: list[str]


def _move(source: str, target: str) -> None:
    with open_at(source, SETTINGS) as one, open_at(target, SETTINGS) as other:
        sides = side_of(one), side_of(other)
        os.write(1, b"begin\n")
        move(*sides)
        os.write(1, b"end\n")


def _finish(queue: Queue, ran: collections.Counter[str]) -> None:
    while (claim := queue.claim()) is not None:
        ran[claim.job.task] += 1
        claim.ack()


def _killed(source: str, target: str, seconds: float) -> bool:
    """Start a move, kill it after so many seconds, and return whether that was before its end."""
    with subprocess.Popen([sys.executable, __file__, "--move", source, target], stdout=subprocess.PIPE) as process:
        if process.stdout is None:
            raise RuntimeError("the process says nothing")
        process.stdout.readline()
        time.sleep(seconds)
        process.kill()
        return process.stdout.read() != b"end\n"


def moves(server: Server, folder: str, rounds: int, seed: int) -> Survived:
    """Move to and fro `rounds` times, each time cut short, and judge what ran."""
    chance, database = random.Random(seed), Database(server)
    ran: collections.Counter[str] = collections.Counter()
    put, left, cut = [], [], 0
    for number in range(rounds):
        source, target = (folder, database.url) if number % 2 == 0 else (database.url, folder)
        with open_at(source, SETTINGS) as one:
            for each in range(JOBS):
                put.append(f"{number}-{each}")
                one.put(Job(put[-1], "error", put[-1], "failed", {"pad": "x" * 500}))
        cut += _killed(source, target, chance.uniform(0.0, LONGEST))
        with open_at(source, SETTINGS) as one, open_at(target, SETTINGS) as other:
            if number % 4 > 1:
                _finish(other, ran)
                _finish(one, ran)
            move(side_of(one), side_of(other))
            left += [row.id for row in (*one.jobs(), *one.dead_letters())]
            _finish(one, ran)
            _finish(other, ran)
            left += [row.id for row in (*other.jobs(), *other.dead_letters())]
    lost = [name for name in put if not ran[name]]
    return Survived(rounds, cut, len(put), lost, [name for name, times in ran.items() if times > 1], left)


def main() -> int:
    """Run as a script; exit code 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--move", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.move:
        _move(*given.move)
        return 0
    if reason := unable():
        print(reason)  # noqa: T201 - the result
        return 1
    with running(on_disk=True) as server, tempfile.TemporaryDirectory() as folder:
        survived = moves(server, f"{folder}/queue", given.rounds, given.seed)
    print(json.dumps(survived._asdict()))  # noqa: T201 - the result
    return 1 if survived.lost or survived.twice or survived.left else 0


if __name__ == "__main__":
    sys.exit(main())
