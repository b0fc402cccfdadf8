"""Which job is due next, on the clock that only moves on."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Entry", "Schedule"]


class Entry(NamedTuple):
    """What is known of a job without its record.

    `due` is on the monotonic clock. `seen` is `(next, attempts)` of the record when it was loaded, so that a later change by
    another process shows; None where the record is not as it should be (a change could not be saved).
    """

    due: float
    created: float
    attempts: int
    seen: tuple[float, int] | None


class Schedule:
    """A heap of jobs by the time at which they are due; of two that are due together, the earlier one comes first."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, float, int, str]] = []
        self._entries: dict[str, tuple[int, Entry]] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._entries))

    def add(self, id_: str, entry: Entry) -> None:
        """Add a job, or change when it is due."""
        self._count += 1
        self._entries[id_] = (self._count, entry)
        heapq.heappush(self._heap, (entry.due, entry.created, self._count, id_))
        if len(self._heap) > 2 * len(self._entries) + 64:
            self._heap = [item for item in self._heap if self._current(item)]
            heapq.heapify(self._heap)

    def remove(self, id_: str) -> None:
        """Forget a job, if it is known."""
        self._entries.pop(id_, None)

    def take(self, now: float) -> tuple[str, Entry] | None:
        """Remove the first job that is due and return it with its entry."""
        due = self.next_due()
        if due is None or due > now:
            return None
        id_ = heapq.heappop(self._heap)[3]
        return id_, self._entries.pop(id_)[1]

    def next_due(self) -> float | None:
        """Return when the first job is due."""
        while self._heap and not self._current(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def by_age(self) -> list[str]:
        """Return all jobs, the oldest first."""
        return sorted(self._entries, key=lambda id_: (self._entries[id_][1].created, id_))

    def _current(self, item: tuple[float, float, int, str]) -> bool:
        known = self._entries.get(item[3])
        return known is not None and known[0] == item[2]
