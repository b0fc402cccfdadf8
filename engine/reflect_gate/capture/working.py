"""Working off what was captured: a queue, processes that reflect, and an orderly end (R-q3, R-q7, R-q8)."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from reflect_store import StoreError, open_store
from reflect_store.queue import open_at
from reflect_store.queue.pool import Pool, Stopped

from ..errors import ReflectGateError
from .noting import note_not_reflected, request_of
from .route import ROUTES, store_of
from .settings import Settings, read_settings
from .spending import Tail, open_calls

if TYPE_CHECKING:
    from reflect_store.queue import Job, Listed, Queue

__all__ = ["HANDLER", "PARKED", "STALE", "Worked", "Worker", "is_parked", "note_unreflected", "work"]

HANDLER: Final = "reflect_gate.jobs:handle"
"""What runs the jobs, by its name: it is called in other processes, and knows what else may be in the queue."""

STALE: Final = "stale"
"""The reason where a job waited for longer than it may."""

PARKED: Final = ("Parked: ", "DailyLimit: ")
"""How the error of a job begins that waits without having failed."""

_LOOK: Final = 0.2


class Worked(NamedTuple):
    """How a worker ended: jobs finished and given back, attempts by outcome, jobs that wait and are parked, dead letters."""

    finished: int
    released: int
    attempts: Mapping[str, int]
    waiting: int
    parked: int
    dead: int


def is_parked(job: Listed) -> bool:
    """Return whether a job waits for money or for a repaired configuration, and not for another attempt."""
    return (job.error or "").startswith(PARKED)


class Worker:
    """A queue with workers, from `start` to `stop`; as a context manager it stops at the end.

    Raises:
        ReflectGateError: `queue-off` in the mode without a queue.
        StoreError: the queue cannot be opened.
    """

    def __init__(
        self, settings: Settings | None = None, *, handler: str = HANDLER, observe: Callable[[str, float], None] | None = None
    ) -> None:
        self.settings = settings or read_settings()
        if not self.settings.queue_enabled:
            raise ReflectGateError("queue-off", "the queue is switched off: each capture has a process of its own")
        self.queue: Queue = open_at(self.settings.place, self.settings.queue())
        self.calls = open_calls(self.settings.daily_cost_limit)
        self.outcomes = Tail(self.calls)
        self.pool = Pool(self.queue, handler, self.settings.pool(), observe, _acknowledged)
        self._stale = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, *, once: bool = False) -> None:
        """Replay what waits, record what waited for too long, and start the workers; with `once` they end when nothing is due."""
        self.queue.replay()
        self.look()
        self.pool.start(once=once)

    def look(self) -> None:
        """Record the jobs that waited for too long since the last look; what the store cannot take now, the next look records."""
        discarded = self.queue.counters.stale_discarded
        if discarded == self._stale:
            return
        try:
            for row in self.queue.expired():
                note_unreflected(row.job, STALE)
        except StoreError as error:
            self.pool.error = error
        else:
            self._stale = discarded

    def close(self) -> None:
        """Stop, and release the queue; closing twice is harmless."""
        self.pool.stop()
        self.queue.close()

    def stop(self, timeout: float | None = None) -> Worked:
        """Take no more jobs, wait for those in work, give back what does not end in time, and say how it went."""
        return self._worked(self.pool.stop(timeout))

    def _worked(self, stopped: Stopped) -> Worked:
        waiting = self.queue.jobs()
        return Worked(
            stopped.finished,
            stopped.released,
            dict(self.queue.counters.attempts),
            len(waiting),
            sum(map(is_parked, waiting)),
            len(self.queue.dead_letters()),
        )


def work(
    settings: Settings | None = None,
    *,
    once: bool = False,
    stop: threading.Event | None = None,
    started: Callable[[Worker], None] | None = None,
    handler: str = HANDLER,
) -> Worked:
    """Work until `stop` is set, or with `once` until nothing is due; then end in order.

    Args:
        settings: those of the environment unless given.
        once: return when no job is due; jobs that wait for a later attempt stay.
        stop: set by a signal handler or another thread.
        started: is given the worker once it works, for metrics or to hurry its end.
        handler: what runs the jobs, as `package.module:callable`; the one of the whole program unless given.

    Raises:
        ReflectGateError: the mode is without a queue.
        StoreError: the queue cannot be opened, or was taken away while it was worked on.
    """
    stop = stop or threading.Event()
    with Worker(settings, handler=handler) as worker:
        worker.start(once=once)
        if started is not None:
            started(worker)
        while worker.pool.working and not stop.wait(_LOOK):
            worker.look()
        error = worker.pool.error
        if error is not None and not stop.is_set():
            raise error
        return worker.stop()


def _acknowledged(job: Job) -> None:
    """Drop the journalled answer of a job that is done: the store has what came of it."""
    from ..llm.journal import open_journal

    # A file that stays is in nobody's way.
    with contextlib.suppress(OSError):
        open_journal().forget(job.attempt)


def note_unreflected(job: Job, reason: str) -> bool:
    """Record that a job's failure is not reflected on; return false where that was recorded, or the job holds no failure.

    Raises:
        StoreError: the store cannot be written.
    """
    payload = job.payload if isinstance(job.payload, dict) else {}
    termination, route = payload.get("termination"), payload.get("route")
    if not isinstance(termination, dict) or route not in ROUTES:
        return False
    try:
        request = request_of(termination)
    except (ReflectGateError, KeyError):
        return False
    with open_store(store_of(route), create=True) as store:
        return note_not_reflected(store, request, reason)
