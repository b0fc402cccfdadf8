"""Jobs laid into a world's queue as a worker would have left them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reflect_gate.capture.settings import Settings
from reflect_store.queue import Clock, Job, SystemClock, open_queue

from .world import World, failure

__all__ = ["lay"]

_DAY = 86_400.0


class _Earlier(SystemClock):
    """A clock that is behind."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def wall(self) -> float:
        """Return the calendar's time of back then."""
        return super().wall() - self._seconds


def _job(task: str, number: int) -> Job:
    payload: dict[str, Any] = {"termination": failure(f"cart-{number}", task=task), "trigger": "error", "route": "15reflect"}
    return Job(task, "error", f"cart-{number}", "resolved", payload)


def lay(
    world: World, *, dead: Sequence[tuple[str, str]] = (), expired: Sequence[str] = (), waiting: Sequence[str] = ()
) -> list[str]:
    """Put dead letters (task and error), expired jobs and waiting jobs (task) into the queue; return their ids in this order."""
    folder, settings = world.home / "queue", Settings().queue()
    found = []
    for number, (task, error) in enumerate(dead):
        with open_queue(folder, settings) as queue:
            found.append(queue.put(_job(task, number)).id)
            claim = queue.claim()
            assert claim is not None
            claim.dead(error)
    for number, task in enumerate(expired, 100):
        clock: Clock = _Earlier(30 * _DAY)
        with open_queue(folder, settings, clock=clock) as queue:
            found.append(queue.put(_job(task, number)).id)
        with open_queue(folder, settings) as queue:
            queue.replay()
    with open_queue(folder, settings) as queue:
        found += [queue.put(_job(task, number)).id for number, task in enumerate(waiting, 200)]
    return found
