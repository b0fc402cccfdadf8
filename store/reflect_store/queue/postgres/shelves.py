"""What lies beside the jobs that run: replay, lists, dead letters, expired jobs, quarantine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ...errors import StoreError
from ...postgres._pool import Connection
from ..job import is_id
from ..policy import QueueSettings
from ..protocol import Listed, Replay
from ..record import CorruptError, NewerError, Record, decode, encode
from .link import Link, rows

__all__ = [
    "dead_letters",
    "expired",
    "make_room",
    "purge_dead",
    "replay",
    "restore_expired",
    "retry_dead",
    "set_aside",
    "waiting",
]

_ROOM: Final = 2**31 - 1


def replay(link: Link, settings: QueueSettings, own: list[int]) -> Replay:
    """Park what waited for too long and bring far dates nearer, but for jobs that this process itself lets wait (`own`)."""
    with link.transaction() as connection:
        parked = rows(connection, "expire", (settings.stale_after,))
        rows(connection, "not_later", {"longest": settings.longest, "but": own})
        rows(connection, "no_longer_expired")
        ((todo,),) = rows(connection, "todo")
    return Replay(int(todo), expired=len(parked))


def set_aside(link: Link, id_: str, data: bytes, problem: str) -> None:
    """Move a record that cannot be read to quarantine, with every byte."""
    with link.transaction() as connection:
        rows(connection, "set_aside", (id_, data, problem))
        rows(connection, "forget", (id_,))


def make_room(connection: Connection, but: str, capacity: int) -> tuple[str, ...]:
    """Make dead letters of the oldest jobs that nobody works on until the queue is no more than full; return their ids."""
    dropped = []
    for id_, handle, data, attempts, created in rows(connection, "too_many", {"but": but, "capacity": capacity}):
        record = _read(data)
        if record is None:
            continue
        ((died,),) = rows(connection, "epoch")
        why = "the queue was full, and it was the oldest"
        dead = record._replace(created=created, error=why, reason="dropped", died=died)
        rows(connection, "bury", (id_, handle, None, encode(dead), attempts, "dropped"))
        dropped.append(id_)
    return tuple(dropped)


# -- lists -------------------------------------------------------------------------------------------------------------


def _read(data: bytes) -> Record | None:
    try:
        return decode(bytes(data))
    except (CorruptError, NewerError):
        # Whoever claims it sets it aside; until then it is no job that can be shown.
        return None


def waiting(link: Link) -> tuple[Listed, ...]:
    """Return the jobs that wait or are worked on, the oldest first."""
    return tuple(_waiting(link))


def _waiting(link: Link) -> Iterator[Listed]:
    for id_, data, created, due, attempts, busy in link.ask("waiting"):
        record = _read(data)
        if record is not None:
            yield Listed(id_, record.job, created, due, attempts, record.error, busy)


def dead_letters(link: Link) -> tuple[Listed, ...]:
    """Return the dead letters, the earliest dead first."""
    return tuple(_dead(link))


def _dead(link: Link) -> Iterator[Listed]:
    for id_, data, created, attempts, reason, ended in link.ask("dead"):
        record = _read(data)
        if record is not None:
            yield Listed(id_, record.job, created, record.next, attempts, record.error, False, reason, ended)


def expired(link: Link) -> tuple[Listed, ...]:
    """Return the jobs that waited for too long, the oldest first."""
    found = [(id_, _read(data)) for id_, data in link.ask("expired")]
    listed = [_row(id_, record) for id_, record in found if record is not None]
    return tuple(sorted(listed, key=lambda row: (row.created, row.id)))


def _row(id_: str, record: Record) -> Listed:
    return Listed(id_, record.job, record.created, record.next, record.attempts, record.error)


# -- dead and expired --------------------------------------------------------------------------------------------------


def _unknown(link: Link, what: str, id_: str) -> StoreError:
    return StoreError("queue-unknown", f"there is no {what} `{id_}`", link.place)


def _locked(connection: Connection, name: str, id_: str) -> Any:
    """Return the row that a statement finds and locks, None where there is none."""
    found = rows(connection, name, (id_,)) if is_id(id_) else []
    return found[0] if found else None


def _put_anew(connection: Connection, record: Record) -> None:
    ((now,),) = rows(connection, "epoch")
    # What it failed with stays readable; its age begins anew, else it would expire at once.
    back = record._replace(created=now, next=now, attempts=0, reason=None, died=None)
    rows(connection, "put", (back.id, encode(back), _ROOM, True, False))


def retry_dead(link: Link, id_: str) -> None:
    """Make a job of a dead letter again."""
    with link.transaction() as connection:
        found = _locked(connection, "lock_dead", id_)
        if found is not None and found[1]:
            message = f"job `{id_}` is on its way to another queue; `queue migrate` goes on where it was interrupted"
            raise StoreError("queue-conflict", message, link.place)
        record = _read(found[0]) if found is not None else None
        if record is None:
            raise _unknown(link, "dead letter", id_)
        rows(connection, "forget", (id_,))
        _put_anew(connection, record)


def restore_expired(link: Link, id_: str) -> None:
    """Make a job of an expired one again."""
    with link.transaction() as connection:
        found = _locked(connection, "lock_expired", id_)
        record = _read(found[0]) if found is not None else None
        if record is None:
            raise _unknown(link, "expired job", id_)
        if rows(connection, "state", (id_,)) == [("dead",)]:
            raise StoreError("queue-conflict", f"job `{id_}` is a dead letter too; retry or purge that one", link.place)
        # Where it waits already, that is the same job.
        _put_anew(connection, record)
        rows(connection, "forget_expired", (id_,))


def purge_dead(link: Link, id_: str | None) -> int:
    """Remove dead letters for good and return how many."""
    if id_ is not None and not is_id(id_):
        raise _unknown(link, "dead letter", id_)
    ((gone,),) = link.ask("purge", {"id": id_})
    if id_ is not None and not gone:
        raise _unknown(link, "dead letter", id_)
    return int(gone)
