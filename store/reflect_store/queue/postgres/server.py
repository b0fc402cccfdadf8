"""A queue on a server: what is put, and what is claimed."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Final, Self

from ...errors import StoreError
from ...postgres._pool import Connection
from ..clock import Clock, SystemClock
from ..counters import Counters, Gauges
from ..job import Job
from ..policy import QueueSettings, Rng
from ..protocol import Kept, Listed, Put, Replay
from ..record import MOST_PAYLOAD, CorruptError, NewerError, decode, encode, new_record
from . import shelves
from .claims import ServerClaim, Taken
from .keeper import Keeper, Lease, reap_long_silent
from .layout import prepare
from .link import UNREACHABLE, Link, rows

__all__ = ["ServerQueue", "open_server"]

_PAUSE: Final = 0.05
_TROUBLE: Final = 0.5
_SHORTEST: Final = 0.005
_LISTENING: Final = 300.0
"""Seconds that a claim waits at most where others' jobs are told of."""
_EARLY: Final = 1.0
"""Seconds by which the server's calendar may be ahead of this process before that is called a jump."""


def open_server(url: str, settings: QueueSettings, *, clock: Clock | None, rng: Rng, lease: Lease | None = None) -> ServerQueue:
    """Open the queue in a database; its tables are made where there are none, if the role may do that.

    Args:
        url: `postgresql://user@host/database`.
        settings: of the queue, checked.
        clock: its steady clock measures waiting; when jobs are due is said by the server's clock.
        rng: source of the jitter, from 0 up to 1.
        lease: how long a worker that gives no sign of life keeps its jobs.

    A server that cannot be reached is tried again for as long as a put may wait.

    Raises:
        StoreError: `queue-unreachable`, `queue-denied`, `queue-newer`, `queue-foreign` or `queue-unsupported`.
    """
    link, clock = Link(url, settings.lock_timeout), clock or SystemClock()
    end = clock.monotonic() + settings.block_timeout
    try:
        while not _prepared(link, last=clock.monotonic() >= end):
            clock.sleep(_TROUBLE)
    except BaseException:
        link.close()
        raise
    return ServerQueue(link, settings, clock, rng, lease or Lease())


def _prepared(link: Link, *, last: bool) -> bool:
    try:
        prepare(link)
    except StoreError as error:
        if error.code != UNREACHABLE or last:
            raise
        return False
    return True


