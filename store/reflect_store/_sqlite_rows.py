"""Rows and transactions over an SQLite connection."""

from __future__ import annotations

import functools
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from ._cursor import FIRST, LAST, cursor_of, position
from ._fts import FtsIndex
from ._reading import loads
from ._sql import queries, row_statement
from .events import GENESIS, Event, Head, canonical
from .protocol import Page, Row
from .tables import TABLES, TableName

__all__ = ["SqliteRows", "SqliteTransaction"]

_statement: Final = functools.partial(row_statement, "rows", "?")


class SqliteRows:
    """Rows in the tables of one connection; whoever holds the connection sees to transactions."""

    def __init__(self, connection: sqlite3.Connection, place: str) -> None:
        self._connection = connection
        self.index = FtsIndex(connection, place)

    def get(self, table: TableName, key: str) -> Row | None:
        """Return a fresh copy of a row."""
        found = self._connection.execute(_statement("get", table), (key,)).fetchone()
        return None if found is None else cast("Row", loads(found[0]))

    def many(self, table: TableName, keys: Iterable[str]) -> Mapping[str, Row]:
        """Return fresh copies of several rows."""
        return {key: cast("Row", loads(row)) for key, row in self.held(table, keys).items()}

    def held(self, table: TableName, keys: Iterable[str]) -> Mapping[str, bytes]:
        """Return several rows as they are kept."""
        return dict(self._connection.execute(_statement("many", table), (json.dumps(list(keys)),)))

    def put(self, table: TableName, key: str, row: Row) -> None:
        """Write a row."""
        columns = [row[column] or "" for column in TABLES[table].columns]
        self._connection.execute(_statement("put", table), (key, row["time"], row["event"], canonical(row), *columns))

    def drop(self, table: TableName, key: str) -> None:
        """Remove a row."""
        self._connection.execute(_statement("drop", table), (key,))

    def select(self, table: TableName, where: Mapping[str, str], after: str | None, limit: int, newest: bool) -> Page:
        """Return rows in the order of time, event and key."""
        start = position(after) if after is not None else LAST if newest else FIRST
        statement = _statement("select_newest" if newest else "select_oldest", table, tuple(where))
        found = self._connection.execute(statement, (*start, *where.values(), limit + 1)).fetchall()
        taken = found[:limit]
        cursor = cursor_of(*taken[-1][:3]) if len(found) > limit else None
        return Page(tuple(cast("Row", loads(entry[3])) for entry in taken), cursor)

    def first_of(self, table: TableName, column: str, values: Sequence[str], limit: int) -> Mapping[str, Sequence[Row]]:
        """Return, by each of some values of a column, the oldest rows that have it."""
        return {value: self.select(table, {column: value}, None, limit, newest=False).rows for value in values}

    def count(self, table: TableName, where: Mapping[str, str]) -> int:
        """Return how many rows a `select` would find."""
        statement = _statement("count", table, tuple(where))
        return int(self._connection.execute(statement, tuple(where.values())).fetchone()[0])

    def scan(self, table: TableName, after: str, limit: int) -> Sequence[tuple[str, bytes]]:
        """Return keys and rows by key."""
        return self._connection.execute(_statement("scan", table), (after, limit)).fetchall()


class SqliteTransaction:
    """The events and rows of one connection, within a transaction that somebody else opened."""

    def __init__(self, connection: sqlite3.Connection, place: str) -> None:
        self._connection = connection
        self._sql = queries("events")
        self.rows = SqliteRows(connection, place)

    def _one(self, name: str, *values: object) -> tuple[Any, ...] | None:
        return cast("tuple[Any, ...] | None", self._connection.execute(self._sql[name], values).fetchone())

    def _events(self, name: str, *values: object) -> Sequence[Event]:
        return [Event(*found) for found in self._connection.execute(self._sql[name], values)]

    def head(self) -> Head:
        """Return the end of the chain."""
        found = self._one("head")
        return Head(*found) if found else Head(0, GENESIS)

    def last_time(self) -> str:
        """Return the latest time of any event."""
        return str((self._one("last_time") or ("",))[0])

    def add(self, event: Event) -> None:
        """Add an event after the head."""
        self._connection.execute(self._sql["add"], event)

    def find(self, event_id: str) -> Event | None:
        """Return the event of that id."""
        found = self._one("find", event_id)
        return Event(*found) if found else None

    def by_seq(self, after: int, limit: int) -> Sequence[Event]:
        """Return events by number."""
        return self._events("by_seq", after, limit)

    def by_time(self, after: tuple[str, str], limit: int) -> Sequence[Event]:
        """Return events by time and id."""
        return self._events("by_time", *after, limit)

    def erase(self, event_id: str) -> None:
        """Erase payload and nonce of an event."""
        self._connection.execute(self._sql["erase"], (event_id,))

    def redacted(self) -> int:
        """Return how many events have no payload any more."""
        return int((self._one("redacted") or (0,))[0])
