"""What a worker does with any job of the queue: here the parts that put jobs come together, and none of them knows another.

The pool calls `handle` by name, in a process of its own. `python -m reflect_gate.jobs` works on one job from stdin, in the mode
without a queue (`capture.legacy`).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reflect_store.queue import Job

__all__ = ["handle"]


def handle(job: Job) -> None:
    """Work on a captured failure, or record what the end of a session said of a lesson; raises as `capture.handling.handle`."""
    from .capture import handling
    from .hooks.concluding import record_ended

    handling.handle(job, record_ended)


if __name__ == "__main__":
    from .capture.legacy import main

    sys.exit(main(handle))
