"""Fail or kill at every system call of put, duplicate put, ACK, retry, dead letter and its retry, by strace's injection.

    python tests/queue/strace_matrix.py [--every N]

A driver prepares five jobs, then does one operation on each and prints what it was told. Each system call between its marks
is made to fail with each errno, and to be the last one (SIGKILL), a run each. Afterwards each job must be where its operation
was told to have put it, or, where it was told nothing, there or where it was. Exit code 77 where strace cannot be used.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from reflect_store.queue import FileQueue, Job, QueueSettings, StoreError, open_queue

__all__ = ["main"]

CALLS = (
    "openat write fsync read pread64 pwrite64 rename renameat renameat2 unlink unlinkat fstat newfstatat stat lstat statx close "
    "mkdir flock getdents64"
).split()
ERRORS = ("EIO", "ENOSPC", "EROFS", "EACCES", "EINTR")
SETTINGS = QueueSettings(block_timeout=0.0)
SKIPPED = 77


class Operation(NamedTuple):
    """Where its job is before, and after."""

    before: str
    after: str


OPERATIONS: Mapping[str, Operation] = {
    "put": Operation("absent", "waiting:0"),
    "again": Operation("waiting:0", "waiting:0"),
    "ack": Operation("waiting:0", "done"),
    "retry": Operation("waiting:0", "waiting:1"),
    "dead": Operation("waiting:0", "dead"),
    "revive": Operation("dead", "waiting:0"),
}


def _job(name: str) -> Job:
    return Job(name, "error", name, "failed", {"pad": "x" * 700})


def _say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def drive(folder: str) -> None:
    """Prepare, and then do each operation between the marks BEGIN and END."""
    with open_queue(folder, SETTINGS) as queue:
        claims = {}
        for name in ("ack", "retry", "dead", "revive"):
            queue.put(_job(name))
            claim = queue.claim()
            assert claim is not None
            claims[name] = claim
        claims["revive"].dead("no use")
        queue.put(_job("again"))
        steps: dict[str, Callable[[], object]] = {
            "put": lambda: queue.put(_job("put")),
            "again": lambda: queue.put(_job("again")),
            "ack": claims["ack"].ack,
            "retry": lambda: claims["retry"].retry("busy"),
            "dead": lambda: claims["dead"].dead("no use"),
            "revive": lambda: queue.retry_dead(_job("revive").id),
        }
        _say("BEGIN")
        for name, step in steps.items():
            try:
                said = step()
            except StoreError as error:
                _say(f"{name} {error.code}")
            else:
                _say(f"{name} {'unsaved' if said == 'unsaved' else 'ok'}")
        _say("END")


def _strace(out: str, *options: str, folder: Path) -> subprocess.CompletedProcess[str]:
    shutil.rmtree(folder, ignore_errors=True)
    command = ["strace", "-qq", "-o", out, *options, sys.executable, __file__, "--drive", str(folder)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    )


def points(folder: Path) -> list[tuple[str, int, str]]:
    """Return each system call between the marks: its name, which one of that name it is, and its text."""
    log = folder.parent / "trace"
    _strace(str(log), "-e", f"trace={','.join(f'?{name}' for name in CALLS)}", folder=folder)
    seen: Counter[str] = Counter()
    found: list[tuple[str, int, str]] = []
    inside = False
    for text in log.read_text().splitlines():
        name = text.partition("(")[0]
        seen[name] += 1
        if name == "write" and "BEGIN" in text:
            inside = True
        elif name == "write" and "END" in text:
            return found
        elif inside and not text.startswith("write(1,"):
            found.append((name, seen[name], text[:100]))
    raise SystemExit(f"the driver did not end: {log.read_text()[-300:]}")


def _places(queue: FileQueue) -> dict[str, str]:
    found = {row.id: f"waiting:{row.attempts}" for row in queue.jobs()}
    return {**found, **{row.id: "dead" for row in queue.dead_letters()}}


def judge(folder: Path, out: str) -> list[str]:
    """Return what is wrong after a run that printed `out`."""
    told = dict(line.split() for line in out.splitlines() if " " in line)
    wrong = []
    with open_queue(folder, SETTINGS) as queue:
        if queue.replay().corrupt:
            wrong.append("a torn record is to be seen")
        found = _places(queue)
        for name, (before, after) in OPERATIONS.items():
            id_ = _job(name).id
            place = found.get(id_) or ("done" if queue.done(id_) else "absent")
            allowed = {after} if told.get(name) == "ok" else {before, after}
            # Where the note could not be made, the record itself is gone for good.
            if place not in allowed and not (name == "ack" and place == "absent"):
                wrong.append(f"{name} was told {told.get(name)}, and its job is {place}")
        if queue.put(_job("late")).outcome != "enqueued":
            wrong.append("nothing can be put afterwards")
    return wrong


def main() -> int:
    """Run as a script; exit code 1 where something is wrong, 77 where strace cannot be used."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="try only every so many of the calls")
    parser.add_argument("--drive", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        drive(given.drive)
        return 0
    strace = shutil.which("strace")
    if strace is None or subprocess.run([strace, "-qq", sys.executable, "-c", ""], capture_output=True, check=False).returncode:
        print("skipped: strace is not there, or may not trace")  # noqa: T201 - the result
        return SKIPPED
    begun = time.monotonic()
    runs, felt, wrong = 0, 0, []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "queue"
        calls = points(folder)[:: given.every]
        for name, number, text in calls:
            for fault in (*(f"error={error}" for error in ERRORS), "signal=SIGKILL"):
                inject = f"inject={name}:{fault}:when={number}"
                run = _strace("/dev/null", "-e", f"trace={name}", "-e", inject, folder=folder)
                runs += 1
                killed = "END" not in run.stdout
                felt += killed or any(not line.endswith(" ok") for line in run.stdout.split("\n") if " " in line)
                problems = judge(folder, run.stdout)
                if killed and "KILL" not in fault:
                    problems.append(f"the process died: {run.stderr.strip()[-200:]}")
                wrong += [f"{fault} at {text}: {problem}" for problem in problems]
    seconds = round(time.monotonic() - begun)
    print(json.dumps({"calls": len(calls), "runs": runs, "felt": felt, "violations": wrong, "seconds": seconds}))  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
