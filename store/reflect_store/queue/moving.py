"""Moving everything that a queue holds to another one: nothing is lost and nothing is there twice, wherever it is cut short.

A job that waits is first hidden: made a dead letter with the reason `moving`, which no worker takes. Then the other queue takes
it in, unless it knows the job already, and last it is removed here. Cut short between two steps, it is hidden here, or hidden
here and in the other queue as well; done again, the move goes on from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, TypeAlias

from .record import Record

if TYPE_CHECKING:
    from .protocol import Queue

__all__ = ["Moved", "Shelf", "Side", "move", "side_of"]

Shelf: TypeAlias = Literal["waiting", "moving", "dead", "expired"]
"""Where a job lies: it waits; it is hidden; it is a dead letter; it waited for too long."""

_BESIDE: Final[tuple[Literal["dead", "expired"], ...]] = ("dead", "expired")


class Moved(NamedTuple):
    """What was moved, by where it lay, and how many jobs the other queue learned to be done.

    `busy` jobs were being worked on, and `unreadable` records are none that this program can read: both stay where they are.
    """

    waiting: int = 0
    dead: int = 0
    expired: int = 0
    done: int = 0
    busy: int = 0
    unreadable: int = 0

    @property
    def whole(self) -> bool:
        """Whether nothing was left that a later move could take."""
        return not self.busy


class Side(Protocol):
    """One of the two queues. Every change is durable on return."""

    def ids(self, shelf: Shelf) -> list[str]:
        """Return which jobs lie there; of those that wait, also those that are worked on."""
        ...

    def hide(self, id_: str) -> bool:
        """Take a job that waits out of the reach of workers; return false where somebody works on it or it is gone."""
        ...

    def record(self, shelf: Shelf, id_: str) -> Record | None:
        """Return a record as it is to be taken in, None where there is none that can be read."""
        ...

    def take_in(self, shelf: Shelf, record: Record) -> None:
        """Take a record in, unless the job is known: waiting, dead, hidden or done."""
        ...

    def forget(self, shelf: Shelf, id_: str) -> None:
        """Remove a job."""
        ...

    def done(self) -> Mapping[str, float]:
        """Return the jobs that were done, with the seconds since 1970."""
        ...

    def learn(self, done: Mapping[str, float]) -> int:
        """Remember that jobs were done, and return how many were not known."""
        ...


def side_of(queue: Queue) -> Side:
    """Return what moves jobs out of a queue and into it."""
    from .files import FileQueue

    if isinstance(queue, FileQueue):
        from .moving_files import FolderSide

        return FolderSide(queue)
    from .postgres.moving import ServerSide
    from .postgres.server import ServerQueue

    if isinstance(queue, ServerQueue):
        return ServerSide(queue)
    raise TypeError(f"`{type(queue).__name__}` cannot be moved")


def move(source: Side, target: Side) -> Moved:
    """Move everything from one queue to the other, in the order in which it came.

    Raises:
        StoreError: one of the two cannot be written; what was not moved yet is where it was, and another move goes on.
    """
    # First of all: a job that was done must not run because its record came back.
    learned = target.learn(source.done())
    counts = dict.fromkeys(("waiting", *_BESIDE), 0)
    busy = unreadable = 0
    # What an earlier move left hidden is nobody's until it has arrived.
    for id_ in source.ids("moving"):
        arrived = _carry(source, target, "moving", id_)
        counts["waiting"] += arrived
        unreadable += not arrived
    for id_ in source.ids("waiting"):
        if not source.hide(id_):
            busy += id_ in source.ids("waiting")
        elif _carry(source, target, "moving", id_):
            counts["waiting"] += 1
    for shelf in _BESIDE:
        for id_ in source.ids(shelf):
            arrived = _carry(source, target, shelf, id_)
            counts[shelf] += arrived
            unreadable += not arrived
    return Moved(**counts, done=learned, busy=busy, unreadable=unreadable)


def _carry(source: Side, target: Side, shelf: Shelf, id_: str) -> bool:
    record = source.record(shelf, id_)
    if record is None:
        return False
    target.take_in("waiting" if shelf == "moving" else shelf, record)
    source.forget(shelf, id_)
    return True
