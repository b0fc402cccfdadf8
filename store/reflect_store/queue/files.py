"""A queue in a folder: what is put, and what is claimed."""

from __future__ import annotations

import os
from typing import Self

from ..errors import StoreError
from . import shelves
from .ages import Ages
from .claims import FileClaim
from .clock import Clock, SystemClock
from .core import Core
from .counters import Counters, Gauges
from .folder import explain
from .fs import Fs, LocalFs
from .job import Job
from .lock import Lease
from .policy import QueueSettings, Rng
from .protocol import Kept, Listed, Outcome, Put, Replay
from .record import MOST_PAYLOAD, Record, encode, new_record
from .schedule import Entry

__all__ = ["FileQueue", "open_queue", "random_number"]

_PAUSE = 0.02


def random_number() -> float:
    """Return a number from 0 up to 1."""
    # Only a retry needs it; a hook that puts a job does not wait for the import.
    import random

    return random.random()  # noqa: S311 - it spreads retries, and guards nothing


def open_queue(
    folder: str | os.PathLike[str],
    settings: QueueSettings | None = None,
    *,
    fs: Fs | None = None,
    clock: Clock | None = None,
    rng: Rng | None = None,
) -> FileQueue:
    """Open the queue in a folder, which is made where it is absent. No record is read before one is claimed or listed.

    Args:
        folder: on a local disk; any number of processes may use it at once.
        settings: as default, those of `QueueSettings()`.
        fs: the file system.
        clock: calendar and monotonic clock.
        rng: source of the jitter, from 0 up to 1.

    Raises:
        StoreError: `queue-settings`, or what the file system refuses.
    """
    chosen = (settings or QueueSettings()).check()
    return FileQueue(os.path.abspath(folder), chosen, fs or LocalFs(), clock or SystemClock(), rng or random_number)


