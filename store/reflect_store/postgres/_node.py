"""The search index of a node: a copy in the cache folder, brought up to date from the events whenever it is searched.

PostgreSQL's own ranking does not weigh rare words (no inverse document frequency), so the best of all lessons that match are
found here, by the same index as that of a store in a file. It can be thrown away at any time.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import threading
from collections.abc import Sequence
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Final

from .._fts import FtsIndex, tables
from .._tantivy import LARGE, TantivyIndex, changed_since, wanted
from ..errors import Place, StoreError
from ..events import Head
from ..searching import FLAGGED, Sought
from ._rows import Chain, PostgresTransaction

__all__ = ["CACHE_VARIABLE", "NodeIndex"]

CACHE_VARIABLE: Final = "REFLECT_GATE_CACHE"
"""Names the folder of what can be made again."""

_PATIENCE: Final = 10.0
"""Seconds that a process waits for another one of the node that brings the index up to date."""

_FORMAT: Final = 1
"""Moves with the tables of the index; a file of another one is made anew."""

_SPARE: Final = 16


def _cache() -> Path:
    named = Path(os.environ.get(CACHE_VARIABLE, "")).expanduser()
    if named.is_absolute():
        return named
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    windows = sys.platform == "win32"
    given = os.environ.get("LOCALAPPDATA" if windows else "XDG_CACHE_HOME", "")
    # A relative one would lie in whatever repository is being worked on.
    return Path(given) if Path(given).is_absolute() else Path.home() / ("AppData/Local" if windows else ".cache")


class NodeIndex:
    """The index of one tenant's chain on this node.

    Args:
        search: which kind of index; by itself, tantivy where it is installed and the store is large.
        folder: where indexes of all chains lie; in the cache folder when absent.
    """

    def __init__(self, search: str | None = None, folder: Path | None = None) -> None:
        self._root = folder or _cache() / "reflect-gate" / "search"
        self._search = search
        self._counted = (0, 0)
        self._file: _File | None = None
        self._beside: TantivyIndex | None = None
        self._chain: Chain | None = None
        # Threads share one connection to the file; each has a transaction of its own on the server.
        self._turn = threading.RLock()

    def search(self, query: Sought, limit: int, transaction: PostgresTransaction) -> Sequence[tuple[str, float]]:
        """Return lessons and their scores as the transaction sees them, the best first, ties by id."""
        chain = transaction.chain()
        if chain is None or not (query.words or query.scopes):
            return ()
        with self._turn:
            self._turn_to(chain)
            return self._ask(query, limit, transaction, chain)

    def _turn_to(self, chain: Chain) -> None:
        if chain != self._chain:
            self.close()
            self._chain = chain

    def _ask(self, query: Sought, limit: int, transaction: PostgresTransaction, chain: Chain) -> Sequence[tuple[str, float]]:
        beside = self._tantivy(transaction, chain)
        found = None if beside is None else beside.search(query, limit, transaction)
        return self._open(chain).search(query, limit, transaction) if found is None else found

    def _tantivy(self, transaction: PostgresTransaction, chain: Chain) -> TantivyIndex | None:
        """Return tantivy's index, where the store is large enough for it."""
        seq, index = transaction.head().seq, transaction.rows.index
        if seq > 2 * self._counted[0]:
            # A store of few events has few lessons; a larger one is counted again when it has grown to twice its size.
            self._counted = (seq, index.count() if seq > LARGE else 0)
        if not wanted(self._search, self._counted[1]):
            return None
        if self._beside is None:
            self._beside = TantivyIndex(self._only(chain), index.texts)
        self._beside.texts = index.texts
        return self._beside

    def _only(self, chain: Chain) -> Path:
        """Return the folder of tantivy's index, and remove those of other editions."""
        mine = self._folder_of(chain)
        for other in self._root.glob(f"{chain.id}/tantivy-*"):
            if other != mine:
                shutil.rmtree(other, ignore_errors=True)
        return mine

    def _folder_of(self, chain: Chain) -> Path:
        return self._root / chain.id / f"tantivy-{chain.edition}"

    def _open(self, chain: Chain) -> _File:
        if self._file is None:
            self._file = _File(self._root / chain.id / "fts5.db", chain.edition)
        return self._file

    def indexed(self, transaction: PostgresTransaction) -> Head | None:
        """Return the event that the index stands at, `None` where there is no index on this node."""
        chain = transaction.chain()
        if chain is None:
            return None
        kinds = (
            TantivyIndex(self._folder_of(chain), transaction.rows.index.texts),
            _File(self._root / chain.id / "fts5.db", chain.edition),
        )
        return max((at for kind in kinds if (at := kind.stands_at())), default=None)

    def follow(self, transaction: PostgresTransaction) -> Head:
        """Bring the index to the state of the transaction, and return the event that it then stands at."""
        chain = transaction.chain()
        if chain is None:
            return transaction.head()
        with self._turn:
            self._turn_to(chain)
            beside = self._tantivy(transaction, chain)
            if beside is not None and beside.follow(transaction):
                return transaction.head()
            return self._open(chain).follow(transaction)

    def forget(self, chain: Chain) -> None:
        """Remove the copies of a chain: the next search makes them anew."""
        with self._turn:
            self.close()
            shutil.rmtree(self._root / chain.id, ignore_errors=True)

    def close(self) -> None:
        """Close the files."""
        with self._turn:
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = self._beside = self._chain = None


