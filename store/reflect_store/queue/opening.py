"""Opening a queue by where it is: a folder, or the address of a server."""

from __future__ import annotations

import os
from typing import Final

from ..addresses import is_address
from ..errors import Place, StoreError
from .clock import Clock
from .files import open_queue, random_number
from .policy import QueueSettings, Rng
from .protocol import Queue

__all__ = ["open_at"]

_NEEDED: Final = ("psycopg", "procrastinate")


def open_at(
    place: str | os.PathLike[str], settings: QueueSettings | None = None, *, clock: Clock | None = None, rng: Rng | None = None
) -> Queue:
    """Open a queue; a folder, and the tables in a database, are made where they are absent.

    Args:
        place: the folder, or `postgresql://user@host/database`, which needs the extra `postgres`.
        settings: as default, those of `QueueSettings()`.
        clock: calendar and steady clock; of a server the steady one alone.
        rng: source of the jitter, from 0 up to 1.

    Raises:
        StoreError: `queue-settings`, what the file system refuses, or what the server says.
    """
    if not isinstance(place, str) or not is_address(place):
        return open_queue(place, settings, clock=clock, rng=rng)
    import importlib.util

    if any(importlib.util.find_spec(name) is None for name in _NEEDED):
        message = "a queue on a server needs the extra `postgres`: pip install 'reflect-gate[postgres]'"
        raise StoreError("queue-unsupported", message, Place("postgresql://"))
    from .postgres.server import open_server

    chosen = (settings or QueueSettings()).check()
    return open_server(place, chosen, clock=clock, rng=rng or random_number)
