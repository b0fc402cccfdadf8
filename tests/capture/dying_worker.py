"""A worker that is killed at a given point of a job: `dying_worker.py POINT`, with the environment of a world.

POINT is where the worker, and the process of the job with it, is killed with SIGKILL:

- `received`: the answer is journalled and not read; `alone` is the same place, and kills the job's process alone;
- `stored`: the store has what came of it, the log of calls has not;
- `noted`: all is written, and the pool does not know yet;
- `answered`: the pool knows, and has not acknowledged;
- `acknowledged`: the job is done, and the journal still has the answer.

No POINT kills nobody.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from reflect_gate import jobs
from reflect_gate.capture import working
from reflect_gate.capture.settings import read_settings
from reflect_gate.capture.spending import Calls
from reflect_gate.stages import reflect as stage
from reflect_store.queue import FileClaim, Job

__all__ = ["POINTS", "dying"]

IN_JOB = {
    "received": (stage, "parse_response"),
    "alone": (stage, "parse_response"),
    "stored": (Calls, "outcome"),
}
IN_POOL = {"answered": (FileClaim, "ack"), "acknowledged": (working, "_acknowledged")}
POINTS = (*IN_JOB, "noted", *IN_POOL)


def dying(job: Job) -> None:
    """Work on a job as usual, and die where the environment says."""
    point = os.environ["DIES_AT"]
    if point == "noted":
        try:
            jobs.handle(job)
        finally:
            _die()
    if point in IN_JOB:
        setattr(*IN_JOB[point], _die_alone if point == "alone" else _die)
    jobs.handle(job)


def _die(*_: object, **__: object) -> Any:
    if os.environ.get("IS_POOL") != str(os.getpid()):
        os.kill(os.getppid(), signal.SIGKILL)
    _die_alone()


def _die_alone(*_: object, **__: object) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def main(point: str = "") -> None:
    """Work until nothing is due."""
    os.environ |= {"DIES_AT": point, "IS_POOL": str(os.getpid())}
    if point in IN_POOL:
        setattr(*IN_POOL[point], _die)
    done = working.work(read_settings(), once=True, handler="dying_worker:dying")
    print(json.dumps(done._asdict()))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
