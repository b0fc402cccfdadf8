"""Import, describe and split a log of any size, and print how long that takes and how much memory it needs, as JSON.

usage: large.py [--megabytes N] [--bad N] [--keep DIR]

The log holds programming rows with long texts, and `--bad` lines that are none. Each verb runs as a process of its own; memory is
the largest resident set that the process had, in megabytes. It must not grow with the log.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

if __package__:
    from .forms import programming
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.corpus.forms import programming

__all__ = ["log", "measured"]

_FILLER: Final = "    total = 0  # the sum of what was read so far, which is nothing at the beginning\n"
_TASKS: Final = 5_000


def log(path: Path, megabytes: float, bad: int) -> int:
    """Write a log of about so many megabytes with `bad` broken lines among its first, and return its rows."""
    size, number = 0, 0
    with path.open("wb") as stream:
        while size < megabytes * 1e6:
            attempt = f"def mean_{number}(values):\n{_FILLER * 150}    return sum(values) / len(values)"
            row = programming(number, task_id=f"mbpp_{number % _TASKS}_mean", failed_attempt=attempt, next_attempt=_FILLER * 300)
            size += stream.write(json.dumps(row).encode() + b"\n")
            if number < bad:
                size += stream.write(b'{"id": "half\n')
            number += 1
    return number


def measured(*arguments: str) -> dict[str, Any]:
    """Run a verb as a process; return its exit code, seconds, and the megabytes of its largest resident set."""
    started = time.perf_counter()
    process = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-m", "reflect_gate", *arguments])  # noqa: S606 - `wait4` tells of one child alone
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - started
    return {"code": os.waitstatus_to_exitcode(status), "seconds": round(seconds, 1), "megabytes": round(usage.ru_maxrss / 1024)}


def main() -> int:
    """Print the figures; exit 1 where a verb did not end as it should."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=1_000)
    parser.add_argument("--bad", type=int, default=1_000)
    parser.add_argument("--keep", type=Path, default=None, help="work in this folder, and leave the files there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        rows, corpus = folder / "rows.jsonl", str(folder / "corpus.ndjson")
        count = log(rows, options.megabytes, options.bad)
        verbs = {
            "import": ("import", "reflexion", str(rows), "--skip-bad", "-o", corpus),
            "describe": ("describe", corpus, "-o", str(folder / "description.txt")),
            "split": ("split", corpus, "--test", "0.2", "--format", "json"),
        }
        figures = {name: measured("corpus", *arguments) for name, arguments in verbs.items()}
        megabytes = round(rows.stat().st_size / 1e6)
    sys.stdout.write(json.dumps({"rows": count, "megabytes": megabytes, "bad": options.bad, **figures}) + "\n")
    return int(any(one["code"] for one in figures.values()))


if __name__ == "__main__":
    sys.exit(main())
