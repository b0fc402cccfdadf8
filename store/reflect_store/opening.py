"""Opening a store by where it is: a file, or the address of a server."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from .addresses import is_address
from .errors import Place, StoreError
from .events import now
from .store import EventStore

__all__ = ["TIMEOUT", "open_store"]

TIMEOUT: Final = 30.0
"""Seconds that a writer waits for others before it gives up with `store-busy`."""


def open_store(
    place: Path | str,
    *,
    create: bool = False,
    read_only: bool = False,
    timeout: float = TIMEOUT,
    search: Literal["auto", "fts5", "tantivy"] | None = None,
    clock: Callable[[], datetime] = now,
) -> EventStore:
    """Open a store; an older layout is migrated, in one transaction and with its projections built anew.

    Args:
        place: the file, or the address of a server (`postgresql://user@host/database`), which needs the extra `postgres`. The
            folder of a file is made with it, mode 0700, the file with mode 0600.
        create: make the store where there is none.
        read_only: open for reading alone, which works where nothing may be written.
        timeout: seconds to wait for other processes, and for a server that is being started anew.
        search: which index answers searches; by itself, tantivy where it is installed and the store is large. The environment
            variable `REFLECT_GATE_SEARCH` says so where this is `None`.
        clock: says the time of new events.

    Raises:
        StoreError: `store-missing`, `store-foreign`, `store-newer`, `store-corrupt`, `store-read-only`, `store-full`,
            `store-busy` or `store-io`, of a server `store-unreachable`, `store-denied` or `store-unsupported`; what is there is
            then as it was.
    """
    if not is_address(place):
        from .sqlite import open_file

        return open_file(Path(place), create=create, read_only=read_only, timeout=timeout, search=search, clock=clock)
    from importlib.util import find_spec

    if find_spec("psycopg") is None:
        message = "a store on a server needs the extra `postgres`: pip install 'reflect-gate[postgres]'"
        raise StoreError("store-unsupported", message, Place("postgresql://"))
    from .postgres._store import open_server

    return open_server(str(place), create=create, read_only=read_only, timeout=timeout, search=search, clock=clock)
