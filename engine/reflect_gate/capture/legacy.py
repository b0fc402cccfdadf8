"""The mode without a queue: a process of its own works on the failure at once, tries once, and is lost if it ends early (R-q9).

The process reads the job from stdin; nothing is written to disk before the answer is journalled.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from reflect_store.queue import Job

    from .settings import Settings

__all__ = ["NOT_RETRIED", "main", "start"]

NOT_RETRIED: Final = "not-retried"
"""How the reason begins where the one attempt failed."""

# By its name, as the handler of a pool is: what else may be in the queue is known there.
_PROGRAM: Final = "reflect_gate.jobs"
_LATE = 124
_FAILED = 1


def start(job: Job, settings: Settings) -> None:
    """Start a process that works on the job, and do not wait for it."""
    # A file without a name: a pipe would make the turn wait until the process has read it.
    with tempfile.TemporaryFile() as told:
        told.write(json.dumps([settings.queue_job_timeout, *job]).encode())
        told.seek(0)
        subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", _PROGRAM],
            stdin=told,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def main(handle: Callable[[Job], None]) -> int:
    """Let `handle` work on the job on stdin, and end when its time is over."""
    seconds, *parts = json.load(sys.stdin)
    timer = threading.Timer(float(seconds), os._exit, (_LATE,))
    timer.daemon = True
    timer.start()
    from reflect_store.queue import Job, Skip

    from .working import note_unreflected

    job = Job(*parts)
    try:
        handle(job)
    except Skip:
        return 0
    except Exception as error:  # noqa: BLE001 - whatever it is, nobody tries again
        with contextlib.suppress(Exception):
            note_unreflected(job, f"{NOT_RETRIED}: {error}")
        return _FAILED
    return 0
