"""Handlers for the pools of the tests; a pool imports them by name, in processes of its own."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from reflect_store.queue import Job, Parked, PermanentError, PersistError, Skip, TransientError

__all__ = ["flaky", "obey", "slow_start"]

LONG = 60.0


def _note(path: str, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, f"{text}\n".encode())
    finally:
        os.close(handle)


def obey(job: Job) -> None:
    """Do what the payload says: `{"do": …, "note": file}`; a note is made at the beginning and at the end."""
    what, note = job.payload["do"], job.payload["note"]
    _note(note, f"begin {job.id} {os.getpid()}")
    if what == "hang":
        time.sleep(LONG)
    elif what == "nap":
        time.sleep(job.payload["seconds"])
    elif what == "hang with a child":
        child = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({LONG})"])
        _note(note, f"child {child.pid}")
        time.sleep(LONG)
    elif what == "crash":
        os._exit(9)
    elif what != "succeed":
        raise {
            "skip": Skip("nothing to learn"),
            "park": Parked("no money", 7.0),
            "busy": TransientError("busy", retry_after=7.0),
            "refuse": PermanentError("no"),
            "parse": ValueError("no JSON"),
            "unkept": PersistError("disk full"),
        }[what]
    _note(note, f"end {job.id} {os.getpid()}")


def flaky(job: Job) -> None:
    """Fail in 3 of 10 calls: mostly for now, at times for good; skip at times; else note the job."""
    chance = random.random()
    if chance < 0.25:
        raise TransientError("503")
    if chance < 0.30:
        raise PermanentError("400")
    if chance < 0.35:
        raise Skip("nothing to learn")
    _note(job.payload["note"], job.id)


def slow_start(job: Job) -> None:
    """Note the job once a file says go; used to look at a job in the middle of its work."""
    _note(job.payload["note"], f"begin {job.id} {os.getpid()}")
    go = Path(job.payload["note"] + ".go")
    while not go.exists():
        time.sleep(0.01)
    _note(job.payload["note"], f"end {job.id} {os.getpid()}")
