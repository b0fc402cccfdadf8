"""The metrics of a queue that whoever can open it can tell: a worker, and a server that captures into it (R-q10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from .tally import counts

if TYPE_CHECKING:
    from reflect_store.queue.counters import Gauges

__all__ = ["QUEUE", "Values", "counted", "put", "sizes"]

QUEUE: Final = "reflectgate_lessonq"
"""How the names begin."""

Values: TypeAlias = Mapping[tuple[str, ...], float]
"""What was counted, by the values of the labels."""

_SIZES: Final[Mapping[str, str]] = {
    "queue_depth": "Jobs that wait.",
    "wal_segments": "Records of jobs that wait or are worked on.",
    "dlq_size": "Dead letters.",
    "queue_ready": "Jobs that are due and that nobody works on.",
    "expired_size": "Jobs that waited for too long and were parked.",
    "oldest_job_age_seconds": "Since the oldest job was put that waits or is worked on; 0 where there is none.",
}


def sizes(found: Gauges) -> Iterator[Metric]:
    """Yield the sizes of a queue."""
    for name, said in _SIZES.items():
        yield GaugeMetricFamily(f"{QUEUE}_{name}", said, value=float(getattr(found, name)))


def put(tallied: Path) -> Metric:
    """Return what became of captures, as they counted it beside the folder `tallied`."""
    said = "What became of captures, over all processes of this machine since the queue was made."
    found: Values = {(name,): number for name, number in counts(tallied).items()}
    return counted(f"{QUEUE}_enqueue", said, ("outcome",), found)


def counted(name: str, said: str, labels: tuple[str, ...], values: Values) -> Metric:
    """Return a counter."""
    family = CounterMetricFamily(name, said, labels=labels)
    for told, value in values.items():
        family.add_metric(list(told), value)
    return family
