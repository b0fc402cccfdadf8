"""A job in work on a server, and the five ways in which that ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import StoreError
from ..job import Job
from ..policy import TransientError
from ..protocol import Settled
from ..record import Reason, Record, encode, short
from .link import UNREACHABLE

if TYPE_CHECKING:
    from .server import ServerQueue

__all__ = ["ServerClaim", "Taken"]


class Taken(NamedTuple):
    """How a job was taken: procrastinate's row, the worker that has it, the server's time, and the steady time then."""

    handle: int
    worker: int
    epoch: float
    steady: float


class ServerClaim:
    """A job in work. It is this worker's until it is settled, or until the worker gives no sign of life any more."""

    def __init__(self, queue: ServerQueue, record: Record, taken: Taken) -> None:
        self.record = record
        self.attempt = record.attempts + 1
        self.settled = False
        self.taken = taken
        self._queue = queue
        self._unsure = False

    @property
    def id(self) -> str:
        """The id of the job."""
        return self.record.id

    @property
    def job(self) -> Job:
        """The job."""
        return self.record.job

    def fileno(self) -> int | None:
        """Return None: the server knows the worker, not a file."""
        return None

    def ack(self) -> None:
        """Say that the job is done: durable on return, and it never runs again.

        Raises:
            StoreError: `queue-claim` where the worker was thought dead and the job is another's by now; where the server cannot
                be reached the claim stays open and may be acknowledged again.
        """
        self._settle("ack")

    def retry(self, error: object, after: float | None = None) -> Settled:
        """Say that the attempt failed; the next is after a delay, of at least `after` seconds. The last one makes it dead."""
        from .engine import SeedRetry, decide

        queue = self._unsettled()
        now = self._now()
        strategy = SeedRetry(queue.settings, queue.rng, lambda: now)
        due = decide(strategy, TransientError(short(error), after), self.taken.handle, self.attempt - 1)
        if due is None:
            return self.dead(error, "exhausted")
        done = self._wait(error, self.attempt, due.timestamp() - now)
        queue.counters.retries[self.attempt] = queue.counters.retries.get(self.attempt, 0) + 1
        return done

    def park(self, why: object, after: float) -> Settled:
        """Let the job wait for so many seconds, after a restart for the longest delay at most; this costs no attempt."""
        return self._wait(why, self.attempt - 1, after)

    def _now(self) -> float:
        """Return the server's time: when the job was taken, and what has passed here since."""
        return self.taken.epoch + self._unsettled().clock.monotonic() - self.taken.steady

    def _wait(self, why: object, attempts: int, delay: float) -> Settled:
        from datetime import UTC, datetime

        queue, due = self._unsettled(), self._now() + delay
        record = self.record._replace(attempts=attempts, next=due, error=short(why))
        # Known before the server has it: whoever takes it next may be this process.
        queue.later[self.taken.handle] = queue.clock.monotonic() + delay
        try:
            self._settle("again", datetime.fromtimestamp(due, UTC), encode(record), attempts)
        except StoreError:
            queue.later.pop(self.taken.handle, None)
            raise
        return "scheduled"

    def dead(self, error: object, reason: Reason = "permanent") -> Settled:
        """Make the job a dead letter."""
        died = self._now()
        record = self.record._replace(attempts=self.attempt, error=short(error), reason=reason, died=died)
        self._settle("bury", encode(record), self.attempt, reason)
        return "dead"

    def release(self) -> None:
        """Give the job back as it was; this costs no attempt. A claim that is settled already is left alone."""
        if not self.settled:
            self._settle("release")

    def let_go(self) -> None:
        """Release, also where the server is gone: it takes the job back once this worker gives no sign of life."""
        try:
            self.release()
        except StoreError:
            self._over()

    def _unsettled(self) -> ServerQueue:
        self._queue.check_open()
        if self.settled:
            raise StoreError("queue-claim", f"the claim of job `{self.id}` was settled already")
        return self._queue

    def _settle(self, name: str, *values: Any) -> None:
        queue = self._unsettled()
        try:
            ((mine,),) = queue.link.ask(name, (self.id, self.taken.handle, self.taken.worker, *values))
        except StoreError as error:
            # The server may have done it, and its answer was lost.
            self._unsure = self._unsure or error.code == UNREACHABLE
            queue.counters.write_failures += 1
            raise
        self._over()
        if not mine and (name == "ack" or not self._unsure):
            message = f"job `{self.id}` was given to another worker: this one gave no sign of life for too long"
            raise StoreError("queue-claim", message, queue.link.place)
        queue.tell()

    def _over(self) -> None:
        self.settled = True
        self._queue.held.pop(self.taken.handle, None)
