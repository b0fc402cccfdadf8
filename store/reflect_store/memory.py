"""A store in memory: for tests, trial runs and the comparison with the others. It forgets when it is closed."""

from __future__ import annotations

import bisect
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import orjson

from ._cursor import cursor_of, position
from ._fts import FtsIndex, memory_connection
from .errors import StoreError
from .events import GENESIS, Event, Head, canonical, now
from .protocol import Page, Progress, Row
from .store import EventStore
from .tables import TABLES, TableName

__all__ = ["MemoryBackend", "memory_store"]

Undo = Callable[[], None]


class MemoryRows:
    """Rows as canonical JSON, as a file would hold them; `undo` collects how to take changes back.

    The search index has tables of its own in memory, on the connection `searched`.
    """

    def __init__(self) -> None:
        self._tables: dict[TableName, dict[str, bytes]] = {table: {} for table in TABLES}
        self.undo: list[Undo] = []
        self.searched = memory_connection()
        self.index = FtsIndex(self.searched, "memory")
        weakref.finalize(self, self.searched.close)

    def get(self, table: TableName, key: str) -> Row | None:
        """Return a fresh copy of a row."""
        found = self._tables[table].get(key)
        return None if found is None else cast("Row", orjson.loads(found))

    def many(self, table: TableName, keys: Iterable[str]) -> Mapping[str, Row]:
        """Return fresh copies of several rows."""
        found = ((key, self.get(table, key)) for key in keys)
        return {key: row for key, row in found if row is not None}

    def held(self, table: TableName, keys: Iterable[str]) -> Mapping[str, bytes]:
        """Return several rows as they are kept."""
        rows = self._tables[table]
        return {key: rows[key] for key in keys if key in rows}

    def put(self, table: TableName, key: str, row: Row) -> None:
        """Write a row."""
        self._remember(table, key)
        self._tables[table][key] = canonical(row)

    def drop(self, table: TableName, key: str) -> None:
        """Remove a row."""
        self._remember(table, key)
        self._tables[table].pop(key, None)

    def _remember(self, table: TableName, key: str) -> None:
        rows = self._tables[table]
        before = rows.get(key)
        if before is None:
            self.undo.append(lambda: cast("None", rows.pop(key, None)))
        else:
            self.undo.append(lambda: rows.__setitem__(key, before))

    def _matching(self, table: TableName, where: Mapping[str, str]) -> list[tuple[str, str, str, dict[str, Any]]]:
        rows = ((key, orjson.loads(text)) for key, text in self._tables[table].items())
        return [
            (row["time"], row["event"], key, row)
            for key, row in rows
            if all((row[column] or "") == value for column, value in where.items())
        ]

    def select(self, table: TableName, where: Mapping[str, str], after: str | None, limit: int, newest: bool) -> Page:
        """Return rows in the order of time, event and key."""
        found = sorted(self._matching(table, where), key=lambda entry: entry[:3], reverse=newest)
        if after is not None:
            start = position(after)
            found = [entry for entry in found if (entry[:3] < start if newest else entry[:3] > start)]
        taken = found[:limit]
        cursor = cursor_of(*taken[-1][:3]) if len(found) > limit else None
        return Page(tuple(entry[3] for entry in taken), cursor)

    def first_of(self, table: TableName, column: str, values: Sequence[str], limit: int) -> Mapping[str, Sequence[Row]]:
        """Return, by each of some values of a column, the oldest rows that have it."""
        return {value: self.select(table, {column: value}, None, limit, newest=False).rows for value in values}

    def count(self, table: TableName, where: Mapping[str, str]) -> int:
        """Return how many rows a `select` would find."""
        return len(self._matching(table, where)) if where else len(self._tables[table])

    def scan(self, table: TableName, after: str, limit: int) -> Sequence[tuple[str, bytes]]:
        """Return keys and rows by key."""
        rows = self._tables[table]
        keys = sorted(rows)
        start = bisect.bisect_right(keys, after)
        return [(key, rows[key]) for key in keys[start : start + limit]]


class MemoryBackend:
    """Events and rows of one process."""

    name = "memory"
    layout = 1

    def __init__(self, place: str = "memory") -> None:
        self.place = place
        self.rows = MemoryRows()
        self._events: list[Event] = []
        self._seqs: dict[str, int] = {}
        self._lock = threading.RLock()

    # -- a transaction -------------------------------------------------------------------------------------------------

    def head(self) -> Head:
        """Return the end of the chain."""
        return Head(self._events[-1].seq, self._events[-1].hash) if self._events else Head(0, GENESIS)

    def last_time(self) -> str:
        """Return the latest time of any event."""
        return max((event.time for event in self._events), default="")

    def add(self, event: Event) -> None:
        """Add an event after the head."""
        self._events.append(event)
        self._seqs[event.id] = event.seq
        self.rows.undo.append(lambda: (self._events.pop(), self._seqs.pop(event.id), None)[2])

    def find(self, event_id: str) -> Event | None:
        """Return the event of that id."""
        seq = self._seqs.get(event_id)
        return None if seq is None else self._events[seq - 1]

    def by_seq(self, after: int, limit: int) -> Sequence[Event]:
        """Return events by number."""
        return self._events[after : after + limit]

    def by_time(self, after: tuple[str, str], limit: int) -> Sequence[Event]:
        """Return events by time and id."""
        ordered = sorted(self._events, key=_moment)
        return ordered[bisect.bisect_right(ordered, after, key=_moment) :][:limit]

    def erase(self, event_id: str) -> None:
        """Erase payload and nonce of an event."""
        index = self._seqs[event_id] - 1
        before = self._events[index]
        self._events[index] = before._replace(payload=None, nonce=None)
        self.rows.undo.append(lambda: self._events.__setitem__(index, before))

    def redacted(self) -> int:
        """Return how many events have no payload any more."""
        return sum(event.payload is None for event in self._events)

    # -- the back end --------------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[MemoryBackend]:
        """Open a transaction that changes nothing."""
        with self._lock:
            yield self

    @contextmanager
    def writing(self) -> Iterator[MemoryBackend]:
        """Open a transaction that is undone on an exception."""
        with self._lock:
            self.rows.undo.clear()
            self.rows.searched.execute("BEGIN")
            try:
                yield self
                self.rows.searched.execute("COMMIT")
            except BaseException:
                for undo in reversed(self.rows.undo):
                    undo()
                self.rows.searched.execute("ROLLBACK")
                raise
            finally:
                self.rows.undo.clear()

    @contextmanager
    def scratch(self) -> Iterator[MemoryRows]:
        """Open empty rows."""
        rows = MemoryRows()
        rows.searched.execute("BEGIN")
        yield rows

    def defects(self) -> list[str]:
        """Return nothing: memory has no storage that could break."""
        return []

    def size(self) -> int:
        """Return the bytes of the payloads."""
        return sum(len(event.payload or b"") for event in self._events)

    def compact(self) -> None:
        """Do nothing: what was dropped is gone."""

    def backup(self, target: Path, progress: Progress) -> Head:  # noqa: ARG002 - the protocol's signature
        """Refuse: there is no file to copy."""
        raise StoreError("store-unsupported", f"a store in memory cannot be backed up to `{target}`; export it")

    def close(self) -> None:
        """Do nothing."""


def _moment(event: Event) -> tuple[str, str]:
    return event.time, event.id


def memory_store(*, clock: Callable[[], datetime] = now) -> EventStore:
    """Return a new store in memory."""
    return EventStore(MemoryBackend(), clock=clock)
