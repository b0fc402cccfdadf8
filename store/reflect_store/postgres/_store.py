"""The store on a server: what was lost with a connection is tried again, where trying again cannot do it twice."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar

from ..checking import CHUNK
from ..events import Draft, Event, Head, now
from ..protocol import Get, Page, Row, Status
from ..records import StoreView
from ..searching import Found, SearchQuery
from ..store import EventStore, known_numbers
from ..tables import TableName
from ..viewing import ViewQuery
from ._address import read_address
from ._backend import PostgresBackend, settle_connection
from ._errors import Passing, translated
from ._layout import belongs, prepare
from ._node import NodeIndex
from ._pool import Pool, connect

__all__ = ["PostgresStore", "open_server"]

_T = TypeVar("_T")

_OPENING: Final = 3.0
"""Seconds for which opening waits for a server that may be just being started anew."""

_FIRST_WAIT: Final = 0.05
_LONGEST_WAIT: Final = 1.0


def _patiently(work: Callable[[], _T], patience: float) -> _T:
    """Do it, and again while what is in the way may pass, for so many seconds."""
    end, wait = time.monotonic() + patience, _FIRST_WAIT
    while True:
        try:
            return work()
        except Passing:
            # Chance keeps those who failed together from coming back together.
            pause = wait * random.uniform(0.5, 1.0)  # noqa: S311 - nothing secret
            if time.monotonic() + pause > end:
                raise
        time.sleep(pause)
        wait = min(2 * wait, _LONGEST_WAIT)


class PostgresStore(EventStore):
    """A store on a server. Reading, appending and deciding survive that the server is started anew.

    Appending twice is harmless, since drafts have ids. Whoever decides may be asked again: what was decided first is looked for
    before. Redacting and importing are not tried again by themselves; doing them again is harmless, too.
    """

    backend: PostgresBackend

    def __init__(self, backend: PostgresBackend, *, clock: Callable[[], datetime] = now, patience: float) -> None:
        super().__init__(backend, clock=clock)
        self._patience = patience

    def _again(self, work: Callable[[], _T]) -> _T:
        return _patiently(work, self._patience)

    # -- writing -------------------------------------------------------------------------------------------------------

    def append(
        self,
        drafts: Sequence[Draft],
        *,
        expected_version: int | None = None,
        expected_view: tuple[ViewQuery, str] | None = None,
        absent: tuple[TableName, str] | None = None,
    ) -> tuple[int, ...]:
        """Add events and their projections in one transaction and return their numbers; see `EventStore.append`."""
        add = super().append
        return self._again(lambda: add(drafts, expected_version=expected_version, expected_view=expected_view, absent=absent))

    def decide(self, query: ViewQuery, decide: Callable[[StoreView, Get], Sequence[Draft]]) -> tuple[int, ...]:
        """Read a view and add what `decide` drafts on it, while every other writer waits; see `EventStore.decide`."""
        settled = super().decide
        first: list[Draft] = []

        def once(view: StoreView, get: Get) -> Sequence[Draft]:
            first[:] = decide(view, get)
            return first

        def attempt() -> tuple[int, ...]:
            if first:
                # The answer to the first attempt was lost, perhaps after it was kept; whoever writes waits until that is settled.
                with self.backend.writing() as transaction:
                    known = known_numbers(transaction, first)
                if known is not None:
                    return known
            return settled(query, once)

        return self._again(attempt)

    # -- reading -------------------------------------------------------------------------------------------------------

    def head(self) -> Head:
        """Return the end of the chain."""
        return self._again(super().head)

    def view(self, query: ViewQuery | str, *, lessons: Iterable[str] = (), limit: int = 64) -> StoreView:
        """Return what one evaluation needs to see, all of one state; see `EventStore.view`."""
        read, named = super().view, tuple(lessons)
        return self._again(lambda: read(query, lessons=named, limit=limit))

    def search_at(self, query: SearchQuery) -> tuple[Head, list[Found]]:
        """Return the lessons that match, and the end of the chain that was searched."""
        search = super().search_at
        return self._again(lambda: search(query))

    def get(self, table: TableName, key: str) -> Row | None:
        """Return one row of a projection."""
        get = super().get
        return self._again(lambda: get(table, key))

    def page(
        self,
        table: TableName,
        where: Mapping[str, str] | None = None,
        *,
        after: str | None = None,
        limit: int = 100,
        newest: bool = False,
    ) -> Page:
        """Return some rows of a projection, in the order of time; see `EventStore.page`."""
        page = super().page
        return self._again(lambda: page(table, where, after=after, limit=limit, newest=newest))

    def count(self, table: TableName, where: Mapping[str, str] | None = None) -> int:
        """Return how many rows there are."""
        count = super().count
        return self._again(lambda: count(table, where))

    def event(self, event_id: str) -> Event | None:
        """Return one event."""
        read = super().event
        return self._again(lambda: read(event_id))

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield the events in the order of the chain, those after number `after`."""

        def chunk() -> Sequence[Event]:
            with self.backend.reading() as transaction:
                return transaction.by_seq(after, CHUNK)

        while found := self._again(chunk):
            yield from found
            after = found[-1].seq

    def status(self) -> Status:
        """Return what the store is and holds, and how far the search index of this node is."""
        status = super().status
        found = self._again(status)
        at = self._again(self.backend.indexed)
        return found._replace(indexed=at.seq if at else 0)

    def follow(self, patience: float) -> Iterator[Head]:
        """Keep the search index of this node up to date, and yield the event that it stands at whenever it was looked after.

        Args:
            patience: seconds after which the index is looked after though no writer woke it.

        Raises:
            StoreError: the server stayed away for longer than the store waits for anything.
        """
        followed = self.backend.follow(patience)
        while True:

            def step() -> Head:
                nonlocal followed
                try:
                    return next(followed)
                except Passing:
                    followed = self.backend.follow(patience)
                    raise

            yield self._again(step)


def open_server(
    url: str,
    *,
    create: bool = False,
    read_only: bool = False,
    timeout: float,
    search: str | None = None,
    clock: Callable[[], datetime] = now,
) -> PostgresStore:
    """Open the store that an address names; see `open_store`.

    Raises:
        StoreError: `store-unreachable`, `store-denied`, `store-missing`, `store-foreign`, `store-newer`, `store-read-only`,
            `store-unsupported`, `store-busy` or `store-full`; the database is then as it was.
    """
    address = read_address(url, timeout)
    connection = _patiently(lambda: connect(address, timeout, read_only=read_only), min(timeout, _OPENING))
    pool = Pool(address, timeout, read_only=read_only)
    backend = PostgresBackend(address, pool, NodeIndex(search))
    try:
        with translated(address):
            prepare(
                connection,
                address,
                create=create,
                read_only=read_only,
                settle=lambda within: settle_connection(backend, within),
            )
            belongs(connection, address)
    except BaseException:
        connection.close()
        raise
    pool.keep(connection)
    return PostgresStore(backend, clock=clock, patience=timeout)
