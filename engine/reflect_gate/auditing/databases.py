"""Entries of a claude-mem database: its observations and what its summaries learned. Nothing of it is written or created."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from ..errors import ReflectGateError, Source
from ..measure.text import LIMIT
from .entries import MOST_ENTRIES, Entry
from .markdown import prose_of

__all__ = ["HEADER", "MOST_DATABASE", "database_entries"]

HEADER: Final = b"SQLite format 3\x00"
MOST_DATABASE: Final = 1 << 30
"""Bytes of a database that is audited."""

_STEPS: Final = 2_000
_MOST_CHECKS: Final = 200_000
_NEEDED: Final = frozenset({"id", "project", "title", "narrative", "facts"})
_SESSION: Final = frozenset({"memory_session_id", "sdk_session_id"})
_PARTS: Final[tuple[str, ...]] = ("title", "subtitle", "narrative", "facts", "text")
_SUMMARY: Final[tuple[str, ...]] = ("request", "learned", "completed", "next_steps")


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    """Yield the database read-only; one with a write-ahead log is read from a copy, since reading it writes beside it."""
    if file.stat().st_size > MOST_DATABASE:
        raise ReflectGateError("document-size", f"more than {MOST_DATABASE} bytes", Source(str(file)))
    log = file.with_name(file.name + "-wal")
    if not (log.is_file() and log.stat().st_size):
        with closing(_connected(file, "immutable=1")) as connection:
            yield connection
        return
    if log.stat().st_size > MOST_DATABASE:
        raise ReflectGateError("document-size", f"a log of more than {MOST_DATABASE} bytes", Source(str(log)))
    with tempfile.TemporaryDirectory(prefix="reflect-gate-") as folder:
        copy = Path(folder) / "copy.db"
        shutil.copyfile(file, copy)
        shutil.copyfile(log, copy.with_name("copy.db-wal"))
        with closing(_connected(copy, "mode=rw")) as connection:
            yield connection


def _connected(file: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?{how}", uri=True)
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA query_only=ON")
    checks = iter(range(_MOST_CHECKS))
    # A hostile schema can make one row take for ever to compute.
    connection.set_progress_handler(lambda: next(checks, None) is None, _STEPS)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    return connection


def _columns(connection: sqlite3.Connection) -> dict[str, frozenset[str]]:
    tables = [str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 1000")]
    return {
        name: frozenset(str(row[1]) for row in connection.execute("SELECT * FROM pragma_table_info(?)", (name,)))
        for name in tables
    }


def _checked(tables: dict[str, frozenset[str]], name: str) -> frozenset[str]:
    columns = tables.get("observations", frozenset())
    missing = sorted(_NEEDED - columns)
    if missing or not columns & _SESSION:
        held = ", ".join(sorted(tables)[:12]) or "none"
        lacks = f"`observations` lacks {', '.join(missing) or 'a session id'}" if columns else "no table `observations`"
        raise ReflectGateError(
            "audit-schema", f"not a claude-mem database that is known: {lacks}; its tables: {held}", Source(name)
        )
    return columns


def _rows(connection: sqlite3.Connection, table: str, fields: list[str]) -> Iterator[tuple[Any, ...]]:
    # Names are constants of this module, never the database's.
    cut = ", ".join(f"substr({field}, 1, {LIMIT + 1})" for field in fields)
    yield from connection.execute(f"SELECT id, {cut} FROM {table} ORDER BY id LIMIT {MOST_ENTRIES + 1}")  # noqa: S608


def _text(value: object) -> str:
    """Return a column as text; facts are a JSON list of texts."""
    if not isinstance(value, str):
        return ""
    if value.startswith("["):
        try:
            listed = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return "\n".join(item for item in listed if isinstance(item, str)) if isinstance(listed, list) else value
    return value


def database_entries(file: Path, name: str) -> Iterator[Entry]:
    """Yield the entries of a claude-mem database, by table and id.

    Raises:
        ReflectGateError: `audit-schema` where it is another database, `audit-database` where it cannot be read.
    """
    try:
        with _opened(file) as connection:
            tables = _columns(connection)
            columns = _checked(tables, name)
            wanted = [("observations", [field for field in _PARTS if field in columns])]
            summary = tables.get("session_summaries", frozenset())
            if {"id", "learned"} <= summary:
                wanted.append(("session_summaries", [field for field in _SUMMARY if field in summary]))
            number = 0
            for table, fields in wanted:
                for key, *values in _rows(connection, table, fields):
                    said = "\n".join(part for part in map(_text, values) if part.strip())
                    if said:
                        number += 1
                        yield Entry(f"e{number}", said, prose_of(said), pointer=f"{table}/{key}")
    except sqlite3.Error as error:
        reason = "it takes too long to read" if "interrupted" in str(error) else str(error).lower()
        raise ReflectGateError("audit-database", f"cannot read the database: {reason}", Source(name)) from None
