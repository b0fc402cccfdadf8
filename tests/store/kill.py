"""Kill writers at random moments, and see whether anything that they were told is kept is lost.

    python tests/store/kill.py --kills 200

Each writer prints the id of an event once `append` has returned: that is the acknowledgement. It is killed with SIGKILL after
a random number of them and a random wait. Afterwards every acknowledged event must be in the store, and chain and projections
must verify as they are, without repair.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from reflect_store import draft, new_lesson, open_store

__all__ = ["Survived", "kill_writers", "write"]

MOST_ACKNOWLEDGED = 12
LONGEST_WAIT = 0.01


class Survived(NamedTuple):
    """What was acknowledged, what is there, and what is wrong with it."""

    kills: int
    acknowledged: int
    present: int
    lost: tuple[str, ...]
    problems: tuple[str, ...]


def write(path: Path, name: str, most: int | None = None) -> None:
    """Append decisions of two events each, and print the id of each once it is acknowledged."""
    with open_store(path, create=True) as store:
        number = 0
        while most is None or number < most:
            lesson = f"{name}-{number}"
            envelope = {
                "lesson_id": lesson,
                "signature": f"{number % 7:064x}",
                "project": {},
                "red_flag": False,
                "bundle": "b" * 64,
            }
            born = new_lesson(f"Lesson {lesson}.", "", failures=[lesson], evidence=["e"], confidence=0.5)
            store.append(
                [
                    draft("not-reflected", {"failure_id": lesson, "reason": "x" * (number % 50) * 100}, id_=f"{lesson}-a"),
                    draft("lesson-admitted", {"lesson": born, "envelope": envelope, "decision_id": lesson}, id_=lesson),
                ]
            )
            print(lesson, flush=True)  # noqa: T201 - the acknowledgement
            number += 1


def _kill_one(path: Path, name: str, chance: random.Random) -> list[str]:
    command = [sys.executable, __file__, "--writer", name, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        told = [writer.stdout.readline().strip() for _ in range(chance.randrange(MOST_ACKNOWLEDGED))]
        time.sleep(chance.random() * LONGEST_WAIT)
        writer.kill()
        # A line that the kill cut short acknowledges nothing.
        told += [line.strip() for line in writer.stdout if line.endswith("\n")]
    return [line for line in told if line]


def kill_writers(path: Path, kills: int, seed: int) -> Survived:
    """Kill `kills` writers one after the other on one store, and check it after the last."""
    chance = random.Random(seed)
    told = [name for number in range(kills) for name in _kill_one(path, f"w{number}", chance)]
    with open_store(path, create=True) as store:
        report = store.verify()
        lost = tuple(name for name in told if store.event(name) is None or store.get("lessons", name) is None)
        return Survived(kills, len(told), store.count("lessons"), lost, report.problems)


def main() -> int:
    """Run as a script; exit code 1 where something was lost or broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--writer", help=argparse.SUPPRESS)
    parser.add_argument("--most", type=int, help=argparse.SUPPRESS)
    parser.add_argument("path", nargs="?", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.writer:
        with contextlib.suppress(BrokenPipeError):
            write(chosen.path, chosen.writer, chosen.most)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        survived = kill_writers(Path(folder) / "home" / "store.db", chosen.kills, chosen.seed)
    print(survived)  # noqa: T201 - the result
    return 1 if survived.lost or survived.problems else 0


if __name__ == "__main__":
    sys.exit(main())
