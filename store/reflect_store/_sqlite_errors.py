"""What SQLite says, in the words of the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from .errors import Place, StoreError

__all__ = ["APPLICATION_ID", "damage_named", "told", "translated"]

APPLICATION_ID: Final = 0x52474154
"""Marks an SQLite file as a store ("RGAT")."""

_KINDS: Final = {
    sqlite3.SQLITE_BUSY: ("store-busy", "another process holds the store and did not let go in time"),
    sqlite3.SQLITE_LOCKED: ("store-busy", "another connection holds the store and did not let go in time"),
    sqlite3.SQLITE_FULL: ("store-full", "the disk is full; what was acknowledged is kept"),
    sqlite3.SQLITE_READONLY: ("store-read-only", "the store can only be read"),
    sqlite3.SQLITE_CORRUPT: ("store-corrupt", "the file is damaged; leave it as it is and restore a backup or an export"),
    sqlite3.SQLITE_NOTADB: ("store-foreign", "the file is no store"),
    sqlite3.SQLITE_CANTOPEN: ("store-io", "the file cannot be opened"),
    sqlite3.SQLITE_PERM: ("store-io", "the file may not be used"),
    sqlite3.SQLITE_AUTH: ("store-io", "the file may not be used"),
    sqlite3.SQLITE_CONSTRAINT: ("store-corrupt", "the store refuses a change of what was recorded"),
}


def _damaged_index(place: str) -> StoreError:
    return StoreError("store-corrupt", "the search index is damaged; `reflect-gate store rebuild` makes it anew", Place(place))


def told(error: sqlite3.Error, place: str) -> StoreError:
    """Return the store's error for an error of SQLite."""
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_CORRUPT_VTAB:
        return StoreError(
            "store-corrupt", "the search index is damaged; `reflect-gate store rebuild` makes it anew", Place(place)
        )
    # The lower byte is the primary result code; errors of the module itself have none.
    primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
    code, message = _KINDS.get(primary, ("store-io", "the store cannot be used"))
    detail = str(error).strip().lower().rstrip(".")
    return StoreError(code, f"{message} ({detail})" if detail else message, Place(place))


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Raise errors of SQLite within as errors of the store."""
    try:
        yield
    except sqlite3.Error as error:
        raise told(error, place) from error
    except UnicodeDecodeError as error:
        # SQLite hands on whatever bytes a damaged page holds.
        raise StoreError("store-corrupt", "the file is damaged: a text is no UTF-8", Place(place)) from error


@contextmanager
def damage_named(place: str) -> Iterator[None]:
    """Raise errors of SQLite within as the store's, those of a search index that cannot be opened or read as its damage."""
    with translated(place):
        try:
            yield
        except sqlite3.DatabaseError as error:
            # An index that misses a table or a page is an error in the statement to one version and corruption to another.
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT):
                raise _damaged_index(place) from error
            raise
