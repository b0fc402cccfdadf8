"""What lies beside the jobs that run: replay, lists, dead letters, expired jobs, quarantine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import islice
from typing import Final, Literal

from ..errors import Place, StoreError
from .core import Core
from .folder import Folder
from .job import is_id
from .protocol import Kept, Listed, Replay
from .record import MOST_BYTES, CorruptError, NewerError, Record, decode

__all__ = [
    "dead_letters",
    "expired",
    "load_new",
    "make_room",
    "purge_dead",
    "put_back",
    "quarantined",
    "replay",
    "waiting",
]

_BATCH: Final = 200
"""Records that are read while others must wait."""


def replay(core: Core) -> Replay:
    """Look at every record, and return what was found."""
    counts = dict.fromkeys(("expired", "done", "dead"), 0)
    before = core.counters.wal_corruption, core.counters.unreadable
    with core.told(), core.mutex:
        core.look_again()
        swept = core.folders.sweep()
        _compact(core)
        ids = iter(sorted(core.known()))
        core.loaded = core.mutex.generation
        for id_ in core.schedule:
            core.schedule.remove(id_)
    while batch := tuple(islice(ids, _BATCH)):
        with core.told(), core.mutex:
            for id_ in batch:
                became = _settle_or_load(core, id_)
                if became is not None:
                    counts[became] += 1
    with core.told(), core.mutex:
        # Damage among the dead is found at the same time.
        for folder in ("dlq", "expired"):
            for id_ in core.folders.ids(folder):
                core.load(folder, id_)
        core.leases.sweep(frozenset(core.known()))
    corrupt, unreadable = core.counters.wal_corruption - before[0], core.counters.unreadable - before[1]
    return Replay(len(core.schedule), corrupt, **counts, swept=swept, unreadable=unreadable)


def _compact(core: Core) -> None:
    try:
        core.ledger.compact(core.clock.wall(), core.settings.done_keep)
    except (OSError, StoreError):
        # It stays as long as it is.
        core.counters.write_failures += 1


def load_new(core: Core) -> None:
    """Bring the schedule up to what other processes did; they may go on between batches."""
    done = False
    while not done:
        with core.mutex:
            names = core.known()
            for id_ in core.schedule:
                if id_ not in names:
                    core.schedule.remove(id_)
            generation = core.mutex.generation
            new = (id_ for id_ in names - core.held.keys() if id_ not in core.schedule and not core.left(id_))
            batch = tuple(islice(new, _BATCH))
            for id_ in batch:
                record = core.load("wal", id_)
                if record is not None:
                    core.schedule.add(id_, core.entry(record))
            done = len(batch) < _BATCH
            if done:
                core.loaded = generation


def _settle_or_load(core: Core, id_: str) -> Literal["expired", "done", "dead"] | None:
    """Load a record into the schedule; or return where its job belongs, once it is there."""
    if id_ in core.held:
        return None
    record = core.load("wal", id_)
    if record is None:
        return None
    entry = core.entry(record)
    stale = core.clock.wall() - record.created > core.settings.stale_after
    over = core.settled_already(id_)
    if not stale and over is None:
        core.schedule.add(id_, entry)
        _no_longer_expired(core, id_)
        return None
    try:
        lease = core.leases.take(id_)
        if lease is None:
            core.schedule.add(id_, entry)
            return None
        try:
            if over is not None:
                core.remove(id_)
                return "dead" if over == "dead" else "done"
            core.park(record)
        finally:
            core.leases.drop(lease)
    except (OSError, StoreError):
        # A full disk: it stays a job, rather than keep the others from running.
        core.counters.write_failures += 1
        core.schedule.add(id_, entry)
        return None
    return "expired"


def _no_longer_expired(core: Core, id_: str) -> None:
    """Remove what a move to or from `expired/` left there when it was cut short: the job runs."""
    if core.folders.exists("expired", id_):
        with contextlib.suppress(OSError):
            core.folders.remove("expired", id_)


def make_room(core: Core, but: str) -> tuple[str, ...]:
    """Make dead letters of the oldest jobs that nobody works on until the queue is no more than full; return their ids."""
    dropped: list[str] = []
    load_new(core)
    for id_ in core.schedule.by_age():
        if len(core.known()) <= core.settings.capacity:
            break
        if id_ != but and _drop(core, id_):
            dropped.append(id_)
    return tuple(dropped)


def _drop(core: Core, id_: str) -> bool:
    try:
        lease = core.leases.take(id_)
        if lease is None:
            return False
        try:
            record = core.load("wal", id_)
            if record is None or core.settled_already(id_):
                return False
            core.bury(record, "the queue was full, and it was the oldest", "dropped")
        finally:
            core.leases.drop(lease)
    except (OSError, StoreError):
        # One too many is better than one lost.
        core.counters.write_failures += 1
        return False
    core.schedule.remove(id_)
    core.counters.enqueue["dropped_oldest"] += 1
    return True


# -- lists -------------------------------------------------------------------------------------------------------------


def _listed(core: Core, folder: Folder, key: Callable[[Listed], float]) -> tuple[Listed, ...]:
    found = []
    with core.told(), core.mutex:
        for id_ in core.folders.ids(folder):
            # The record of a job that is over may lie there a while longer.
            over = folder == "wal" and core.settled_already(id_) is not None
            record = None if over else core.load(folder, id_)
            if record is not None:
                busy = folder == "wal" and (id_ in core.held or core.leases.busy(id_))
                found.append(_row(record, busy=busy))
    return tuple(sorted(found, key=lambda row: (key(row), row.id)))


def _row(record: Record, *, busy: bool) -> Listed:
    return Listed(
        record.id, record.job, record.created, record.next, record.attempts, record.error, busy, record.reason, record.died
    )


def waiting(core: Core) -> tuple[Listed, ...]:
    """Return the jobs in `wal/`, the oldest first."""
    return _listed(core, "wal", lambda row: row.created)


def dead_letters(core: Core) -> tuple[Listed, ...]:
    """Return the dead letters, the earliest dead first."""
    return _listed(core, "dlq", lambda row: row.died or 0.0)


def expired(core: Core) -> tuple[Listed, ...]:
    """Return the expired jobs, the oldest first."""
    return _listed(core, "expired", lambda row: row.created)


def quarantined(core: Core) -> tuple[Kept, ...]:
    """Return the files in quarantine."""
    found = []
    with core.told(), core.mutex:
        for name in core.folders.ids("quarantine"):
            data = core.folders.read("quarantine", name, MOST_BYTES)
            if data is not None:
                found.append(Kept(name, len(data), _problem(name, data)))
    return tuple(found)


def _problem(name: str, data: bytes) -> str:
    if len(data) > MOST_BYTES:
        return f"it has more than {MOST_BYTES} bytes"
    try:
        record = decode(data)
    except (CorruptError, NewerError) as error:
        return str(error)
    return f"it is the record of `{record.id}`" if record.id != name else "it was damaged when it was read"


# -- dead and expired --------------------------------------------------------------------------------------------------


def _unknown(core: Core, folder: Folder, id_: str) -> StoreError:
    what = "dead letter" if folder == "dlq" else "expired job"
    return StoreError("queue-unknown", f"there is no {what} `{id_}`", Place(core.root))


def _moving(core: Core, id_: str) -> StoreError:
    message = f"job `{id_}` is on its way to another queue; `queue migrate` goes on where it was interrupted"
    return StoreError("queue-conflict", message, Place(core.root))


def put_back(core: Core, folder: Literal["dlq", "expired"], id_: str) -> None:
    """Make a job of what lies in a folder: written and synced first, removed there afterwards, durably."""
    with core.told(), core.mutex:
        record = core.load(folder, id_) if is_id(id_) else None
        if record is None:
            raise _unknown(core, folder, id_)
        if record.reason == "moving":
            raise _moving(core, id_)
        if folder == "expired" and core.folders.exists("dlq", id_):
            raise StoreError("queue-conflict", f"job `{id_}` is a dead letter too; retry or purge that one", Place(core.root))
        if folder == "dlq" or id_ not in core.known():
            now = core.clock.wall()
            # What it failed with stays readable; its age begins anew, else it would expire at once.
            back = record._replace(created=now, next=now, attempts=0, reason=None, died=None)
            core.save(back)
            core.schedule.add(id_, core.entry(back))
        core.folders.remove(folder, id_)
        # Were it to come back with a power cut, the dead letter would win.
        core.folders.sync(folder)


def purge_dead(core: Core, id_: str | None) -> int:
    """Remove dead letters for good and return how many."""
    with core.told(), core.mutex:
        # What is damaged goes to quarantine by this, and what is of a later version stays.
        found = {each: core.load("dlq", each) for each in core.folders.ids("dlq") if id_ in {None, each}}
        ids = [each for each, record in found.items() if record is not None and record.reason != "moving"]
        if id_ is not None and not ids:
            raise _unknown(core, "dlq", id_) if found.get(id_) is None else _moving(core, id_)
        # The record of which the dead letter was made may still come back, unless its removal is durable.
        core.folders.sync("wal")
        for each in ids:
            core.folders.remove("dlq", each)
        core.folders.sync("dlq")
        return len(ids)
