"""What a queue counts, by process. Metrics are made of it elsewhere; nothing is imported here for them."""

from __future__ import annotations

import bisect
from typing import Final, NamedTuple

__all__ = ["BOUNDS", "Counters", "Gauges"]

BOUNDS: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds by which the lengths of attempts are told apart."""

_EMPTY: Final = (0,) * (len(BOUNDS) + 1)


class Gauges(NamedTuple):
    """Sizes at a moment.

    Attributes:
        queue_depth: jobs that wait, as this process knows: what another works on is among them.
        wal_segments: jobs that wait or are worked on by anybody.
        dlq_size: dead letters.
        queue_ready: jobs that are due and that nobody works on.
        expired_size: jobs that waited for too long.
        oldest_job_age_seconds: how long ago the oldest job was put that waits or is worked on; 0 where there is none.
    """

    queue_depth: int
    wal_segments: int
    dlq_size: int
    queue_ready: int = 0
    expired_size: int = 0
    oldest_job_age_seconds: float = 0.0


class Counters:
    """Totals since the process began; every attribute only grows."""

    __slots__ = (
        "attempts",
        "enqueue",
        "persist_failures",
        "processing_buckets",
        "processing_count",
        "processing_seconds",
        "retries",
        "stale_discarded",
        "unreadable",
        "wal_corruption",
        "write_failures",
    )

    def __init__(self) -> None:
        self.enqueue: dict[str, int] = dict.fromkeys(("accepted", "rejected_full", "deduped", "dropped_oldest"), 0)
        self.attempts: dict[str, int] = dict.fromkeys(("success", "skipped", "transient", "permanent"), 0)
        self.retries: dict[int, int] = {}
        """By the number of the attempt that failed."""
        self.processing_seconds: dict[str, float] = dict.fromkeys(self.attempts, 0.0)
        self.processing_count: dict[str, int] = dict.fromkeys(self.attempts, 0)
        self.processing_buckets: dict[str, tuple[int, ...]] = dict.fromkeys(self.attempts, _EMPTY)
        """Attempts by the first of `BOUNDS` that is not shorter; the last number is of those longer than all."""
        self.wal_corruption = 0
        self.stale_discarded = 0
        self.persist_failures = 0
        """Attempts that failed because the handler could not keep its result (`PersistError`)."""
        self.write_failures = 0
        """Changes of a record that the queue itself could not write down."""
        self.unreadable = 0
        """Records that were left where they are, because they could not be read or are of a later version."""

    def processed(self, outcome: str, seconds: float) -> None:
        """Count an attempt of that outcome and length."""
        self.attempts[outcome] = self.attempts.get(outcome, 0) + 1
        self.processing_seconds[outcome] = self.processing_seconds.get(outcome, 0.0) + seconds
        self.processing_count[outcome] = self.processing_count.get(outcome, 0) + 1
        place = bisect.bisect_left(BOUNDS, seconds)
        counts = self.processing_buckets.get(outcome, _EMPTY)
        self.processing_buckets[outcome] = (*counts[:place], counts[place] + 1, *counts[place + 1 :])

    def as_dict(self) -> dict[str, object]:
        """Return a copy of all totals by name."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: dict(value) if isinstance(value, dict) else value for name, value in values.items()}
