"""A store in one SQLite file: write-ahead log, every commit synced, one writer at a time, readers never waiting."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from . import _sqlite_file as file
from ._sql import queries
from ._sqlite_errors import translated
from ._sqlite_rows import SqliteRows, SqliteTransaction
from ._tantivy import LARGE, TantivyIndex, wanted
from .errors import Place, StoreError
from .events import Head
from .protocol import Progress, silent
from .searching import Sought
from .store import EventStore

__all__ = ["SqliteBackend", "open_file"]

_SQL: Final = queries("store")
_PAGES: Final = 256


class SqliteBackend:
    """One connection to one file; not to be shared between threads or kept across a fork."""

    name = "sqlite"
    layout = file.LAYOUT

    def __init__(self, path: Path, connection: sqlite3.Connection, search: str | None = None) -> None:
        self.place = str(path)
        self._path = path
        self._connection = connection
        self._transaction = SqliteTransaction(connection, self.place)
        index = self._transaction.rows.index
        self._beside = TantivyIndex(path.with_name(f"{path.name}.search"), index.texts)
        self._search = search
        self._counted = (0, 0)
        index.faster = self._faster

    def _faster(self, query: Sought, limit: int) -> Sequence[tuple[str, float]] | None:
        """Ask the index beside the file, where the store is large enough for it."""
        seq = self._transaction.head().seq
        if seq > 2 * self._counted[0]:
            # A store of few events has few lessons; a larger one is counted again when it has grown to twice its size.
            self._counted = (seq, self._lessons() if seq > LARGE else 0)
        if not wanted(self._search, self._counted[1]):
            return None
        return self._beside.search(query, limit, self._transaction)

    def _lessons(self) -> int:
        """Return how many lessons are in use, or were when the index beside the file was written: to count reads all of them."""
        known = self._beside.documents()
        return known if known > LARGE else self._transaction.rows.index.count()

    @contextmanager
    def _within(self, begin: str) -> Iterator[SqliteTransaction]:
        with translated(self.place):
            self._connection.execute(_SQL[begin])
            try:
                yield self._transaction
                self._end(reading=begin == "begin_reading")
            except BaseException:
                # SQLite has rolled back by itself where the disk failed it.
                with suppress(sqlite3.Error):
                    if self._connection.in_transaction:
                        self._connection.execute(_SQL["rollback"])
                raise

    def _end(self, *, reading: bool) -> None:
        try:
            self._connection.execute(_SQL["commit"])
        except sqlite3.DatabaseError:
            if not reading:
                raise
            # There is nothing to commit, and a search index that was found damaged does not let it, or has ended it.
            if self._connection.in_transaction:
                self._connection.execute(_SQL["rollback"])

    @contextmanager
    def reading(self) -> Iterator[SqliteTransaction]:
        """Open a transaction that sees one state."""
        with self._within("begin_reading") as transaction:
            yield transaction

    @contextmanager
    def writing(self) -> Iterator[SqliteTransaction]:
        """Open a transaction that is alone in writing: it waits first, so what it read cannot have moved when it writes."""
        with self._within("begin_writing") as transaction:
            yield transaction

    @contextmanager
    def scratch(self) -> Iterator[SqliteRows]:
        """Open empty rows in a private file."""
        with translated(self.place), closing(file.scratch_connection()) as connection:
            yield SqliteRows(connection, self.place)

    def defects(self) -> list[str]:
        """Return what SQLite's own checks find."""
        with translated(self.place):
            found = [str(row[0]) for row in self._connection.execute(_SQL["integrity"])]
            broken = self._connection.execute(_SQL["foreign_keys"]).fetchall()
        return [f"file: {line}" for line in found if line != "ok"] + [f"file: broken reference in {row[0]}" for row in broken]

    def size(self) -> int:
        """Return the bytes of the file and its log."""
        paths = (self._path, self._path.with_name(f"{self._path.name}-wal"))
        return sum(path.stat().st_size for path in paths if path.exists())

    def compact(self) -> None:
        """Rewrite the search index and the file without what is gone, and empty the log."""
        self._beside.forget()
        with self.writing() as transaction:
            transaction.rows.index.refresh()
        with translated(self.place):
            self._connection.execute(_SQL["compact"])
            busy = self._connection.execute(_SQL["checkpoint"]).fetchone()[0]
        if busy:
            raise StoreError("store-busy", "the log cannot be emptied while another process reads", Place(self.place))

    def backup(self, target: Path, progress: Progress) -> Head:
        """Copy one state to the new file `target`, synced and checked before it gets its name."""
        draft = target.with_name(f"{target.name}.{os.getpid()}.tmp")
        if os.path.lexists(target):
            raise StoreError("store-exists", "a backup does not overwrite a file", Place(str(target)))
        try:
            file.new_file(draft)
            head = self._copy(draft, progress)
            _sync(draft)
            _give_name(draft, target)
            _sync(target.parent)
        except OSError as error:
            code = "store-exists" if isinstance(error, FileExistsError) else "store-io"
            raise StoreError(code, f"cannot back up: {(error.strerror or '').lower()}", Place(str(target))) from None
        finally:
            draft.unlink(missing_ok=True)
        return head

    def _copy(self, draft: Path, progress: Progress) -> Head:
        def step(_status: int, remaining: int, total: int) -> None:
            progress(total - remaining, total)

        # The read transaction holds one state: without it, every write of others would start the copy anew.
        with self.reading() as transaction, closing(sqlite3.connect(draft, isolation_level=None)) as copy:
            head = transaction.head()
            self._connection.backup(copy, pages=_PAGES, progress=step)
            # One file that needs no log beside it until it is used.
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()
            if SqliteTransaction(copy, str(draft)).head() != head:
                raise StoreError("store-corrupt", "the copy does not end where the store does", Place(str(draft)))
        return head

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _give_name(draft: Path, target: Path) -> None:
    """Name the finished copy; unlike a rename, a link fails where another file took the name meanwhile."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:
        # A file system without links, as on a memory stick.
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        draft.rename(target)


def _sync(path: Path) -> None:
    if os.name != "posix" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_file(
    path: Path,
    *,
    create: bool,
    read_only: bool,
    timeout: float,
    search: str | None,
    clock: Callable[[], datetime],
) -> EventStore:
    """Open the store in the file `path`; the arguments are those of `open_store`, and so are the errors."""
    if create and not read_only:
        file.new_file(path)
    with translated(str(path)):
        connection = file.connect(path, timeout, read_only=read_only)
        backend = SqliteBackend(path, connection, search)
        try:
            if read_only:
                file.read_only_layout(connection, path)
            else:
                file.prepare(connection, path, timeout, create=create, settle=lambda _: _settle(backend))
        except BaseException:
            connection.close()
            raise
    return EventStore(backend, clock=clock)


def _settle(backend: SqliteBackend) -> None:
    from .checking import settle

    settle(backend, SqliteTransaction(backend._connection, backend.place), silent)  # noqa: SLF001 - within this module
