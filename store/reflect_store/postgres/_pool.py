"""A few connections that are used again: made when they are needed, so that why one cannot be made is said at once."""

from __future__ import annotations

import selectors
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeAlias

import psycopg
from psycopg.pq import TransactionStatus

from .._sql import queries
from ..errors import Place, StoreError
from ._address import Address
from ._errors import told_connecting, translated

__all__ = ["MOST_CONNECTIONS", "Connection", "Pool", "connect"]

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

MOST_CONNECTIONS: Final = 8
"""Connections that one store object holds at most: one for each thread that uses it at the same moment."""

_STATEMENT: Final = 120.0
_IDLE: Final = 120.0
"""Seconds that one statement may take, and that a transaction may stand still while others wait for it."""

_SQL: Final = queries("postgresql/server")


def _milliseconds(seconds: float) -> str:
    return str(int(1_000 * seconds))


def connect(address: Address, timeout: float, *, read_only: bool) -> Connection:
    """Return a new connection with the store's settings.

    Args:
        address: of the server.
        timeout: seconds to wait for a lock.
        read_only: transactions may not write unless they say so.

    Raises:
        StoreError: it cannot be made; `Passing` where it may be possible later.
    """
    try:
        connection = psycopg.connect(**address.parameters, autocommit=True)
    except psycopg.Error as error:
        raise told_connecting(error, address) from None
    try:
        with translated(address):
            connection.execute(_SQL["settings"], [_milliseconds(seconds) for seconds in (timeout, _STATEMENT, _IDLE)])
            if read_only:
                connection.execute(_SQL["only_read"])
    except BaseException:
        connection.close()
        raise
    return connection


def _quiet(connection: Connection) -> bool:
    """Return whether nothing came over a connection while it lay idle: a server that ends says so, or closes it."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        return not selector.select(0)


class Pool:
    """Connections to one server, for any number of threads of one process; not to be kept across a fork."""

    def __init__(self, address: Address, timeout: float, *, read_only: bool) -> None:
        self.address = address
        self.timeout = timeout
        self._read_only = read_only
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._closed = False

    @contextmanager
    def taken(self) -> Iterator[Connection]:
        """Yield a connection without a transaction; it is kept for others where nothing is left open on it."""
        if self._closed:
            raise StoreError("store-io", "the store is closed", Place(self.address.place))
        if not self._free.acquire(timeout=self.timeout):
            raise StoreError("store-busy", f"all {MOST_CONNECTIONS} connections are in use", Place(self.address.place))
        try:
            connection = self._live()
            try:
                yield connection
            finally:
                self._give_back(connection)
        finally:
            self._free.release()

    def _live(self) -> Connection:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return connect(self.address, self.timeout, read_only=self._read_only)
            if _quiet(connection):
                return connection
            connection.close()

    def _give_back(self, connection: Connection) -> None:
        if not connection.closed and connection.info.transaction_status == TransactionStatus.IDLE:
            with self._lock:
                if not self._closed:
                    self._idle.append(connection)
                    return
        with suppress(psycopg.Error):
            connection.close()

    def keep(self, connection: Connection) -> None:
        """Take in a connection that was made outside."""
        self._give_back(connection)

    def close(self) -> None:
        """Close the connections that nobody uses, and those in use once they are given back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
