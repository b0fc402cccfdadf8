"""Opening an SQLite file as a store: what it is, who may read it, which layout it has, and bringing an older one up to date."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from _thread import allocate_lock
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ._sql import latest, migrations, queries, statements
from ._sqlite_errors import APPLICATION_ID
from .errors import Place, StoreError

__all__ = ["LAYOUT", "connect", "layout_of", "new_file", "prepare", "read_only_layout", "scratch_connection"]

LAYOUT: Final = latest("sqlite")
"""The layout that this code reads and writes; older ones are migrated, newer ones refused."""

_SQL: Final = queries("store")
_MAGIC: Final = b"SQLite format 3\0"
_PATIENCE: Final = 0.01
_CACHE: Final = 64 * 1024
_MOST_LOG: Final = 16 * 1024 * 1024


def new_file(path: Path) -> None:
    """Create an empty file that only its owner can read, in a folder that only its owner can enter, unless they are there."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _guard:
            # One that is there is not opened: closing it again could end the locks of other connections; see `_Connection`.
            if not path.exists():
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            elif not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        code = "store-read-only" if isinstance(error, PermissionError) else "store-io"
        raise StoreError(code, f"the store cannot be created: {(error.strerror or '').lower()}", Place(str(path))) from None


_guard: Final = allocate_lock()
_connected: Final[Counter[tuple[int, int]]] = Counter()
"""How many connections this process has to a file, by device and inode."""


class _Connection(sqlite3.Connection):
    """A connection that is counted as long as it is open.

    Where a process closes a file, POSIX ends every lock that it holds on that file, those of SQLite too; another process could
    then take the log away that this one still writes to. So nothing here opens a file that has a connection in this process.
    """

    file: tuple[int, int] | None = None

    def close(self) -> None:
        """Close it; closing twice is harmless."""
        with _guard:
            super().close()
            if self.file is not None:
                _connected[self.file] -= 1
                self.file = None


def _opened(path: Path, uri: str, timeout: float) -> sqlite3.Connection:
    """Open a file that is a database, or empty; it is looked at only where this process has no connection to it."""
    with _guard:
        try:
            status = path.stat()
        except OSError:
            status = None
        key = (status.st_dev, status.st_ino) if status else None
        if key is None or not _connected[key]:
            _look_at(path)
        connection = sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None, factory=_Connection)
        if key is not None:
            _connected[key] += 1
            connection.file = key
    return connection


def connect(path: Path, timeout: float, *, read_only: bool) -> sqlite3.Connection:
    """Return a connection to the file, which must be there and must not be another kind of file."""
    uri = path.absolute().as_uri()
    if read_only:
        uri += "?mode=ro" if _wal_can_be_used(path) else "?mode=ro&immutable=1"
    else:
        uri += "?mode=rw"
    connection = _opened(path, uri, timeout)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA trusted_schema = OFF")
        # Erased payloads and dropped rows are overwritten, not only forgotten.
        connection.execute("PRAGMA secure_delete = ON")
        # Rows of a large store lie far apart: 64 MiB of pages at most, taken as they are read.
        connection.execute(f"PRAGMA cache_size = {-_CACHE:d}")
        # A large import leaves a large log, which would stay as long as the store is open.
        connection.execute(f"PRAGMA journal_size_limit = {_MOST_LOG:d}")
    except BaseException:
        connection.close()
        raise
    return connection


def scratch_connection() -> sqlite3.Connection:
    """Return a connection to a private file that vanishes, with the tables of a store."""
    connection = sqlite3.connect("", isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA journal_mode = OFF")
    for _, script in migrations("sqlite"):
        for statement in statements(script):
            connection.execute(statement)
    # One transaction, which nobody ends: the search index would else write a piece of itself with every row.
    connection.execute(_SQL["begin_writing"])
    return connection


def _look_at(path: Path) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except FileNotFoundError:
        raise _missing(path) from None
    except OSError as error:
        raise StoreError("store-io", f"the store cannot be read: {(error.strerror or '').lower()}", Place(str(path))) from None
    if start and start != _MAGIC:
        raise StoreError("store-foreign", "the file is no store", Place(str(path)))


def _missing(path: Path) -> StoreError:
    message = "there is no store yet; the first lesson makes it, or `reflect-gate store init`"
    return StoreError("store-missing", message, Place(str(path)))


def _wal_can_be_used(path: Path) -> bool:
    """Return whether a reader can see what only the log holds; without a log, the file alone is the whole store."""
    log = path.with_name(f"{path.name}-wal")
    return (log.exists() and log.stat().st_size > 0) or os.access(path.parent, os.W_OK)


def _patiently(connection: sqlite3.Connection, statement: str, timeout: float) -> None:
    """Execute what SQLite answers "busy" to at once, without asking its own timeout."""
    end = time.monotonic() + timeout
    while True:
        try:
            connection.execute(statement).fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(_PATIENCE)
        else:
            return


def _value(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(_SQL[name]).fetchone()[0])


def layout_of(connection: sqlite3.Connection, path: Path) -> int:
    """Return the layout of the file, 0 for one that holds nothing; another program's file and a newer layout are refused."""
    layout = _value(connection, "layout")
    if _value(connection, "application_id") != APPLICATION_ID:
        if layout or _value(connection, "objects"):
            raise StoreError("store-foreign", "the file is the database of another program", Place(str(path)))
        return 0
    if layout > LAYOUT:
        message = f"a newer version of this program made the store: it has layout {layout}, and this version knows {LAYOUT}"
        raise StoreError("store-newer", message, Place(str(path)))
    return layout


def prepare(
    connection: sqlite3.Connection, path: Path, timeout: float, *, create: bool, settle: Callable[[sqlite3.Connection], None]
) -> None:
    """Bring the file to this layout: make the tables of a new one, migrate an older one, in one transaction.

    Args:
        connection: to the file, writable.
        path: what errors call it.
        timeout: seconds to wait for others.
        create: make a store of an empty file; else `store-missing`.
        settle: fills the projections from the events; called within the transaction after a migration.
    """
    layout = layout_of(connection, path)
    if layout == 0 and not create:
        raise _missing(path)
    if connection.execute(_SQL["journal"]).fetchone()[0] != "wal":
        _patiently(connection, _SQL["use_wal"], timeout)
    if layout == LAYOUT:
        return
    connection.execute(_SQL["begin_writing"])
    try:
        # Another process may have done it while this one waited.
        layout = layout_of(connection, path)
        _migrate(connection, layout)
        if 0 < layout < LAYOUT:
            settle(connection)
        connection.execute(_SQL["commit"])
    except BaseException:
        if connection.in_transaction:
            connection.execute(_SQL["rollback"])
        raise


def _migrate(connection: sqlite3.Connection, layout: int) -> None:
    for number, script in migrations("sqlite"):
        if number > layout:
            for statement in statements(script):
                connection.execute(statement)
    # A pragma takes no parameters.
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
    connection.execute(f"PRAGMA user_version = {max(layout, LAYOUT):d}")


def read_only_layout(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse to read a store of an older layout: reading alone cannot migrate it."""
    layout = layout_of(connection, path)
    if layout == 0:
        raise _missing(path)
    if layout < LAYOUT:
        message = f"the store has the older layout {layout} and must be opened for writing once, as by `reflect-gate store init`"
        raise StoreError("store-read-only", message, Place(str(path)))
