"""The back end on a server: transactions over a few connections, and what a server can and cannot do for its store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from .._sql import queries
from .._sqlite_errors import translated as file_errors
from .._sqlite_file import scratch_connection
from .._sqlite_rows import SqliteRows
from ..checking import settle
from ..errors import Place, StoreError
from ..events import Head
from ..protocol import Progress, silent
from ..searching import Sought
from ._address import Address
from ._errors import translated
from ._index import ScratchIndex
from ._layout import LAYOUT
from ._node import NodeIndex
from ._pool import Connection, Pool, connect
from ._rows import PostgresTransaction
from ._session import Session

__all__ = ["PostgresBackend", "ScratchRows", "settle_connection"]

_SQL: Final = queries("postgresql/server")


class ScratchRows(SqliteRows):
    """Rows in a private file, to compare those on a server with."""

    index: ScratchIndex

    @classmethod
    @contextmanager
    def opened(cls, place: str) -> Iterator[ScratchRows]:
        """Yield empty rows."""
        with file_errors(place), closing(scratch_connection()) as connection:
            rows = cls(connection, place)
            rows.index = ScratchIndex(connection, place)
            yield rows


class PostgresBackend:
    """The store of the tenant to which the role belongs that logs in; threads may share it, processes may not."""

    name = "postgresql"
    layout = LAYOUT

    def __init__(self, address: Address, pool: Pool, node: NodeIndex) -> None:
        self.place = address.place
        self.address = address
        self.node = node
        self._pool = pool

    def transaction(self, session: Session) -> PostgresTransaction:
        """Return the transaction of a session."""

        def search(query: Sought, limit: int) -> Sequence[tuple[str, float]]:
            return self.node.search(query, limit, transaction)

        transaction = PostgresTransaction(session, search, self.place)
        return transaction

    @contextmanager
    def _within(self, begin: str) -> Iterator[PostgresTransaction]:
        with translated(self.address), self._pool.taken() as connection:
            session = Session(connection, _SQL[begin])
            transaction = self.transaction(session)
            try:
                if begin == "begin_writing":
                    transaction.alone(LAYOUT)
                yield transaction
                transaction.finish()
                session.end(_SQL["commit"])
            except BaseException:
                # The server has rolled back by itself where the connection is gone.
                with suppress(psycopg.Error):
                    if connection.info.transaction_status != TransactionStatus.IDLE:
                        connection.execute(_SQL["rollback"])
                raise

    @contextmanager
    def reading(self) -> Iterator[PostgresTransaction]:
        """Open a transaction that sees one state."""
        with self._within("begin_reading") as transaction:
            yield transaction

    @contextmanager
    def writing(self) -> Iterator[PostgresTransaction]:
        """Open a transaction that is alone in writing among those of its tenant: it waits for them first."""
        with self._within("begin_writing") as transaction:
            yield transaction

    @contextmanager
    def scratch(self) -> Iterator[ScratchRows]:
        """Open empty rows in a private file on this machine."""
        with ScratchRows.opened(self.place) as rows:
            yield rows

    def _ask(self, name: str) -> list[tuple[Any, ...]]:
        """Return the answer to a question that needs no transaction."""
        with translated(self.address), self._pool.taken() as connection:
            return connection.execute(_SQL[name]).fetchall()

    def defects(self) -> list[str]:
        """Return the tables whose rows are not kept apart by tenant."""
        return [f"table {name}: row-level security is off" for name, guarded, _ in self._ask("tables") if not guarded]

    def size(self) -> int:
        """Return the bytes that the tables and indexes take, with those of all tenants."""
        return int(self._ask("size")[0][0])

    def compact(self) -> None:
        """Rewrite the tables without what is gone, while everybody waits.

        Raises:
            StoreError: `store-denied` for everybody but the owner.
        """
        with self.reading() as transaction:
            if (chain := transaction.chain()) is not None:
                self.node.forget(chain)
        tables = self._ask("tables")
        if not all(owned for _, _, owned in tables):
            # The server itself would only warn, and leave the tables as they are.
            raise StoreError("store-denied", "only the owner of the schema can compact the store", Place(self.place))
        with translated(self.address), closing(connect(self.address, self._pool.timeout, read_only=False)) as connection:
            connection.execute(_SQL["unlimited"])
            for name, _, _ in tables:
                connection.execute(_SQL["compact"].format(table=name).encode())

    def backup(self, target: Path, progress: Progress) -> Head:  # noqa: ARG002 - the protocol's signature
        """Refuse: what a server holds is copied by its own tools."""
        told = f"a store on a server is backed up by `pg_dump` or its own means, not to `{target}`"
        raise StoreError("store-unsupported", f"{told}; `store export` copies the events", Place(self.place))

    def follow(self, patience: float) -> Iterator[Head]:
        """Bring the search index of this node up to date, again and again, and yield the event that it then stands at.

        A writer of the tenant wakes it as soon as something is committed; without, it looks after `patience` seconds.
        """
        with translated(self.address), closing(connect(self.address, patience, read_only=True)) as connection:
            listening = False
            while True:
                # Before the index is brought up to date: what is committed after that wakes.
                listening = listening or self._listen(connection)
                with self.reading() as transaction:
                    head = self.node.follow(transaction)
                yield head
                for _ in connection.notifies(timeout=patience, stop_after=1):
                    pass

    def _listen(self, connection: Connection) -> bool:
        """Let the tenant's writers wake a connection; return false where there is nothing to hear yet, or it is a standby."""
        with self.reading() as transaction:
            chain = transaction.chain()
        if chain is None:
            return False
        try:
            connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(chain.channel)))
        except psycopg.errors.ReadOnlySqlTransaction:
            # It may become the primary one day, so that this is tried again.
            return False
        return True

    def indexed(self) -> Head | None:
        """Return the event that the search index of this node stands at, `None` where there is none."""
        with self.reading() as transaction:
            return self.node.indexed(transaction)

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()
        self.node.close()


def settle_connection(backend: PostgresBackend, connection: Connection) -> None:
    """Fill the projections of the connection's tenant from its events, within its transaction."""
    session = Session(connection)
    transaction = backend.transaction(session)
    settle(backend, transaction, silent)
    transaction.finish()
    session.flush()
