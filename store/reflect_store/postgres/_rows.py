"""Rows and transactions over a connection to a server."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

import orjson

from .._cursor import FIRST, LAST, cursor_of, position
from .._sql import queries, row_statement
from ..errors import Place, StoreError
from ..events import GENESIS, Event, Head, canonical
from ..protocol import Page, Row
from ..tables import TABLES, TableName
from ._index import PostgresIndex, Searcher
from ._session import Session

__all__ = ["Chain", "PostgresRows", "PostgresTransaction"]

_MOST_KEPT: Final = 4_096
_LONGEST: Final = 256
_EVENTS: Final = queries("postgresql/events")
_statement: Final = functools.partial(row_statement, "postgresql/rows", "%s")


def _looked_up(value: str) -> str:
    """Return what a column holds to be compared with: its own digest where an index or a text could not hold the value."""
    if len(value) <= _LONGEST and "\0" not in value:
        return value
    return f"sha256:{hashlib.sha256(value.encode()).hexdigest()}"


def _possible(keys: Iterable[str]) -> list[str]:
    """Return the keys that there can be a row of."""
    return [key for key in keys if "\0" not in key]


class Chain(NamedTuple):
    """What names the chain of a tenant: its id, which nobody else knows, and which making of its search index holds."""

    id: str
    edition: int

    @property
    def channel(self) -> str:
        """The channel on which writers wake whoever follows the chain."""
        return f"reflect_gate_{self.id.replace('-', '')}"


class PostgresRows:
    """The rows of one tenant within one transaction, which is alone in writing or sees one state: what it read stays so."""

    def __init__(self, session: Session, searcher: Searcher) -> None:
        self._session = session
        self._kept: dict[tuple[TableName, str], bytes | None] = {}
        self.index = PostgresIndex(session, searcher)

    def _keep(self, table: TableName, key: str, row: bytes | None) -> None:
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[table, key] = row

    def get(self, table: TableName, key: str) -> Row | None:
        """Return a fresh copy of a row."""
        if (table, key) not in self._kept:
            found = self._session.ask(_statement("get", table), (key,)) if _possible([key]) else []
            self._keep(table, key, found[0][0] if found else None)
        row = self._kept[table, key]
        return None if row is None else cast("Row", orjson.loads(row))

    def many(self, table: TableName, keys: Iterable[str]) -> Mapping[str, Row]:
        """Return fresh copies of several rows."""
        return {key: cast("Row", orjson.loads(row)) for key, row in self.held(table, keys).items()}

    def held(self, table: TableName, keys: Iterable[str]) -> Mapping[str, bytes]:
        """Return several rows as they are kept."""
        wanted = _possible(keys)
        return dict(self._session.ask(_statement("many", table), (wanted,))) if wanted else {}

    def put(self, table: TableName, key: str, row: Row) -> None:
        """Write a row."""
        columns = [_looked_up(row[column] or "") for column in TABLES[table].columns]
        text = canonical(row)
        self._session.later(_statement("put", table), (key, row["time"], row["event"], text, *columns))
        self._keep(table, key, text)

    def drop(self, table: TableName, key: str) -> None:
        """Remove a row."""
        self._session.later(_statement("drop", table), (key,))
        self._keep(table, key, None)

    def select(self, table: TableName, where: Mapping[str, str], after: str | None, limit: int, newest: bool) -> Page:
        """Return rows in the order of time, event and key."""
        start = position(after) if after is not None else LAST if newest else FIRST
        statement = _statement("select_newest" if newest else "select_oldest", table, tuple(where))
        found = self._session.ask(statement, (*start, *map(_looked_up, where.values()), limit + 1))
        taken = found[:limit]
        cursor = cursor_of(*taken[-1][:3]) if len(found) > limit else None
        return Page(tuple(cast("Row", orjson.loads(entry[3])) for entry in taken), cursor)

    def first_of(self, table: TableName, column: str, values: Sequence[str], limit: int) -> Mapping[str, Sequence[Row]]:
        """Return, by each of some values of a column, the oldest rows that have it."""
        found: dict[str, list[Row]] = {value: [] for value in values}
        named = {_looked_up(value): value for value in values}
        for value, row in self._session.ask(_statement("first_of", table, (column,)), (list(named), limit)) if named else ():
            found[named[value]].append(cast("Row", orjson.loads(row)))
        return found

    def count(self, table: TableName, where: Mapping[str, str]) -> int:
        """Return how many rows a `select` would find."""
        statement = _statement("count", table, tuple(where))
        return int(self._session.ask(statement, tuple(map(_looked_up, where.values())))[0][0])

    def scan(self, table: TableName, after: str, limit: int) -> Sequence[tuple[str, bytes]]:
        """Return keys and rows by key."""
        return cast("Sequence[tuple[str, bytes]]", self._session.ask(_statement("scan", table), (after, limit)))


class PostgresTransaction:
    """The events and rows of one tenant, within a transaction that somebody else opened and ends.

    Args:
        session: its statements.
        searcher: finds the best lessons that match.
        place: what errors call the store.
    """

    def __init__(self, session: Session, searcher: Searcher, place: str) -> None:
        self._session = session
        self._place = place
        self._end: tuple[Head, str] | None = None
        self._chain: Chain | None = None
        self.moved = False
        """Whether something was added or erased, of which the indexes of the nodes know nothing yet."""
        self.rows = PostgresRows(session, searcher)

    # -- its ends ------------------------------------------------------------------------------------------------------

    def alone(self, layout: int) -> None:
        """Wait for the tenant's other writers; `store-newer` where the layout is another than it was."""
        found = self._session.ask(_EVENTS["lock"])
        if not found:
            self._session.later(_EVENTS["begin_chain"])
            found = self._session.ask(_EVENTS["lock"])
        *named, number = found[0]
        self._chain = Chain(*named)
        if number != layout:
            message = (
                f"a newer version of this program has the store now: it has layout {number}, and this version knows {layout}"
            )
            raise StoreError("store-newer", message, Place(self._place))

    def finish(self) -> None:
        """Make the last changes, and wake whoever follows once they are committed."""
        self.rows.index.settle()
        if self.moved and self._chain is not None:
            self._session.later(_EVENTS["notify"], (self._chain.channel,))

    def chain(self) -> Chain | None:
        """Return what names the chain; `None` where nothing was ever written."""
        if self._chain is None:
            found = self._session.ask(_EVENTS["chain"])
            self._chain = Chain(*found[0]) if found else None
        return self._chain

    # -- events --------------------------------------------------------------------------------------------------------

    def _read_end(self) -> tuple[Head, str]:
        if self._end is None:
            found = self._session.ask(_EVENTS["head"])
            seq, hash_, time = found[0] if found else (0, GENESIS, "")
            self._end = (Head(seq, hash_), time)
        return self._end

    def _events(self, name: str, *values: object) -> Sequence[Event]:
        return [Event(*found) for found in self._session.ask(_EVENTS[name], values)]

    def head(self) -> Head:
        """Return the end of the chain."""
        return self._read_end()[0]

    def last_time(self) -> str:
        """Return the latest time of any event."""
        return self._read_end()[1]

    def add(self, event: Event) -> None:
        """Add an event after the head."""
        latest = max(self.last_time(), event.time)
        self._session.later(_EVENTS["add"], event)
        self._end = (Head(event.seq, event.hash), latest)
        self.moved = True

    def find(self, event_id: str) -> Event | None:
        """Return the event of that id."""
        found = self._events("find", event_id) if _possible([event_id]) else ()
        return found[0] if found else None

    def by_seq(self, after: int, limit: int) -> Sequence[Event]:
        """Return events by number."""
        return self._events("by_seq", after, limit)

    def by_time(self, after: tuple[str, str], limit: int) -> Sequence[Event]:
        """Return events by time and id."""
        return self._events("by_time", *after, limit)

    def erase(self, event_id: str) -> None:
        """Erase payload and nonce of an event."""
        self._session.later(_EVENTS["erase"], (event_id,))
        self.moved = True

    def redacted(self) -> int:
        """Return how many events have no payload any more."""
        return int(self._one("redacted"))

    def _one(self, name: str) -> Any:
        return self._session.ask(_EVENTS[name])[0][0]
