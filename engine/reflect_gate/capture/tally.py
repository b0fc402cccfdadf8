"""How often something was put into a queue, over all processes: a file for each outcome, which grows by one byte each time.

A capture is a process of its own that ends at once, so nothing that it counts in memory is ever asked for. The size of a file is
read in one call, grows by whole bytes however many write, and survives every restart, as Prometheus wants of a counter.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from reflect_store.queue import Put

__all__ = ["OUTCOMES", "count", "counts"]

OUTCOMES: Final = ("accepted", "rejected_full", "deduped", "dropped_oldest")
"""What may become of a job that is put, by S1's names; `dropped_oldest` counts the jobs that made room."""

_FOLDER: Final = "counts"
_OF: Final[Mapping[str, str]] = {
    "enqueued": "accepted",
    "duplicate": "deduped",
    "dead": "deduped",
    "done": "deduped",
    "full": "rejected_full",
}


def count(folder: Path, put: Put, *, make: bool = False) -> None:
    """Count what became of a put into the queue in `folder`; what cannot be counted does not hold up a capture.

    `make`: the folder is not that of the queue, and is made where it is absent.
    """
    with contextlib.suppress(OSError):
        if make:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _add(folder / _FOLDER, _OF[put.outcome], 1)
        if put.dropped:
            _add(folder / _FOLDER, "dropped_oldest", len(put.dropped))


def _add(folder: Path, outcome: str, more: int) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(folder / outcome, flags, 0o600)
    except FileNotFoundError:
        # The queue's own folder is not made here: where it is gone, that is for the queue to say.
        folder.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(folder / outcome, flags, 0o600)
    try:
        os.write(handle, b"." * more)
    finally:
        os.close(handle)


def counts(folder: Path) -> dict[str, int]:
    """Return the totals of the queue in `folder` since it was made, by `OUTCOMES`."""
    found = dict.fromkeys(OUTCOMES, 0)
    for outcome in OUTCOMES:
        with contextlib.suppress(OSError):
            found[outcome] = (folder / _FOLDER / outcome).stat().st_size
    return found
