"""Connections to the server of a queue, and the server's errors in the words of the queue."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from psycopg.rows import tuple_row

from ..._sql import queries
from ...errors import Place, StoreError
from ...postgres._address import Address, read_address
from ...postgres._errors import translated
from ...postgres._pool import Connection, Pool, connect

__all__ = ["SQL", "UNREACHABLE", "Link", "Parameters", "Rows", "rows", "told"]

Rows: TypeAlias = list[tuple[Any, ...]]
Parameters: TypeAlias = Sequence[object] | Mapping[str, object]

SQL: Final = queries("postgresql/queue")
UNREACHABLE: Final = "queue-unreachable"
"""The code of what may have been done or not: the connection was lost before the server said so."""

_SHORTEST: Final = 0.05

_KINDS: Final = {
    "store-unreachable": (UNREACHABLE, ""),
    "store-denied": ("queue-denied", ""),
    "store-busy": ("queue-busy", "the server of the queue is busy"),
    "store-full": ("queue-full-disk", "the disk of the queue's server is full"),
    "store-read-only": ("queue-read-only", "the queue's server can only be read"),
    "store-missing": ("queue-gone", "there is no such database on the server, or no queue in it any more"),
    "store-payload": ("queue-payload", "a value that the server cannot keep"),
    "store-unknown": ("queue-settings", ""),
}
_DETAIL: Final = re.compile(r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)$")


@contextmanager
def told() -> Iterator[None]:
    """Raise errors of the store's connections as errors of the queue."""
    try:
        yield
    except StoreError as error:
        if error.code.startswith("queue-"):
            raise
        code, message = _KINDS.get(error.code, ("queue-io", "the queue cannot be used"))
        detail = _DETAIL.search(error.message)
        text = f"{message}{f' ({detail[1]})' if detail else ''}" if message else error.message
        raise StoreError(code, text, error.source) from None


class Link:
    """The connections of one queue object, for any number of threads of one process.

    Args:
        url: of the server's database.
        timeout: seconds to wait for a lock.
    """

    def __init__(self, url: str, timeout: float) -> None:
        with told():
            self.address: Address = read_address(url, timeout)
        self._timeout = max(timeout, _SHORTEST)
        self._pool = Pool(self.address, self._timeout, read_only=False)

    @property
    def place(self) -> Place:
        """Where the queue is, without the password."""
        return Place(self.address.place)

    def ask(self, name: str, parameters: Parameters | None = None) -> Rows:
        """Return the rows of a statement of `SQL`, which is a transaction by itself."""
        with told(), self._pool.taken() as connection, translated(self.address):
            return rows(connection, name, parameters)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Yield a connection within a transaction, which is committed at the end."""
        with told(), self._pool.taken() as connection, translated(self.address), connection.transaction():
            yield connection

    def apart(self) -> Connection:
        """Return a connection that is not shared, for whoever listens."""
        with told():
            return connect(self.address, self._timeout, read_only=False)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Raise what happens on such a connection as errors of the queue."""
        with told(), translated(self.address):
            yield

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()


def rows(connection: Connection, name: str, parameters: Parameters | None = None) -> Rows:
    """Return the rows of a statement of `SQL` on a connection; none where it gives none."""
    # The connection may be a caller's, who has rows of another kind.
    cursor = connection.cursor(row_factory=tuple_row).execute(SQL[name], parameters)
    return cursor.fetchall() if cursor.description is not None else []
