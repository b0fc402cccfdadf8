"""The queue as its users see it; whatever keeps the jobs implements this and passes `tests/queue/test_conformance.py`."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol, Self, TypeAlias

from .counters import Counters, Gauges
from .job import Job
from .record import Reason

__all__ = ["Claim", "Kept", "Listed", "Outcome", "Put", "Queue", "Replay", "Settled"]

Outcome: TypeAlias = Literal["enqueued", "duplicate", "dead", "done", "full"]
"""What became of a put: taken in; already waiting or being worked on; already a dead letter; already done; refused."""
Settled: TypeAlias = Literal["scheduled", "dead", "unsaved"]
"""What became of a failed job: it waits for another attempt; it is dead; it waits, but that could not be written down."""


class Put(NamedTuple):
    """The id of a job and what became of it; `dropped` are the ids of older jobs that became dead letters to make room."""

    id: str
    outcome: Outcome
    dropped: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether the job is or was in the queue, durably."""
        return self.outcome != "full"


class Listed(NamedTuple):
    """A job in a list; times are seconds since 1970. `next` is when it is due, `busy` whether someone works on it."""

    id: str
    job: Job
    created: float
    next: float
    attempts: int
    error: str | None
    busy: bool = False
    reason: Reason | None = None
    died: float | None = None


class Kept(NamedTuple):
    """A file in quarantine: its name in `quarantine/`, its size in bytes, and what is wrong with it."""

    name: str
    size: int
    problem: str


class Replay(NamedTuple):
    """What a replay found: jobs that wait, and files that it moved or removed."""

    waiting: int
    corrupt: int = 0
    expired: int = 0
    done: int = 0
    dead: int = 0
    swept: int = 0
    unreadable: int = 0


class Claim(Protocol):
    """A job in work. It is settled once, by one of the five methods; nobody else gets it before."""

    @property
    def id(self) -> str:
        """The id of the job."""
        ...

    @property
    def job(self) -> Job:
        """The job."""
        ...

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        ...

    def fileno(self) -> int | None:
        """Return a handle that keeps others away as long as any process holds it open, if the back end has one."""
        ...

    def ack(self) -> None:
        """Say that the job is done: durable on return, and it never runs again."""
        ...

    def retry(self, error: object, after: float | None = None) -> Settled:
        """Say that the attempt failed and a later one, in `after` seconds at the earliest, may not; the last one is dead."""
        ...

    def park(self, why: object, after: float) -> Settled:
        """Say that the job is to wait for so many seconds, through no fault of its own; this costs no attempt."""
        ...

    def dead(self, error: object, reason: Reason = "permanent") -> Settled:
        """Make the job a dead letter."""
        ...

    def release(self) -> None:
        """Give the job back as it was; this costs no attempt."""
        ...


class Queue(Protocol):
    """A queue of jobs. Errors are `StoreError` with a code that begins with `queue-`."""

    counters: Counters

    @property
    def place(self) -> str:
        """Where the queue is, as people may see it: a folder, or an address without its password."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def put(self, job: Job) -> Put:
        """Take a job in; durable on return."""
        ...

    def claim(self, timeout: float = 0.0) -> Claim | None:
        """Return a job that is due, None if there is none within so many seconds."""
        ...

    def depth(self) -> int:
        """Return how many jobs wait or are being worked on."""
        ...

    def gauges(self) -> Gauges:
        """Return the sizes of the queue."""
        ...

    def done(self, id_: str) -> bool:
        """Return whether a job is known to be done."""
        ...

    def jobs(self) -> tuple[Listed, ...]:
        """Return the jobs that wait or are being worked on, the oldest first."""
        ...

    def dead_letters(self) -> tuple[Listed, ...]:
        """Return the dead letters, the earliest dead first."""
        ...

    def retry_dead(self, id_: str) -> None:
        """Put a dead letter back, without the attempts it has had."""
        ...

    def purge_dead(self, id_: str | None) -> int:
        """Remove a dead letter, or all, for good, and return how many."""
        ...

    def quarantined(self) -> tuple[Kept, ...]:
        """Return the files that are no records."""
        ...

    def expired(self) -> tuple[Listed, ...]:
        """Return the jobs that waited for too long."""
        ...

    def restore_expired(self, id_: str) -> None:
        """Put an expired job back, as if it were new."""
        ...

    def replay(self) -> Replay:
        """Look at every record; the first claim does it too."""
        ...

    def drain(self) -> Replay:
        """Replay anew, so that what was copied into the folder is taken in; jobs in work are left alone."""
        ...

    def close(self) -> None:
        """Release everything; jobs in work are given back."""
        ...
