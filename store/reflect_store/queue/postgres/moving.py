"""A queue on a server, as one side of a move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ..moving import Shelf
from ..record import CorruptError, NewerError, Record, decode, encode
from .link import rows

if TYPE_CHECKING:
    from .server import ServerQueue

__all__ = ["ServerSide"]

_ROOM: Final = 2**31 - 1


class ServerSide:
    """The tables of a queue; see `moving.Side`."""

    def __init__(self, queue: ServerQueue) -> None:
        self._queue = queue
        self._link = queue.link

    def ids(self, shelf: Shelf) -> list[str]:
        """Return which jobs lie there, the oldest first."""
        return [id_ for (id_,) in self._link.ask(f"{shelf}_ids")]

    def hide(self, id_: str) -> bool:
        """Make a job a dead letter that nobody may put back."""
        with self._link.transaction() as connection:
            found = rows(connection, "lock_waiting", (id_,))
            if not found:
                return False
            data, created, attempts, due, handle = found[0]
            record = _read(data)
            if record is None:
                return False
            record = record._replace(created=created, attempts=attempts, next=created if due is None else due)
            rows(connection, "hide", (encode(record), id_))
            rows(connection, "forget_row", (handle,))
            return True

    def record(self, shelf: Shelf, id_: str) -> Record | None:
        """Return a record as it is to be taken in."""
        if shelf == "expired":
            return next((_read(data) for each, data in self._link.ask("expired") if each == id_), None)
        found = self._link.ask("letter", (id_,))
        record = _read(found[0][0]) if found else None
        if record is None:
            return None
        _, created, attempts, reason, ended = found[0]
        record = record._replace(created=created, attempts=attempts)
        return record._replace(reason=None, died=None) if shelf == "moving" else record._replace(reason=reason, died=ended)

    def take_in(self, shelf: Shelf, record: Record) -> None:
        """Take a record in, unless the job is known."""
        id_, data = record.id, encode(record)
        if shelf == "expired":
            self._link.ask("add_expired", {"id": id_, "record": data})
        elif shelf == "dead":
            self._link.ask("add_letter", (id_, record.created, record.attempts, record.reason, record.died, data))
        else:
            with self._link.transaction() as connection:
                if rows(connection, "put", (id_, data, _ROOM, True, False)) == [("enqueued",)]:
                    rows(connection, "as_it_was", {"id": id_, "created": record.created, "attempts": record.attempts})
                    rows(connection, "not_before", {"id": id_, "next": record.next})
            self._queue.tell()

    def forget(self, shelf: Shelf, id_: str) -> None:
        """Remove a job."""
        self._link.ask("forget_expired" if shelf == "expired" else "forget_letter", (id_,))

    def done(self) -> Mapping[str, float]:
        """Return the jobs that were done."""
        return dict(self._link.ask("done"))

    def learn(self, done: Mapping[str, float]) -> int:
        """Remember that jobs were done."""
        ((learned,),) = self._link.ask("add_done", (list(done), list(done.values())))
        return int(learned)


def _read(data: bytes) -> Record | None:
    try:
        return decode(bytes(data))
    except (CorruptError, NewerError):
        return None
