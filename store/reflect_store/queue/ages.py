"""How old the jobs in a folder are and how many are due, at a cost that does not grow with them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Final, NamedTuple

from .folder import Folders
from .record import MOST_BYTES, CorruptError, NewerError, Record, decode

__all__ = ["MOST_LOOKED_AT", "Ages"]

MOST_LOOKED_AT: Final = 500
"""Records that one look reads at most. Ids are digests, so that the first by name are as good as any others."""

_MOST_READ: Final = 16 * 1024 * 1024
"""Bytes after which a look reads no further record."""


class _Times(NamedTuple):
    created: float
    next: float


class Ages:
    """When the jobs in `wal/` were put and are due, as of the last look; nothing is read again while nothing changed."""

    def __init__(self) -> None:
        self._times: tuple[_Times, ...] = ()
        self._generation: int | None = None

    def to_read(self, ids: Iterable[str], generation: int) -> list[str] | None:
        """Return which of the jobs in `wal/` to look at, `None` where the last look was at the same `generation` of them."""
        return None if generation == self._generation else heapq.nsmallest(MOST_LOOKED_AT, ids)

    def look(self, folders: Folders, ids: Iterable[str], generation: int) -> None:
        """Read records; what cannot be read is passed over, and so is what exceeds a bound of bytes.

        Args:
            folders: of the queue; its lock need not be held, since a record is never seen in part.
            ids: what `to_read` said.
            generation: how often the folder had been changed then.
        """
        found, left = [], _MOST_READ
        for id_ in ids:
            data = _data(folders, id_)
            record = None if data is None else _record(data)
            if record is not None:
                found.append(_Times(record.created, record.next))
            left -= len(data or b"")
            if left < 0:
                break
        self._times, self._generation = tuple(found), generation

    def waiting(self, now: float, longest: float) -> int:
        """Return how many jobs are not due yet; none waits for longer than `longest`, whatever its record says."""
        return sum(now < each.next <= now + longest for each in self._times)

    def oldest(self, now: float) -> float:
        """Return how many seconds ago the oldest job was put, 0 where there is none."""
        return max((now - each.created for each in self._times), default=0.0)


def _data(folders: Folders, id_: str) -> bytes | None:
    try:
        return folders.read("wal", id_, MOST_BYTES)
    except OSError:
        return None


def _record(data: bytes) -> Record | None:
    try:
        return decode(data)
    except (CorruptError, NewerError):
        # Whoever claims it sets it aside; a look moves nothing.
        return None
