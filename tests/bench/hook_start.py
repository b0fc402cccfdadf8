"""How long a hook takes beside a store of many lessons, as a process, against a bare interpreter's start.

    python tests/bench/hook_start.py --lessons 100000 --runs 20
    python tests/bench/hook_start.py --store a-store.db --runs 20

Silent are an event of no interest, a turn's end, and failures and prompts for which no lesson fits; the others hand a lesson
over, each in a session of its own. The words of the failing command are those of the synthetic lessons, so that the index has
work to do. Wall clock and processor time in milliseconds, medians; the ratio is the median of the rounds' own. Printed as JSON.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from reflect_store import draft, new_lesson, open_store

sys.path[:0] = [str(Path(__file__).parents[1] / "store")]

from scale import Words, build  # type: ignore[import-not-found] # noqa: E402 - beside the tests of the store

__all__ = ["Taken", "main", "measure"]

BUDGET: Final = 8.0
"""Times the processor time of a bare start that a silent hook may take."""

STATEMENT: Final = "When a cart may hold empty lines, check each line before int() is called, since an empty text is no number."
FITS: Final = "ValueError: int() fails on an empty text in the cart's line"
ELSE: Final = "OSError: the printer has no paper"
BARE: Final = [sys.executable, "-c", "pass"]
HOOK: Final = [sys.executable, "-c", "from reflect_gate.cli import entry; entry()", "hook", "--harness", "claude-code", "--deadline", "60"]  # fmt: skip  # noqa: E501


class Taken(NamedTuple):
    """What one kind of process takes: milliseconds of the wall clock and of the processor, and the bytes that it said."""

    wall: float
    cpu: float
    said: int


def payloads(words: Any) -> dict[str, Iterator[dict[str, Any]]]:
    """Return payloads without end by what becomes of them; a session is never told twice."""
    numbers = itertools.count()

    def event(name: str, **told: Any) -> dict[str, Any]:
        # A transcript is named, and is not there yet: so it is at the beginning of a session.
        common = {"session_id": f"s-{next(numbers)}", "transcript_path": "/no/such.jsonl", "cwd": "/"}
        return {**common, "hook_event_name": name, **told}

    def failure(error: str) -> dict[str, Any]:
        command = "make " + " ".join(words.draw(24))
        return event("PostToolUseFailure", tool_name="Bash", tool_input={"command": command}, error=f"Exit code 1\n{error}")

    def endless(make: Any) -> Iterator[dict[str, Any]]:
        while True:
            yield make()

    return {
        "silent, of no interest": endless(lambda: event("Notification")),
        "silent, a turn's end": endless(lambda: event("Stop")),
        "silent, a session's start": endless(lambda: event("SessionStart", source="startup")),
        "silent, a prompt": endless(lambda: event("UserPromptSubmit", prompt="The printer has no paper.")),
        "silent, a failure": endless(lambda: failure(ELSE)),
        "handing over, a prompt": endless(lambda: event("UserPromptSubmit", prompt=FITS)),
        "handing over, a failure": endless(lambda: failure(FITS)),
    }


def _one(command: list[str], data: bytes, environ: dict[str, str]) -> Taken:
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, input=data, env=environ, capture_output=True, check=True)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Taken(1_000 * wall, 1_000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), len(done.stdout))


def measure(home: Path, runs: int) -> dict[str, dict[str, float]]:
    """Return the figures of each kind; all take turns in every round, so that a busy machine is as busy for all."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REFLECT")}
    environ = {**kept, "REFLECT_GATE_HOME": str(home), "REFLECT_GATE_CACHE": str(home / "cache")}
    # Installed programs have their bytecode at hand; a checkout may be told not to write any.
    environ |= {"PYTHONPYCACHEPREFIX": str(home / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}
    told = payloads(Words(7))
    taken: dict[str, list[Taken]] = {"bare": [], **{name: [] for name in told}}
    for number in range(runs + 1):
        for name, times in taken.items():
            data = b"" if name == "bare" else json.dumps(next(told[name])).encode()
            once = _one(BARE if name == "bare" else HOOK, data, environ)
            # The first round reads every file from the disk, and compiles the policies.
            times.extend([once] if number else [])
    return {name: _figures(found, taken["bare"]) for name, found in taken.items()}


def _figures(found: list[Taken], bare: list[Taken]) -> dict[str, float]:
    return {
        "wall": round(statistics.median(one.wall for one in found), 1),
        "cpu": round(statistics.median(one.cpu for one in found), 1),
        "wall / bare": round(statistics.median(one.wall / base.wall for one, base in zip(found, bare, strict=True)), 2),
        "cpu / bare": round(statistics.median(one.cpu / base.cpu for one, base in zip(found, bare, strict=True)), 2),
        "said": int(statistics.median(one.said for one in found)),
    }


def fill(file: Path, lessons: int, given: Path | None) -> None:
    """Put the store there, a copy of `given` or a new one, and the one lesson that fits."""
    if given is not None:
        shutil.copyfile(given, file)
    with open_store(file, create=given is None) as store:
        if given is None:
            build(store, lessons, Words(1))
        lesson = new_lesson(STATEMENT, "", failures=["run-81"], evidence=["t-1"], confidence=0.5)
        envelope = {"lesson_id": "l-cart", "signature": "a" * 64, "project": {}, "red_flag": False, "bundle": "b" * 64}
        if store.get("lessons", "l-cart") is None:
            store.append([draft("lesson-admitted", {"lesson": lesson, "envelope": envelope, "decision_id": "d-cart"})])


def main() -> int:
    """Print the figures; 1 where a silent hook takes more of the processor than its budget, or one said what it should not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lessons", type=int, default=100_000)
    parser.add_argument("--store", type=Path, help="a store to copy instead of building one")
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        fill(home / "store.db", options.lessons, options.store)
        found = measure(home, options.runs)
    print(json.dumps(found, indent=1))  # noqa: T201 - the report
    right = all(bool(figures["said"]) == name.startswith("handing") for name, figures in found.items())
    most = max(figures["cpu / bare"] for name, figures in found.items() if name.startswith("silent"))
    return 0 if right and most <= BUDGET else 1


if __name__ == "__main__":
    sys.exit(main())