class FileQueue:
    """The queue in a folder. Threads may share it; a process, and a child after a fork, opens its own."""

    def __init__(self, folder: str, settings: QueueSettings, fs: Fs, clock: Clock, rng: Rng) -> None:
        self.folder = folder
        self.settings = settings
        self._clock = clock
        self._rng = rng
        self._ages = Ages()
        try:
            self._core = Core(folder, settings, fs, clock)
        except OSError as error:
            raise explain(error, folder) from error
        self.counters: Counters = self._core.counters

    @property
    def place(self) -> str:
        """The folder."""
        return self.folder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back the jobs in work and release every handle; closing twice is harmless."""
        for let_go in tuple(self._core.held.values()):
            let_go()
        self._core.close()

    @property
    def core(self) -> Core:
        """What the operations are made of, for those that lie in other modules."""
        return self._open()

    def _open(self) -> Core:
        self._core.check_open()
        return self._core

    # -- putting -------------------------------------------------------------------------------------------------------

    def put(self, job: Job) -> Put:
        """Take a job in; durable on return. Where the queue is full, wait for room, or make some (`drop_oldest`).

        Raises:
            StoreError: `queue-payload` where the job is no JSON or too great, `queue-latched` after a folder could not be
                synced, or what the file system refuses. The job may or may not be there then; putting it again is safe.
        """
        core = self._open()
        record = new_record(job, self._clock.wall())
        data = encode(record, MOST_PAYLOAD)
        end = self._clock.monotonic() + self.settings.block_timeout
        while True:
            with core.told(), core.mutex:
                answer = self._try_put(core, record, data)
            if answer is not None:
                core.tell()
                return answer
            if self._clock.monotonic() >= end:
                core.counters.enqueue["rejected_full"] += 1
                return Put(record.id, "full")
            self._clock.sleep(_PAUSE)

    def _try_put(self, core: Core, record: Record, data: bytes) -> Put | None:
        core.folders.fresh()
        already = self._already(core, record.id)
        if already is not None:
            core.counters.enqueue["deduped"] += 1
            return Put(record.id, already)
        if len(core.known()) >= self.settings.capacity and not self.settings.drop_oldest:
            return None
        with core.changing() as names:
            core.folders.write("wal", record.id, data)
            names.add(record.id)
        core.schedule.add(record.id, core.entry(record))
        core.counters.enqueue["accepted"] += 1
        dropped = shelves.make_room(core, record.id) if len(core.known()) > self.settings.capacity else ()
        return Put(record.id, "enqueued", dropped)

    def _already(self, core: Core, id_: str) -> Outcome | None:
        # The put that made the record may have failed after its rename: only a sync makes it certain.
        if id_ in core.known():
            core.folders.sync("wal")
            return "duplicate"
        if core.folders.exists("dlq", id_):
            core.folders.sync("dlq")
            return "dead"
        return "done" if core.probably_done(id_) else None

    # -- claiming ------------------------------------------------------------------------------------------------------

    def claim(self, timeout: float = 0.0) -> FileClaim | None:
        """Return a job that is due, None if there is none within so many seconds; the first call replays.

        Raises:
            StoreError: `queue-gone` where the folder was removed, `queue-closed`, or what the file system refuses.
        """
        end = self._clock.monotonic() + timeout
        while True:
            core = self._open()
            with core.told():
                claim = self._next(core)
            if claim is not None:
                return claim
            now = self._clock.monotonic()
            if now >= end:
                return None
            due = self._due(core)
            wait = min(end - now, self.settings.poll, end - now if due is None else max(due - now, 0.0))
            self._clock.wait(core.change, wait)

    def _next(self, core: Core) -> FileClaim | None:
        if core.loaded is None:
            self.replay()
        elif core.mutex.generation != core.loaded:
            shelves.load_new(core)
        else:
            core.mutex.check_there()
        due = self._due(core)
        if due is None or due > self._clock.monotonic():
            return None
        with core.mutex:
            while (item := core.schedule.take(self._clock.monotonic())) is not None:
                claim = self._lease(core, *item)
                if claim is not None:
                    return claim
        return None

    def _due(self, core: Core) -> float | None:
        with core.mutex.threads:
            return core.schedule.next_due()

    def _lease(self, core: Core, id_: str, entry: Entry) -> FileClaim | None:
        try:
            lease = core.leases.take(id_)
        except OSError:
            core.later(id_, entry, self.settings.poll)
            raise
        if lease is None:
            core.later(id_, entry, self.settings.poll)
            return None
        keep = True
        try:
            claim, keep = self._look(core, lease, entry)
            if claim is not None:
                core.held[id_] = claim.let_go
                return claim
        except (OSError, StoreError):
            core.later(id_, entry, self.settings.max_delay)
        core.leases.drop(lease, keep_strikes=keep)
        return None

    def _look(self, core: Core, lease: Lease, entry: Entry) -> tuple[FileClaim | None, bool]:
        """Return the claim, if the job is to be run now, and whether its strikes count on."""
        record = core.load("wal", lease.id)
        if record is None:
            return None, False
        if core.settled_already(lease.id):
            core.remove(lease.id)
            return None, False
        if entry.seen is not None and (record.next, record.attempts) != entry.seen:
            # Another process has tried it since.
            fresh = core.entry(record)
            if fresh.due > self._clock.monotonic():
                core.schedule.add(lease.id, fresh)
                return None, True
            entry = fresh
        if lease.strikes >= self.settings.max_attempts:
            core.bury(record, f"its worker died {lease.strikes} times", "poison")
            return None, False
        return FileClaim(core, record, lease, entry, self._rng), True

    # -- looking -------------------------------------------------------------------------------------------------------

    def depth(self) -> int:
        """Return how many jobs wait or are being worked on, by any process."""
        core = self._open()
        with core.told(), core.mutex:
            return len(core.known())

    def gauges(self) -> Gauges:
        """Return the sizes of the queue; where it holds very many jobs, ages are those of some of them."""
        core = self._open()
        with core.told():
            with core.mutex:
                known, generation = core.known(), core.mutex.generation
                count, names = len(known), self._ages.to_read(known, generation)
                held, dead, expired = len(core.held), len(core.folders.ids("dlq")), len(core.folders.ids("expired"))
                busy = sum(id_ in core.held or core.leases.busy(id_) for id_ in core.folders.ids("lease"))
            if names is not None:
                self._ages.look(core.folders, names, generation)
        now = self._clock.wall()
        ready = max(count - busy - self._ages.waiting(now, self.settings.longest), 0)
        return Gauges(count - held, count, dead, ready, expired, max(self._ages.oldest(now), 0.0))

    def done(self, id_: str) -> bool:
        """Return whether a job is known to be done; a handler asks it before an effect that must not happen twice."""
        core = self._open()
        with core.told(), core.mutex:
            return id_ in core.ledger

    def jobs(self) -> tuple[Listed, ...]:
        """Return the jobs that wait or are being worked on, the oldest first."""
        return shelves.waiting(self._open())

    def dead_letters(self) -> tuple[Listed, ...]:
        """Return the dead letters, the earliest dead first."""
        return shelves.dead_letters(self._open())

    def retry_dead(self, id_: str) -> None:
        """Put a dead letter back, without the attempts it has had; durable on return."""
        core = self._open()
        shelves.put_back(core, "dlq", id_)
        core.tell()

    def purge_dead(self, id_: str | None = None) -> int:
        """Remove a dead letter, or all where no id is given, for good, and return how many."""
        return shelves.purge_dead(self._open(), id_)

    def quarantined(self) -> tuple[Kept, ...]:
        """Return the files that are no records, with what is wrong with each."""
        return shelves.quarantined(self._open())

    def expired(self) -> tuple[Listed, ...]:
        """Return the jobs that waited for too long, the oldest first."""
        return shelves.expired(self._open())

    def restore_expired(self, id_: str) -> None:
        """Put an expired job back, as if it were new; durable on return."""
        core = self._open()
        shelves.put_back(core, "expired", id_)
        core.tell()

    def replay(self) -> Replay:
        """Look at every record: load what waits, set aside what is damaged, park what waited for too long."""
        core = self._open()
        found = shelves.replay(core)
        core.tell()
        return found

    def drain(self) -> Replay:
        """Replay anew, so that what was copied into the folder is taken in; jobs in work are left alone."""
        return self.replay()
