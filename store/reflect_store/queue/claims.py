"""A job in work and the five ways in which that ends."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import StoreError
from .core import Core
from .job import Job
from .lock import Lease
from .policy import Rng, backoff
from .protocol import Settled
from .record import Reason, Record, short
from .schedule import Entry

__all__ = ["FileClaim"]


class FileClaim:
    """A job in work. Its lease lasts until it is settled, or until the process, and all that share `fileno()`, are gone."""

    def __init__(self, core: Core, record: Record, lease: Lease, entry: Entry, rng: Rng) -> None:
        self.record = record
        self.attempt = max(record.attempts, entry.attempts) + 1
        self.settled = False
        self._core = core
        self._lease = lease
        self._entry = entry
        self._rng = rng

    @property
    def id(self) -> str:
        """The id of the job."""
        return self.record.id

    @property
    def job(self) -> Job:
        """The job."""
        return self.record.job

    def fileno(self) -> int | None:
        """Return the handle of the lease; a process that holds a copy of it keeps others away from the job."""
        return None if self.settled else self._lease.handle

    def ack(self) -> None:
        """Say that the job is done: durable on return, and it never runs again.

        Raises:
            StoreError: where that could not be written down. The claim stays open and may be acknowledged again, unless it
                is `settled`: then the record is gone, but would come back if the power failed now.
        """
        core = self._unsettled()
        with core.told(), core.mutex:
            noted = _tried(core, lambda: core.ledger.add(self.id, core.clock.wall()))
            if noted is not None:
                # A full disk still lets a name go, and once that is durable it needs no note.
                core.remove(self.id)
                self._settle()
                core.folders.sync("wal")
            else:
                left = _tried(core, lambda: core.remove(self.id))
                self._settle()
                if left is not None:
                    core.later(self.id, self._entry, core.settings.max_delay)
        core.tell()

    def retry(self, error: object, after: float | None = None) -> Settled:
        """Say that the attempt failed; the next is after a delay, of at least `after` seconds. The last one makes it dead."""
        core = self._unsettled()
        if self.attempt >= core.settings.max_attempts:
            return self.dead(error, "exhausted")
        delay = backoff(core.settings, self.attempt, self._rng, after)
        return self._wait(core, error, self.attempt, delay)

    def park(self, why: object, after: float) -> Settled:
        """Let the job wait for so many seconds, after a restart for the longest delay at most; this costs no attempt."""
        return self._wait(self._unsettled(), why, self.attempt - 1, after)

    def _wait(self, core: Core, why: object, attempts: int, delay: float) -> Settled:
        record = self.record._replace(attempts=attempts, next=core.clock.wall() + delay, error=short(why))
        with core.told(), core.mutex:
            failed = _tried(core, lambda: core.save(record))
            seen = (record.next, record.attempts) if failed is None else None
            core.schedule.add(self.id, Entry(core.clock.monotonic() + delay, record.created, attempts, seen))
            if attempts == self.attempt:
                core.counters.retries[attempts] = core.counters.retries.get(attempts, 0) + 1
            self._settle()
        core.tell()
        return "scheduled" if failed is None else "unsaved"

    def dead(self, error: object, reason: Reason = "permanent") -> Settled:
        """Make the job a dead letter."""
        core = self._unsettled()
        record = self.record._replace(attempts=self.attempt)
        with core.told(), core.mutex:
            failed = _tried(core, lambda: core.bury(record, error, reason))
            if failed is not None:
                # One attempt back: it comes here again, and is no job that has used up its attempts without a dead letter.
                entry = self._entry._replace(attempts=self.attempt - 1, seen=None)
                core.later(self.id, entry, core.settings.max_delay)
            self._settle()
        core.tell()
        return "dead" if failed is None else "unsaved"

    def release(self) -> None:
        """Give the job back as it was; this costs no attempt. A claim that is settled already is left alone."""
        if self.settled:
            return
        core = self._unsettled()
        with core.told(), core.mutex:
            core.later(self.id, self._entry, 0.0)
            self._settle()
        core.tell()

    def let_go(self) -> None:
        """Release, also where the folder is gone or another process never lets go of it."""
        try:
            self.release()
        except StoreError:
            self._settle(keep_strikes=True)

    def _unsettled(self) -> Core:
        self._core.check_open()
        if self.settled:
            raise StoreError("queue-claim", f"the claim of job `{self.id}` was settled already")
        return self._core

    def _settle(self, *, keep_strikes: bool = False) -> None:
        self.settled = True
        self._core.held.pop(self.id, None)
        self._core.leases.drop(self._lease, keep_strikes=keep_strikes)


def _tried(core: Core, step: Callable[[], None]) -> Exception | None:
    """Return the error of a step that may fail, and count it."""
    try:
        step()
    except (OSError, StoreError) as error:
        core.counters.write_failures += 1
        return error
    return None
