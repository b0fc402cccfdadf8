"""What is procrastinate's own: its tables, and the delays of the queue as one of its retry strategies.

Its functions on the server are called directly, each in a transaction with the row of our job. Only who makes the tables, or
tries a job again, imports the package: a hook that puts a job does not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import procrastinate
from procrastinate.jobs import Job as EngineJob
from procrastinate.retry import BaseRetryStrategy, RetryDecision
from procrastinate.schema import SchemaManager

from ..policy import QueueSettings, Rng, backoff, classify, retry_after

__all__ = ["QUEUE", "TASK", "SeedRetry", "decide", "latest", "steps", "tables"]

QUEUE: Final = "reflect"
"""The name of the queue within procrastinate."""
TASK: Final = "reflect_gate.reflect"
"""The name of the task; a worker of this program runs it, and procrastinate's own workers do not know it."""


class SeedRetry(BaseRetryStrategy):
    """The delays of a queue: doubling, capped, with jitter; no further attempt after the last one or a permanent error.

    Args:
        settings: of the queue.
        rng: source of the jitter, from 0 up to 1.
        now: says the server's time in seconds since 1970, to which the delay is added.
    """

    def __init__(self, settings: QueueSettings, rng: Rng, now: Callable[[], float]) -> None:
        self._settings = settings
        self._rng = rng
        self._now = now

    def get_retry_decision(self, *, exception: BaseException, job: EngineJob) -> RetryDecision | None:
        """Return when a job runs again, None where it does not; `job.attempts` are those that failed before this one."""
        failed = job.attempts + 1
        if failed >= self._settings.max_attempts or classify(exception) == "permanent":
            return None
        delay = backoff(self._settings, failed, self._rng, retry_after(exception))
        return RetryDecision(retry_at=datetime.fromtimestamp(self._now(), UTC) + timedelta(seconds=delay))


def decide(strategy: BaseRetryStrategy, error: BaseException, handle: int, failed: int) -> datetime | None:
    """Return what a strategy says of a job of which `failed` attempts failed before this one."""
    job = EngineJob(id=handle, queue=QUEUE, lock=None, queueing_lock=None, task_name=TASK, attempts=failed)
    decision = strategy.get_retry_decision(exception=error, job=job)
    return decision.retry_at if decision is not None else None


def tables() -> str:
    """Return the SQL that makes procrastinate's tables, types and functions."""
    return SchemaManager.get_schema()


def _migrations() -> list[Path]:
    return sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))


def latest() -> str:
    """Return the name of the last migration that the installed procrastinate has."""
    found = _migrations()
    return found[-1].name if found else procrastinate.__version__


def steps(since: str) -> Iterator[str]:
    """Yield the SQL of procrastinate's migrations after the one of that name, in order."""
    for path in _migrations():
        if path.name > since:
            yield path.read_text(encoding="utf-8")
