"""What lies in the queue and what it has cost, for people to look at and to change (R-k1)."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from reflect_store import StoreError

from ..llm.call import plain_decimal
from .settings import Settings
from .spending import open_calls
from .working import is_parked, note_unreflected

if TYPE_CHECKING:
    from decimal import Decimal

    from reflect_store.queue import Listed, Queue

__all__ = ["PURGED", "Contents", "Status", "contents", "entry", "purge", "put_back", "status_of"]

Shelf: TypeAlias = Literal["dead letters", "expired"]

PURGED = "purged"
"""The reason where a person removed the dead letter of a failure."""


class Contents(NamedTuple):
    """The jobs of a queue: those that wait or are worked on, dead letters, and those that waited for too long."""

    pending: tuple[Listed, ...]
    dead: tuple[Listed, ...]
    expired: tuple[Listed, ...]


class Status(NamedTuple):
    """How a queue stands.

    Attributes:
        folder: where it lies; of one on a server its address without a password.
        pending: jobs that wait or are worked on.
        busy: those that are worked on.
        parked: those that wait for money or for a repaired configuration.
        dead: dead letters.
        expired: jobs that waited for too long.
        quarantined: damaged files.
        spent: dollars that the calls of today (UTC) cost.
        reserved: dollars that are set aside for calls that have not ended.
        limit: dollars that the calls of a day may cost.
        oldest: when the oldest pending job was captured, in seconds since 1970.
        last_error: the job that failed or died last, with its error.
    """

    folder: str
    pending: int
    busy: int
    parked: int
    dead: int
    expired: int
    quarantined: int
    spent: Decimal
    reserved: Decimal
    limit: Decimal | None
    oldest: float | None
    last_error: Listed | None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data (`status` of `reflect-report.schema.json`)."""
        money = {name: plain_decimal(getattr(self, name)) for name in ("spent", "reserved")}
        return {
            **self._asdict(),
            **money,
            "limit": None if self.limit is None else plain_decimal(self.limit),
            "oldest": None if self.oldest is None else moment(self.oldest),
            "last_error": None if self.last_error is None else entry(self.last_error),
        }


def contents(queue: Queue) -> Contents:
    """Return the jobs of a queue; nothing is changed, except that damaged files go to quarantine."""
    return Contents(queue.jobs(), queue.dead_letters(), queue.expired())


def status_of(queue: Queue, settings: Settings) -> Status:
    """Return how a queue stands, and what was spent today."""
    found = contents(queue)
    spent = open_calls(settings.daily_cost_limit).spent()
    failed = [(job.died or job.next, job) for job in (*found.pending, *found.dead, *found.expired) if job.error]
    return Status(
        folder=queue.place,
        pending=len(found.pending),
        busy=sum(job.busy for job in found.pending),
        parked=sum(map(is_parked, found.pending)),
        dead=len(found.dead),
        expired=len(found.expired),
        quarantined=len(queue.quarantined()),
        spent=spent.settled,
        reserved=spent.reserved,
        limit=settings.daily_cost_limit,
        oldest=min((job.created for job in found.pending), default=None),
        last_error=max(failed, key=lambda each: each[0])[1] if failed else None,
    )


def put_back(queue: Queue, id_: str) -> Shelf:
    """Let a dead letter or an expired job run again, without the attempts it has had; return where it lay.

    Raises:
        StoreError: `queue-unknown` where it is neither.
    """
    try:
        queue.retry_dead(id_)
    except StoreError as error:
        if error.code != "queue-unknown" or not any(job.id == id_ for job in queue.expired()):
            raise
    else:
        return "dead letters"
    queue.restore_expired(id_)
    return "expired"


def purge(queue: Queue, id_: str) -> bool:
    """Remove a dead letter for good; its failure is recorded as not reflected on. Return whether that was recorded now.

    Raises:
        StoreError: `queue-unknown` where there is no such dead letter.
    """
    found = next((job for job in queue.dead_letters() if job.id == id_), None)
    # First the record, then the removal: what is removed cannot be recorded any more.
    noted = found is not None and note_unreflected(found.job, f"{PURGED}: {found.error or found.reason}")
    queue.purge_dead(id_)
    return noted


def moment(seconds: float) -> str:
    """Return seconds since 1970 as a date and time in UTC."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="milliseconds")


def entry(job: Listed) -> dict[str, Any]:
    """Return a job as plain data (`job` of `reflect-report.schema.json`); its payload stays in the queue."""
    return {
        "job_id": job.id,
        "trigger": job.job.trigger,
        "task": job.job.task,
        "failure_id": job.job.attempt,
        "outcome": job.job.outcome,
        "captured": moment(job.created),
        "due": moment(job.next),
        "attempts": job.attempts,
        "error": job.error,
        "busy": job.busy,
        "parked": is_parked(job),
        "reason": job.reason,
        "died": None if job.died is None else moment(job.died),
    }