class ServerQueue:
    """The queue in a database. Threads may share it; a process, and a child after a fork, opens its own."""

    def __init__(self, link: Link, settings: QueueSettings, clock: Clock, rng: Rng, lease: Lease) -> None:
        self.link = link
        self.settings = settings
        self.clock = clock
        self.rng = rng
        self.counters = Counters()
        self.held: dict[int, ServerClaim] = {}
        self.later: dict[int, float] = {}
        """When jobs that this process let wait are due, on its steady clock."""
        self._lease = lease
        self._change = threading.Condition()
        self._told = 0
        self._fetching = threading.RLock()
        self._keeper: Keeper | None = None
        self._worker: int | None = None
        self._stray = False
        self._replayed = False
        self._closed = False

    @property
    def place(self) -> str:
        """The address, without the password."""
        return self.link.address.place

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back the jobs in work and release every connection; closing twice is harmless."""
        for claim in tuple(self.held.values()):
            claim.let_go()
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.stop()
        worker, self._worker = self._worker, None
        if worker is not None:
            with contextlib.suppress(StoreError):
                self.link.ask("unregister", (worker,))
        self._closed = True
        self.tell()
        self.link.close()

    def check_open(self) -> None:
        """Raise `queue-closed` after `close`."""
        if self._closed:
            raise StoreError("queue-closed", "the queue was closed", self.link.place)

    def tell(self) -> None:
        """Wake whoever waits for a job."""
        with self._change:
            self._told += 1
            self._change.notify_all()

    # -- putting -------------------------------------------------------------------------------------------------------

    def put(self, job: Job) -> Put:
        """Take a job in; durable on return. Where the queue is full, wait for room, or make some (`drop_oldest`).

        Raises:
            StoreError: `queue-payload` where the job is no JSON or too great, `queue-unreachable` where the server could not be
                asked for as long as a put may wait. The job may or may not be there then; putting it again is safe.
        """
        self.check_open()
        record = new_record(job, self.clock.wall())
        data = encode(record, MOST_PAYLOAD)
        end = self.clock.monotonic() + self.settings.block_timeout
        while True:
            pause = _PAUSE
            try:
                answer = self._put(record.id, data)
            except StoreError as error:
                if error.code != UNREACHABLE or self.clock.monotonic() >= end:
                    raise
                answer, pause = None, _TROUBLE
            if answer is not None:
                self._count(answer)
                self.tell()
                return answer
            if self.clock.monotonic() >= end:
                self.counters.enqueue["rejected_full"] += 1
                return Put(record.id, "full")
            self.clock.sleep(pause)

    def put_within(self, connection: Connection, job: Job) -> Put:
        """Take a job in within a transaction of the caller's: it is there if and when that is committed.

        Args:
            connection: to the queue's database, of a role that may put.
            job: an equal one that is there already is a duplicate, as always.

        Returns:
            `full` at once where there is no room. Transactions that are open together do not see each other's jobs, so that the
            capacity may be exceeded by as many; the oldest are dropped by the next `put`.
        """
        self.check_open()
        record = new_record(job, self.clock.wall())
        values = (record.id, encode(record, MOST_PAYLOAD), self.settings.capacity, self.settings.drop_oldest, False)
        with self.link.listening():
            ((outcome,),) = rows(connection, "put", values)
        put = Put(record.id, outcome)
        self._count(put)
        return put

    def _count(self, put: Put) -> None:
        name = {"enqueued": "accepted", "full": "rejected_full"}.get(put.outcome, "deduped")
        self.counters.enqueue[name] += 1
        self.counters.enqueue["dropped_oldest"] += len(put.dropped)

    def _put(self, id_: str, data: bytes) -> Put | None:
        dropping, capacity = self.settings.drop_oldest, self.settings.capacity
        values = (id_, data, capacity, dropping, True)
        if not dropping:
            ((outcome,),) = self.link.ask("put", values)
            return None if outcome == "full" else Put(id_, outcome)
        with self.link.transaction() as connection:
            ((outcome,),) = rows(connection, "put", values)
            dropped = shelves.make_room(connection, id_, capacity) if outcome == "enqueued" else ()
        return Put(id_, outcome, dropped)

    # -- claiming ------------------------------------------------------------------------------------------------------

    def claim(self, timeout: float = 0.0) -> ServerClaim | None:
        """Return a job that is due, None if there is none within so many seconds; the first call replays.

        Raises:
            StoreError: `queue-closed`, or what the server says.
        """
        end = self.clock.monotonic() + timeout
        while True:
            self.check_open()
            before = self._told
            with self._fetching:
                claim = self._next()
            if claim is not None:
                return claim
            now = self.clock.monotonic()
            if now >= end:
                return None
            wait = min(end - now, self._patience(now))
            with self._change:
                if self._told == before:
                    self.clock.wait(self._change, wait)

    def _patience(self, now: float) -> float:
        """Return for how many seconds nothing can happen that this process is not told of."""
        listening = self._keeper is not None and self._keeper.listening
        ((due,),) = self.link.ask("next_due")
        waits: list[float] = [at - now for at in tuple(self.later.values())] + ([] if due is None else [float(due)])
        # What is due and was not given is being taken by another at this moment.
        return max(min([_LISTENING if listening else self.settings.poll, *waits]), _SHORTEST)

    def _next(self) -> ServerClaim | None:
        worker = self._started()
        if self._stray:
            self.link.ask("strays", (worker, list(self.held)))
            self._stray = False
        self._catch_up()
        while True:
            try:
                taken = self.link.ask("take", (worker,))
            except StoreError as error:
                # The server may have given a job that this process never heard of.
                self._stray = self._stray or error.code == UNREACHABLE
                raise
            if not taken:
                return None
            claim = self._look(worker, *taken[0])
            if claim is not None:
                self.held[claim.taken.handle] = claim
                return claim

    def _started(self) -> int:
        """Return the number of this worker; the first time, look at every record and begin to give signs of life."""
        if not self._replayed:
            self.replay()
            reap_long_silent(self.link, self.settings, self._lease.stalled)
        if self._worker is None:
            ((worker,),) = self.link.ask("register")
            self._worker = int(worker)
        if self._keeper is None:
            self._keeper = Keeper(self.link, self.settings, self._lease, self._me, self._lost, self.tell)
        return self._worker

    def _me(self) -> int:
        return self._worker or 0

    def _lost(self, worker: int) -> None:
        """Begin anew under another number: the jobs of this one were given to others."""
        with self._fetching:
            if self._worker == worker:
                self._worker = None

    def _catch_up(self) -> None:
        """Let jobs run whose time has come by the steady clock, whatever the server's calendar says."""
        now = self.clock.monotonic()
        due = [handle for handle, at in tuple(self.later.items()) if at <= now]
        if due:
            self.link.ask("due_now", (due,))
            for handle in due:
                self.later.pop(handle, None)

    def _look(self, worker: int, handle: int, id_: str | None, data: bytes, created: float, moment: Any) -> ServerClaim | None:
        """Return the claim of a job that was taken, if it is to be run now."""
        if id_ is None:
            self.counters.unreadable += 1
            self.link.ask("forget_row", (handle,))
            return None
        taken = Taken(handle, worker, moment.timestamp(), self.clock.monotonic())
        try:
            record = decode(bytes(data))
        except NewerError:
            self.counters.unreadable += 1
            self._put_off(taken, id_, moment, self.settings.max_delay)
            return None
        except CorruptError as error:
            self.counters.wal_corruption += 1
            shelves.set_aside(self.link, id_, bytes(data), str(error))
            return None
        early = self.later.pop(handle, taken.steady) - taken.steady
        if early > _EARLY:
            self.later[handle] = taken.steady + early
            self._put_off(taken, id_, moment, early)
            return None
        return ServerClaim(self, record._replace(created=created), taken)

    def _put_off(self, taken: Taken, id_: str, moment: Any, seconds: float) -> None:
        from datetime import timedelta

        self.link.ask("again", (id_, taken.handle, taken.worker, moment + timedelta(seconds=seconds), None, None))

    # -- looking -------------------------------------------------------------------------------------------------------

    def depth(self) -> int:
        """Return how many jobs wait or are being worked on, by any process."""
        self.check_open()
        return int(self.link.ask("depth")[0][0])

    def gauges(self) -> Gauges:
        """Return the sizes of the queue."""
        self.check_open()
        waiting, dead, ready, expired, age = self.link.ask("sizes")[0]
        return Gauges(waiting - len(self.held), waiting, dead, ready, expired, max(age or 0.0, 0.0))

    def done(self, id_: str) -> bool:
        """Return whether a job is known to be done; a handler asks it before an effect that must not happen twice."""
        self.check_open()
        return self.link.ask("state", (id_,)) == [("done",)]

    def jobs(self) -> tuple[Listed, ...]:
        """Return the jobs that wait or are being worked on, the oldest first."""
        self.check_open()
        return shelves.waiting(self.link)

    def dead_letters(self) -> tuple[Listed, ...]:
        """Return the dead letters, the earliest dead first."""
        self.check_open()
        return shelves.dead_letters(self.link)

    def retry_dead(self, id_: str) -> None:
        """Put a dead letter back, without the attempts it has had; durable on return."""
        self.check_open()
        shelves.retry_dead(self.link, id_)
        self.tell()

    def purge_dead(self, id_: str | None = None) -> int:
        """Remove a dead letter, or all where no id is given, for good, and return how many."""
        self.check_open()
        return shelves.purge_dead(self.link, id_)

    def quarantined(self) -> tuple[Kept, ...]:
        """Return the records that could not be read, with what is wrong with each."""
        self.check_open()
        return tuple(Kept(*row) for row in self.link.ask("quarantined"))

    def expired(self) -> tuple[Listed, ...]:
        """Return the jobs that waited for too long, the oldest first."""
        self.check_open()
        return shelves.expired(self.link)

    def restore_expired(self, id_: str) -> None:
        """Put an expired job back, as if it were new; durable on return."""
        self.check_open()
        shelves.restore_expired(self.link, id_)
        self.tell()

    def replay(self) -> Replay:
        """Park what waited for too long, and let nothing wait for longer than the longest delay."""
        self.check_open()
        found = shelves.replay(self.link, self.settings, list(self.later))
        self.counters.stale_discarded += found.expired
        self._replayed = True
        self.tell()
        return found

    def drain(self) -> Replay:
        """Replay anew; jobs in work are left alone."""
        return self.replay()
