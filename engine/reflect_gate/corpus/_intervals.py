"""Shares with 95 % intervals: Wilson's for records that are independent, a bootstrap over tasks for records that are not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, NamedTuple, TypeAlias

from ..intervals import Interval, wilson

__all__ = ["RESAMPLES", "Row", "Share", "bootstrap", "quotient", "share"]

RESAMPLES = 1_000
"""Resamples of a bootstrap: the ends of an interval are then good to about a percentage point."""

_LEAST_RESAMPLES = 40

Row: TypeAlias = tuple[str, Sequence[float]]
"""A record's task, and what it adds to each count."""


class Share(NamedTuple):
    """`hits` of `n` records. The intervals are `None` where nothing was counted, or where one task alone was."""

    hits: int
    n: int
    wilson: Interval | None
    cluster: Interval | None

    @property
    def value(self) -> float | None:
        """The share, `None` of nothing."""
        return self.hits / self.n if self.n else None

    def to_json(self) -> dict[str, Any]:
        """Return the share as data, rounded to four places."""
        rounded = None if self.value is None else round(self.value, 4)
        return {
            "hits": self.hits,
            "n": self.n,
            "share": rounded,
            "wilson": _rounded(self.wilson),
            "cluster": _rounded(self.cluster),
        }


def _rounded(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [round(end, 4) for end in interval]


def quotient(counts: Sequence[float]) -> float | None:
    """Return the first count by the second, `None` where that is 0."""
    return counts[0] / counts[1] if counts[1] else None


def bootstrap(
    rows: Iterable[Row], statistic: Callable[[Sequence[float]], float | None], seed: str, resamples: int = RESAMPLES
) -> Interval | None:
    """Return the 2.5th and 97.5th percentile of a statistic of summed counts over resampled tasks.

    Whole tasks are drawn with replacement, since the records of one task fail alike. A resample in which the statistic is not
    defined is left out; `None` where there are fewer than two tasks or too few resamples are left. Seeded by `seed` alone.
    """
    by_task: dict[str, list[float]] = {}
    for task, counts in rows:
        known = by_task.setdefault(task, [0] * len(counts))
        for index, count in enumerate(counts):
            known[index] += count
    tasks, rng, found = list(by_task.values()), Random(seed), []  # noqa: S311 - a resample is to be repeatable, not secret
    if len(tasks) < 2:
        return None
    for _ in range(resamples):
        value = statistic([sum(column) for column in zip(*rng.choices(tasks, k=len(tasks)), strict=True)])
        if value is not None:
            found.append(value)
    if len(found) < min(resamples, _LEAST_RESAMPLES):
        return None
    found.sort()
    return _at(found, 0.025), _at(found, 0.975)


def _at(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def share(records: Iterable[tuple[str, bool]], seed: str, resamples: int = RESAMPLES) -> Share:
    """Return how many of `records` (task, counted or not) were counted, with both intervals."""
    found = [(task, int(hit)) for task, hit in records]
    rows: list[Row] = [(task, (hit, 1)) for task, hit in found]
    hits = sum(hit for _, hit in found)
    return Share(hits, len(rows), wilson(hits, len(rows)), bootstrap(rows, quotient, seed, resamples))
