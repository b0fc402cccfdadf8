"""The queue and a manual lesson as text for people; what stands in jobs is text of others and is made safe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ..llm.call import plain_decimal
from ._safe import one_line

if TYPE_CHECKING:
    from reflect_store.queue import Kept, Listed, Replay

    from ..capture.overview import Contents, Status

__all__ = ["age", "job_lines", "preview", "quarantine_lines", "replay_line", "status_lines", "table_of"]

_WIDE: Final = 120
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def age(seconds: float) -> str:
    """Return a length of time in its largest unit, as `3h`."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return "0s"


def preview(job: Listed, limit: int) -> str:
    """Return what a job is about, and what it last failed with, on one line of so many characters."""
    task = one_line(job.job.task, max(limit // 2, 20)) or job.job.attempt
    return one_line(f"{task} · {job.error}" if job.error else task, limit)


def status_lines(status: Status, now: float) -> Iterator[str]:
    """Yield how the queue stands, a fact a line."""
    yield f"queue       {status.folder}"
    yield f"pending     {status.pending}, {status.busy} being worked on, {status.parked} parked"
    yield f"oldest      {'-' if status.oldest is None else age(now - status.oldest)}"
    yield f"dead        {status.dead}"
    yield f"expired     {status.expired}"
    yield f"quarantine  {status.quarantined}"
    limit = "no limit" if status.limit is None else f"of ${plain_decimal(status.limit)}"
    reserved = f", ${plain_decimal(status.reserved)} reserved" if status.reserved else ""
    yield f"spent       ${plain_decimal(status.spent)} today{reserved}, {limit}"
    failed = status.last_error
    said = "-" if failed is None else f"{failed.id}: {one_line(failed.error or '', _WIDE)}"
    yield f"last error  {said}"


def table_of(found: Contents, now: float) -> Iterator[str]:
    """Yield every job of the queue, as S1's `list` does."""
    yield f"pending ({len(found.pending)}):"
    yield from job_lines(found.pending, now)
    yield f"dead letter queue ({len(found.dead)}):"
    yield from job_lines(found.dead, now)
    if found.expired:
        yield f"expired ({len(found.expired)}):"
        yield from job_lines(found.expired, now)


def job_lines(jobs: Sequence[Listed], now: float) -> Iterator[str]:
    """Yield each job: its id and state, its task, and what it last failed with."""
    for job in jobs:
        marks = [f"trigger={one_line(job.job.trigger, 20)}", f"attempts={job.attempts}", f"age={age(now - job.created)}"]
        marks += ["busy"] if job.busy else []
        marks += [f"reason={job.reason}"] if job.reason else []
        yield f"  {job.id} [{' '.join(marks)}]"
        yield f"    task: {one_line(job.job.task, _WIDE) or '-'}"
        if job.error:
            yield f"    last error: {one_line(job.error, _WIDE)}"


def quarantine_lines(kept: Sequence[Kept]) -> Iterator[str]:
    """Yield the damaged files with what is wrong with each."""
    for each in kept:
        yield f"{one_line(each.name, 80)}  {each.size} bytes  {one_line(each.problem, _WIDE)}"
    if not kept:
        yield "nothing is in quarantine"


def replay_line(found: Replay) -> str:
    """Return what a replay found, leaving out what it did not find."""
    rest = ", ".join(f"{count} {name}" for name, count in found._asdict().items() if name != "waiting" and count)
    waiting = "1 job waits" if found.waiting == 1 else f"{found.waiting} jobs wait"
    return f"{waiting}{': ' + rest if rest else ''}"
