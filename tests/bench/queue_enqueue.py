"""Time a put beside the bare system calls that make a file durable, and the replay of many records.

usage: queue_enqueue.py [--rounds N] [--each N] [--records N] [--folder F] [--json]

The two write the same bytes and take turns at every write, by the wall clock, since waiting for the disk is most of it. A round
gives a ratio of medians, and the budget is held to the median of the rounds. Exit 1 if a put takes more than 1.3 times as long as
writing a temporary file, syncing it, renaming it and syncing its folder.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

if __package__:
    from .timing import spread
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.bench.timing import spread

from reflect_store.queue import Job, LocalFs, QueueSettings, encode, open_queue
from reflect_store.queue.record import new_record

__all__ = ["BUDGET", "enqueue", "main", "replay"]

BUDGET: Final = 1.3


def _job(number: int) -> Job:
    return Job(f"task {number}", "error", f"t{number}", "failed", {"pad": "x" * 800})


def _bare(folder: Path) -> Callable[[bytes], None]:
    folder.mkdir()
    handle = os.open(folder, os.O_RDONLY)
    numbers = iter(range(10**9))

    def write(data: bytes) -> None:
        name = f"{folder}/{next(numbers)}"
        file = os.open(f"{name}.tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(file, data)
        os.fsync(file)
        os.close(file)
        os.rename(f"{name}.tmp", name)  # noqa: PTH104 - the bare call is what is timed
        os.fsync(handle)

    return write


def enqueue(folder: Path, rounds: int, each: int) -> dict[str, list[float]]:
    """Return the seconds of a bare write and of a put, the median of `each` a round; the two take turns at every write."""
    bare = _bare(folder / "bare")
    numbers = iter(range(10**9))
    times: dict[str, list[float]] = {"bare": [], "put": []}
    with open_queue(folder / "queue", QueueSettings(capacity=1_000_000)) as queue:
        queue.put(_job(next(numbers)))
        for _ in range(rounds):
            taken: dict[str, list[float]] = {"bare": [], "put": []}
            for number in range(each):
                job = _job(next(numbers))
                data = encode(new_record(job, 1.8e9))
                # The bytes are made within the time of a put, and before that of the bare write.
                steps = [("bare", lambda data=data: bare(data)), ("put", lambda job=job: queue.put(job))]
                for name, step in steps if number % 2 else reversed(steps):
                    begun = time.perf_counter()
                    step()
                    taken[name].append(time.perf_counter() - begun)
            for name, values in taken.items():
                times[name].append(statistics.median(values))
    return times


def replay(folder: Path, records: int) -> tuple[float, float]:
    """Return the seconds of a replay of so many records, and of putting one of them by another process's first put."""

    class Unsynced(LocalFs):
        """The records are not to survive anything."""

        def sync(self, handle: int) -> None:
            """Skip it."""

        def sync_folder(self, handle: int) -> None:
            """Skip it."""

    settings = QueueSettings(capacity=1_000_000)
    with open_queue(folder / "many", settings, fs=Unsynced()) as queue:
        for number in range(records):
            queue.put(_job(number))
    with open_queue(folder / "many", settings) as queue:
        begun = time.perf_counter()
        found = queue.replay().waiting
        whole = time.perf_counter() - begun
    if found != records:
        raise SystemExit(f"{found} of {records} records came back")
    begun = time.perf_counter()
    with open_queue(folder / "many", settings) as queue:
        queue.put(_job(records))
    return whole, time.perf_counter() - begun


def main() -> int:
    """Run the benchmark; return 1 where the budget is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--each", type=int, default=60, help="writes a round (default: 60)")
    parser.add_argument("--records", type=int, default=10_000, help="records to replay (default: 10,000)")
    parser.add_argument("--folder", type=Path, help="where to write (default: the temporary folder)")
    parser.add_argument("--json", action="store_true", help="print JSON, times in seconds")
    given = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(dir=given.folder))
    try:
        times = enqueue(scratch, given.rounds, given.each)
        whole, first = replay(scratch, given.records)
    finally:
        shutil.rmtree(scratch)
    ratio = statistics.median(put / bare for put, bare in zip(times["put"], times["bare"], strict=True))
    result = {
        "bare": spread(times["bare"]).median,
        "put": spread(times["put"]).median,
        "ratio": ratio,
        "budget": BUDGET,
        "records": given.records,
        "replay": whole,
        "first_put_of_a_process": first,
    }
    if given.json:
        sys.stdout.write(json.dumps(result) + "\n")
    else:
        sys.stdout.write(
            f"bare {result['bare'] * 1e6:.0f} µs, put {result['put'] * 1e6:.0f} µs, ratio {ratio:.2f} (budget {BUDGET})\n"
            f"replay of {given.records} records {whole * 1e3:.0f} ms; open and first put beside them {first * 1e3:.1f} ms\n"
        )
    return 1 if ratio > BUDGET else 0


if __name__ == "__main__":
    sys.exit(main())
