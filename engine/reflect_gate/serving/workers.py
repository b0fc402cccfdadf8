"""Threads that do the work, each with a desk of its own, and a bounded number of requests that wait for them."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, Generic, TypeVar

from ..errors import ReflectGateError
from .desk import Desk

__all__ = ["Workers"]

T = TypeVar("T")

_BUSY: Final = "more requests wait than the server takes: try again"


class _Job(Generic[T]):
    def __init__(self, work: Callable[[Desk], T]) -> None:
        self._work: Callable[[Desk], T] | None = work
        self.future: Future[T] = Future()
        # A request that was given up while it waited keeps its place until a thread comes to it, and not its body.
        self.future.add_done_callback(self._let_go)

    def _let_go(self, _: Future[T]) -> None:
        self._work = None

    def run(self, desk: Desk) -> None:
        """Do it, unless whoever asked has gone."""
        work = self._work
        if work is None or not self.future.set_running_or_notify_cancel():
            return
        try:
            found = work(desk)
        except BaseException as error:  # noqa: BLE001 - whatever it is belongs to whoever waits
            self.future.set_exception(error)
        else:
            self.future.set_result(found)


class Workers:
    """`count` threads; at most `waiting` requests wait for one."""

    def __init__(self, count: int, waiting: int, desk: Callable[[], Desk]) -> None:
        self._desk = desk
        self._jobs: queue.Queue[_Job[object] | None] = queue.Queue(waiting)
        self._threads = [threading.Thread(target=self._serve, name=f"worker-{number}") for number in range(count)]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return self._jobs.qsize()

    def submit(self, work: Callable[[Desk], T]) -> Future[T]:
        """Let a thread do it; `server-busy` where too many wait already."""
        job = _Job(work)
        try:
            self._jobs.put_nowait(job)  # type: ignore[arg-type] # the queue does not ask what comes of a job
        except queue.Full:
            raise ReflectGateError("server-busy", _BUSY) from None
        return job.future

    def close(self) -> None:
        """Let the threads end what they have, and wait for them."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        desk = self._desk()
        try:
            while (job := self._jobs.get()) is not None:
                job.run(desk)
        finally:
            desk.close()
