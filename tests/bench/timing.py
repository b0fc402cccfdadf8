"""Timing in alternating rounds: what a noisy machine does to one contender it soon does to the next.

Every round takes one sample of each, in turn forwards and backwards. Times are compared within a round, so a ratio is the median
of the rounds' own ratios. What runs inside a process is timed by its processor time (of all threads), in which the other work of
the machine does not count; starting a process is timed by the wall clock.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

__all__ = ["Sampler", "Spread", "alternate", "ratio", "sampler", "spread", "timed"]

Sampler: TypeAlias = Callable[[], float]
"""Does some work and returns the seconds that a unit of it took."""


class Spread(NamedTuple):
    """The median, the least and the greatest of the rounds."""

    median: float
    low: float
    high: float


def sampler(step: Callable[[], object], units: int, seconds: float) -> Sampler:
    """Return what samples `step`, of which one call is `units` of work, repeated so often as to take about `seconds`."""
    step()
    start = time.process_time()
    step()
    repeats = max(1, round(seconds / max(time.process_time() - start, 1e-9)))

    def sample() -> float:
        begun = time.process_time()
        for _ in range(repeats):
            step()
        return (time.process_time() - begun) / (repeats * units)

    return sample


def timed(step: Callable[[], object]) -> Sampler:
    """Return what samples one call of `step` by the wall clock, after a first call that warms up."""
    step()

    def sample() -> float:
        begun = time.perf_counter()
        step()
        return time.perf_counter() - begun

    return sample


def alternate(samplers: Mapping[str, Sampler], rounds: int) -> dict[str, list[float]]:
    """Return for each sampler its seconds, a value a round."""
    times: dict[str, list[float]] = {name: [] for name in samplers}
    names = list(samplers)
    for number in range(rounds):
        for name in names if number % 2 == 0 else reversed(names):
            times[name].append(samplers[name]())
    return times


def spread(values: Sequence[float]) -> Spread:
    """Return the spread of one value a round."""
    return Spread(statistics.median(values), min(values), max(values))


def ratio(slower: Sequence[float], faster: Sequence[float]) -> Spread:
    """Return how many times `slower` takes the time of `faster`, compared round by round."""
    return spread([above / below for above, below in zip(slower, faster, strict=True)])