class _File:
    """An index in SQLite's FTS5 with the event that it stands at; in memory where no file can be had."""

    def __init__(self, path: Path, edition: int) -> None:
        self._path = path
        self._edition = edition
        self._connection: sqlite3.Connection | None = None

    def search(self, query: Sought, limit: int, transaction: PostgresTransaction) -> Sequence[tuple[str, float]]:
        """Return lessons and their scores as the transaction sees them."""
        for in_file in (True, True, False):
            try:
                connection = self._open(in_file=in_file)
                return self._found(connection, query, limit, transaction, self._catch_up(connection, transaction))
            except (sqlite3.Error, OSError, StoreError) as error:
                if isinstance(error, StoreError) and error.code != "store-corrupt":
                    raise
                # What is damaged is only a copy, made anew at once; where no file can be had, an index in memory answers.
                self.discard(damaged=_is_damage(error))
        raise StoreError("store-io", "this machine can keep no search index", Place(str(self._path)))

    def _found(
        self, connection: sqlite3.Connection, query: Sought, limit: int, transaction: PostgresTransaction, at: Head
    ) -> Sequence[tuple[str, float]]:
        index = FtsIndex(connection, str(self._path))
        if at == transaction.head() and not transaction.moved:
            return index.search(query, limit)
        # Another process of the node is ahead of this transaction: of what it knows, what is in use here, too, is found.
        found = index.search(query, limit + _SPARE)
        held = {name: sieve.split() for name, doc, *_, sieve in transaction.rows.index.texts([name for name, _ in found]) if doc}
        return [(name, score) for name, score in found if FLAGGED not in held.get(name, (FLAGGED,))][:limit]

    # -- keeping up ----------------------------------------------------------------------------------------------------

    def follow(self, transaction: PostgresTransaction) -> Head:
        """Bring the index to the state of the transaction, and return the event that it then stands at."""
        try:
            return self._catch_up(self._open(in_file=True), transaction)
        except (sqlite3.Error, StoreError) as error:
            self.discard(damaged=_is_damage(error))
            return self._catch_up(self._open(in_file=True), transaction)

    def _catch_up(self, connection: sqlite3.Connection, transaction: PostgresTransaction) -> Head:
        """Return the event that the index stands at: the transaction's last one, or a later one."""
        at, head = self._mark(connection), transaction.head()
        if at == head or transaction.moved:
            return at or Head(0, "")
        connection.execute("BEGIN IMMEDIATE")
        try:
            at = self._mark(connection)
            if at is None or at.seq < head.seq or (at.seq == head.seq and at != head):
                self._bring(connection, transaction, at)
                connection.execute("DELETE FROM mark")
                connection.execute("INSERT INTO mark VALUES (?, ?, ?)", (*head, self._edition))
                at = head
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        return at

    def _bring(self, connection: sqlite3.Connection, transaction: PostgresTransaction, at: Head | None) -> None:
        changed = changed_since(transaction, at)
        index = FtsIndex(connection, str(self._path))
        if changed is None:
            _make(connection)
        with index.gathered() if changed is None else nullcontext():
            for name, doc, *text in transaction.rows.index.texts(None if changed is None else sorted(changed)):
                if doc is None:
                    index.drop(name)
                else:
                    index.place(name, doc, text)

    # -- the file ------------------------------------------------------------------------------------------------------

    def _open(self, *, in_file: bool) -> sqlite3.Connection:
        if self._connection is not None:
            return self._connection
        if in_file:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = self._path if in_file else ":memory:"
        connection = sqlite3.connect(place, isolation_level=None, timeout=_PATIENCE, check_same_thread=False)
        try:
            _prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _mark(self, connection: sqlite3.Connection) -> Head | None:
        found = connection.execute("SELECT seq, hash FROM mark WHERE edition = ?", (self._edition,)).fetchone()
        return Head(*found) if found else None

    def stands_at(self) -> Head | None:
        """Return the event that the index stands at, `None` where there is none that could be read."""
        if not self._path.exists():
            return None
        try:
            with closing(sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
                return self._mark(connection)
        except sqlite3.Error:
            return None

    def discard(self, *, damaged: bool) -> None:
        """Close the index, and throw it away where it is damaged."""
        self.close()
        for end in ("", "-wal", "-shm") if damaged else ():
            with suppress(OSError):
                self._path.with_name(f"{self._path.name}{end}").unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _is_damage(error: Exception) -> bool:
    """Return whether an error speaks of what a file holds, not of whether it can be used now."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return isinstance(error, StoreError) or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the tables where there are none of this format."""
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA secure_delete = ON")
    if connection.execute("PRAGMA user_version").fetchone()[0] == _FORMAT:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it while this one waited.
        if connection.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
            _make(connection)
            connection.execute("DROP TABLE IF EXISTS mark")
            connection.execute("CREATE TABLE mark (seq INTEGER NOT NULL, hash TEXT NOT NULL, edition INTEGER NOT NULL) STRICT")
            connection.execute(f"PRAGMA user_version = {_FORMAT:d}")
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _make(connection: sqlite3.Connection) -> None:
    """Make the tables of an index in place of those that may be there."""
    for name in ("search_index", "search_words", "search"):
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    for statement in tables():
        connection.execute(statement)
