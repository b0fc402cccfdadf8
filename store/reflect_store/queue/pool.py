"""Workers for a queue: each runs its jobs in a process of its own, which is killed when a job takes too long.

A worker is a thread that claims a job, hands it to its process, and settles the claim by the answer. The handler is named by an
import string, `package.module:callable`; it gets a `Job` and returns when the job is done, or raises `Skip`, `TransientError`,
`PermanentError`, `PersistError` or whatever `classify` sorts.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.reduction import send_handle
from typing import Final, NamedTuple, Self, TypeAlias

from ..errors import StoreError
from ._child import Answer, serve
from .counters import Counters
from .job import Job
from .protocol import Claim, Put, Queue

__all__ = ["Detached", "Observer", "Pool", "PoolSettings", "Stopped"]

Observer: TypeAlias = Callable[[str, float], None]
"""Is told the outcome (`success`, `skipped`, `transient`, `permanent`) and the seconds of each attempt."""

_LOOK: Final = 0.5
_START: Final = 60.0
_TROUBLE: Final = 1.0
_PASSING: Final = frozenset({"queue-busy", "queue-io", "queue-full-disk", "queue-unreachable"})
_HANDLES: Final = sys.platform != "win32"


class PoolSettings(NamedTuple):
    """The settings of a pool; times are seconds."""

    workers: int = 2
    job_timeout: float = 120.0
    drain: float = 30.0


class Stopped(NamedTuple):
    """How a pool ended: jobs that it had begun and finished, and jobs that it gave back."""

    finished: int
    released: int


class _Lost(Exception):  # noqa: N818 - the answer that never came
    """The process ended without an answer."""


class _Process:
    """A process that runs jobs one after the other; a new one takes its place when it was killed."""

    def __init__(self, handler: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._jobs, jobs = context.Pipe()
        self._life, life = context.Pipe()
        self._process = context.Process(target=serve, args=(jobs, life, handler, sys.path), daemon=True)
        self._process.start()
        jobs.close()
        life.close()

    def ready(self) -> None:
        """Return when the handler was imported.

        Raises:
            StoreError: `queue-handler` where it cannot be.
        """
        try:
            answer = self.answer(_START)
        except _Lost:
            answer = ("unusable", "its process died", None)
        if answer is None or answer[0] != "ready":
            self.kill()
            raise StoreError("queue-handler", f"the handler cannot be used: {answer[1] if answer else 'it does not start'}")

    def give(self, job: Job, lease: int | None) -> None:
        """Hand a job over, with a copy of the handle of its lease: if this process dies, the job is still in work."""
        leased = lease is not None and _HANDLES
        try:
            self._jobs.send((tuple(job), leased))
            if lease is not None and leased:
                send_handle(self._jobs, lease, self._process.pid)
        except OSError:
            raise _Lost from None

    def answer(self, seconds: float) -> Answer | None:
        """Return what the process says, None where it says nothing for so long."""
        try:
            if not self._jobs.poll(max(seconds, 0.0)):
                return None
            answer: Answer = self._jobs.recv()
        except (EOFError, OSError):
            raise _Lost from None
        return answer

    def kill(self) -> int | None:
        """End the process and what it started; return its exit code."""
        process = self._process
        if process.pid is not None and process.is_alive():
            if hasattr(os, "killpg"):
                # It leads its own group, unless it was too young to have made one.
                with contextlib.suppress(OSError):
                    if os.getpgid(process.pid) == process.pid:
                        os.killpg(process.pid, signal.SIGKILL)
            process.kill()
        process.join()
        code = process.exitcode
        self._jobs.close()
        self._life.close()
        process.close()
        return code


class Pool:
    """Workers on a queue, from `start()` to `stop()`; `once()` works off what is due and returns."""

    def __init__(
        self,
        queue: Queue,
        handler: str,
        settings: PoolSettings | None = None,
        observe: Observer | None = None,
        acknowledged: Callable[[Job], None] | None = None,
    ) -> None:
        self.queue = queue
        self.handler = handler
        self.settings = settings or PoolSettings()
        self.error: StoreError | None = None
        """What the queue last refused a worker; the worker tries again."""
        self._observe = observe
        self._acknowledged = acknowledged
        self._stopping = threading.Event()
        self._end: float | None = None
        self._threads: list[threading.Thread] = []
        self._guard = threading.Lock()
        self._finished = 0
        self._released = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, *, once: bool = False) -> None:
        """Start the workers; the first process is ready on return.

        Args:
            once: a worker ends when no job is due, instead of waiting for one.

        Raises:
            StoreError: `queue-handler` where the handler cannot be imported; no job is touched then.
        """
        first: _Process | None = _Process(self.handler)
        if first is not None:
            first.ready()
        self._stopping.clear()
        self._end = None
        for number in range(self.settings.workers):
            thread = threading.Thread(target=self._work, args=(first, once), name=f"queue-worker-{number}", daemon=True)
            first = None
            self._threads.append(thread)
            thread.start()

    @property
    def working(self) -> bool:
        """Whether a worker still claims or runs jobs."""
        return any(thread.is_alive() for thread in self._threads)

    def hurry(self) -> None:
        """Let a `stop` that is waiting wait no longer; may be called while it does, by a signal handler too."""
        self._end = time.monotonic()

    def once(self) -> Stopped:
        """Work until no job is due; jobs that wait for a later attempt stay."""
        self.start(once=True)
        return self._join()

    def stop(self, timeout: float | None = None) -> Stopped:
        """Take no more jobs, and wait for those in work; after so many seconds (default: `drain`) give them back.

        A job that is given back was killed, costs no attempt, and runs again later.
        """
        self._end = time.monotonic() + (self.settings.drain if timeout is None else timeout)
        self._stopping.set()
        return self._join()

    def _join(self) -> Stopped:
        for thread in self._threads:
            thread.join()
        self._threads.clear()
        return Stopped(self._finished, self._released)

    # -- one worker ----------------------------------------------------------------------------------------------------

    def _work(self, process: _Process | None, once: bool) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    claim = self.queue.claim(0.0 if once else _LOOK)
                except StoreError as error:
                    self.error = error
                    if once or error.code in {"queue-closed", "queue-gone"}:
                        return
                    self._stopping.wait(_TROUBLE)
                    continue
                if claim is not None:
                    process = self._run(claim, process)
                elif once:
                    return
        finally:
            if process is not None:
                process.kill()

    def _run(self, claim: Claim, process: _Process | None) -> _Process | None:
        """Run a job and settle it; return the process that the next one may use."""
        if process is None:
            process = _Process(self.handler)
            try:
                process.ready()
            except StoreError as error:
                # The program changed under the pool; that is no fault of the job.
                self.error = error
                self._settle(claim.release)
                self._stopping.wait(_TROUBLE)
                return None
        begun = time.monotonic()
        try:
            process.give(claim.job, claim.fileno())
            answer = self._await(process, begun + self.settings.job_timeout)
        except _Lost:
            text = f"its process ended with {process.kill()}"
            self._count("permanent", time.monotonic() - begun)
            self._settle(lambda: claim.dead(text, "poison"))
            return None
        if answer is None:
            process.kill()
            if time.monotonic() - begun < self.settings.job_timeout:
                self._settle(claim.release)
                with self._guard:
                    self._released += 1
                return None
            answer = ("transient", f"TimeoutError: it took more than {self.settings.job_timeout:g} s", None)
            self._conclude(claim, answer, time.monotonic() - begun)
            return None
        self._conclude(claim, answer, time.monotonic() - begun)
        return process

    def _await(self, process: _Process, end: float) -> Answer | None:
        """Return the answer, None at the end of the job's time or of the pool's patience."""
        while True:
            until = end if self._end is None else min(end, self._end)
            left = until - time.monotonic()
            # In short looks, since a stop must be seen.
            answer = process.answer(min(left, _LOOK))
            if answer is not None or left <= 0:
                return answer

    def _conclude(self, claim: Claim, answer: Answer, seconds: float) -> None:
        outcome, text, after = answer
        if outcome == "parked":
            # Not an attempt: it is counted nowhere.
            self._settle(lambda: claim.park(text, after or 0.0))
            return
        if outcome == "persist":
            outcome = "transient"
            with self._guard:
                self.queue.counters.persist_failures += 1
        self._count(outcome, seconds)
        if outcome in {"success", "skipped"}:
            self._settle(claim.ack)
            self._tell_of(claim)
        elif outcome == "transient":
            self._settle(lambda: claim.retry(text, after))
        else:
            self._settle(lambda: claim.dead(text))
        with self._guard:
            self._finished += 1

    def _tell_of(self, claim: Claim) -> None:
        """Tell of a job that is acknowledged; where the queue cannot say that it is, nobody is told."""
        if self._acknowledged is None:
            return
        with contextlib.suppress(StoreError):
            if self.queue.done(claim.id):
                self._acknowledged(claim.job)

    def _count(self, outcome: str, seconds: float) -> None:
        with self._guard:
            self.queue.counters.processed(outcome, seconds)
        if self._observe is not None:
            self._observe(outcome, seconds)

    def _settle(self, step: Callable[[], object]) -> None:
        """Settle a claim. What cannot be settled stays claimed, so that no one runs it again as long as this process lives."""
        while True:
            try:
                step()
            except StoreError as error:
                self.error = error
                if error.code in _PASSING and not self._stopping.wait(_TROUBLE):
                    continue
            return


class Detached:
    """The mode without a queue: a job runs at once in a process of its own, is tried once, and is lost with this process."""

    def __init__(self, handler: str, settings: PoolSettings | None = None, observe: Observer | None = None) -> None:
        self.handler = handler
        self.settings = settings or PoolSettings()
        self.counters = Counters()
        self._observe = observe
        self._threads: list[threading.Thread] = []

    def put(self, job: Job) -> Put:
        """Start the job and return; nothing is written."""
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=self._run, args=(job,), name=f"detached-{job.id}", daemon=True)
        self._threads.append(thread)
        thread.start()
        self.counters.enqueue["accepted"] += 1
        return Put(job.id, "enqueued")

    def wait(self) -> None:
        """Return when every job that was started has ended."""
        for thread in self._threads:
            thread.join()

    def _run(self, job: Job) -> None:
        begun = time.monotonic()
        process = _Process(self.handler)
        outcome = "permanent"
        try:
            process.ready()
            process.give(job, None)
            answer = process.answer(self.settings.job_timeout)
            # Nobody comes back to a job that was to wait.
            outcome = answer[0] if answer is not None and answer[0] != "parked" else "transient"
        except (_Lost, StoreError):
            # There is nobody to tell, and nothing to try again with.
            outcome = "permanent"
        finally:
            with contextlib.suppress(ValueError):
                process.kill()
            self.counters.processed("transient" if outcome == "persist" else outcome, time.monotonic() - begun)
            if self._observe is not None:
                self._observe(outcome, time.monotonic() - begun)
