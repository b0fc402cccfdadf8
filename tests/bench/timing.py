"""Timing in alternating rounds: what a noisy machine does to one contender it soon does to the next.

Every round runs each task once, in turn forwards and backwards. Times are compared within a round, so a ratio is the median of the
rounds' own ratios. What runs in this process is timed by its processor time (of all threads), in which the machine's other work
does not count; other processes are timed by the wall clock.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

__all__ = ["Spread", "Task", "alternate", "ratio", "spread"]


class Task(NamedTuple):
    """Something to time: one call of `step` is `units` of work."""

    step: Callable[[], object]
    units: int = 1
    clock: Callable[[], float] = time.process_time


class Spread(NamedTuple):
    """The median, the least and the greatest of the rounds."""

    median: float
    low: float
    high: float


def _repeats(task: Task, seconds: float) -> int:
    """Return how many calls take about `seconds`, from a second call: the first one warms up."""
    task.step()
    start = task.clock()
    task.step()
    return max(1, round(seconds / max(task.clock() - start, 1e-9)))


def alternate(tasks: Mapping[str, Task], rounds: int, seconds: float) -> dict[str, list[float]]:
    """Return for each task the seconds that a unit took, a value a round.

    Args:
        tasks: what to time, by name.
        rounds: how many rounds.
        seconds: about how long each task runs in a round; 0 for one call.
    """
    repeats = {name: _repeats(task, seconds) for name, task in tasks.items()}
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for number in range(rounds):
        names = list(tasks) if number % 2 == 0 else list(reversed(tasks))
        for name in names:
            step, units, clock = tasks[name]
            start = clock()
            for _ in range(repeats[name]):
                step()
            times[name].append((clock() - start) / (repeats[name] * units))
    return times


def spread(values: Sequence[float]) -> Spread:
    """Return the spread of one value a round."""
    return Spread(statistics.median(values), min(values), max(values))


def ratio(slower: Sequence[float], faster: Sequence[float]) -> Spread:
    """Return how many times `slower` takes the time of `faster`, compared round by round."""
    return spread([above / below for above, below in zip(slower, faster, strict=True)])
