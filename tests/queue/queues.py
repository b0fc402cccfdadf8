"""Queues for the tests, by back end, and what is said of a job in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from reflect_store.queue import Clock, FileQueue, Fs, Job, Queue, QueueSettings, open_queue

from .model import ROOT, FakeClock, ModelFs

__all__ = ["BACKENDS", "Make", "Opener", "job", "middle", "model_queue", "places", "where"]


class Make(Protocol):
    """Opens the queue that the test is about; opening it again is what another process, or a later one, does."""

    def __call__(self, settings: QueueSettings | None = None) -> Queue:
        """Open it."""
        ...


Opener: TypeAlias = Callable[[Path, Clock, QueueSettings | None, Fs], Queue]


def middle() -> float:
    """Return the number that leaves a delay without jitter."""
    return 0.5


def _local(path: Path, clock: Clock, settings: QueueSettings | None, _: Fs) -> Queue:
    return open_queue(path / "queue", settings, clock=clock, rng=middle)


def _model(_: Path, clock: Clock, settings: QueueSettings | None, fs: Fs) -> Queue:
    return open_queue(ROOT, settings, fs=fs, clock=clock, rng=middle)


BACKENDS: Final[Mapping[str, Opener]] = {"files": _local, "model": _model}
"""By name: what opens a queue. A further back end joins here and passes `test_conformance.py`."""


def job(number: int = 0, payload: object = None) -> Job:
    """Return a job; another number is another job."""
    return Job(f"task {number}", "error", f"t{number}", "failed", {"pad": "x" * 80} if payload is None else payload)


def model_queue(fs: ModelFs, clock: FakeClock | None = None, settings: QueueSettings | None = None) -> FileQueue:
    """Open the queue of a model."""
    return open_queue(ROOT, settings, fs=fs, clock=clock or FakeClock(), rng=middle)


def places(queue: Queue) -> dict[str, str]:
    """Return where each job is: `waiting:<attempts>`, `dead` or `expired`; of two places, both."""
    rows = [(row.id, f"waiting:{row.attempts}") for row in queue.jobs()]
    rows += [(row.id, "dead") for row in queue.dead_letters()]
    rows += [(row.id, "expired") for row in queue.expired()]
    found: dict[str, str] = {}
    for id_, place in rows:
        found[id_] = f"{found[id_]}+{place}" if id_ in found else place
    return found


def where(queue: Queue, id_: str) -> str:
    """Return where a job is, `done` or `absent` if it is nowhere."""
    return places(queue).get(id_) or ("done" if queue.done(id_) else "absent")
