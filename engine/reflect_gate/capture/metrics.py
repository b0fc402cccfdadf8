"""Metrics of a worker for Prometheus: the ten of S1, and what gate and model did (R-q10).

Nothing is counted here: each scrape reads the queue's counters and sizes, what captures counted, and the day's outcomes. A worker
without `--metrics-port` does not import this, nor prometheus_client.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from reflect_store import StoreError
from reflect_store.queue.counters import BOUNDS

from ..errors import ReflectGateError
from .gauging import QUEUE, Values, counted, put, sizes
from .spending import Tail

if TYPE_CHECKING:
    from reflect_store.queue import Queue

    from .spending import Calls
    from .working import Worker

__all__ = ["GATE", "QUEUE", "Metrics", "serve"]

GATE: Final = "reflectgate"
"""How the names begin that are not the queue's."""

_LABEL: Final = 64


def serve(host: str, port: int, worker: Worker) -> int:
    """Serve the metrics of a worker at an address, on a free port where `port` is 0; return the port.

    The thread that serves ends with the process.

    Raises:
        ReflectGateError: `io`: the port is taken, or the address is not one of this machine.
    """
    registry = CollectorRegistry()
    registry.register(Metrics(worker.queue, worker.calls, worker.outcomes, worker.settings.tallied))
    try:
        server, _ = start_http_server(port, addr=host, registry=registry)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ReflectGateError("io", f"cannot serve metrics at `{host}`, port `{port}`: {reason}") from None
    return int(server.server_port)


class Metrics(Collector):
    """What a scrape is answered with; a part that cannot be read is left out. `outcomes` are counted from where it stands."""

    def __init__(self, queue: Queue, calls: Calls, outcomes: Tail | None = None, tallied: Path | None = None) -> None:
        self._queue = queue
        self._tallied = tallied or Path(queue.place)
        self._calls = calls
        self._outcomes = _Outcomes(outcomes or Tail(calls))

    def describe(self) -> list[Metric]:
        """Return nothing: names are known from the first answer."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield every metric as it stands."""
        yield put(self._tallied)
        yield from self._worked()
        yield from self._sizes()
        yield from self._outcomes.metrics()
        yield from self._money()

    def _worked(self) -> Iterator[Metric]:
        told = self._queue.counters
        by_outcome: Values = {(name,): count for name, count in told.attempts.copy().items()}
        yield counted(f"{QUEUE}_attempts", "Attempts by how they ended.", ("outcome",), by_outcome)
        yield self._lengths()
        retries: Values = {(str(number),): count for number, count in told.retries.copy().items()}
        said = "Attempts that are made again, by the number of the one that failed."
        yield counted(f"{QUEUE}_retry", said, ("attempt",), retries)
        for name, said in _TOTALS.items():
            yield counted(f"{QUEUE}_{name}", said, (), {(): getattr(told, name)})

    def _lengths(self) -> Metric:
        told = self._queue.counters
        family = HistogramMetricFamily(
            f"{QUEUE}_processing_duration_seconds", "From the claim of a job to its outcome.", labels=["outcome"]
        )
        for outcome, found in told.processing_buckets.copy().items():
            cumulated, buckets = 0, []
            for bound, count in zip([*map(str, BOUNDS), "+Inf"], found, strict=True):
                cumulated += count
                buckets.append((bound, float(cumulated)))
            family.add_metric([outcome], buckets, told.processing_seconds.get(outcome, 0.0))
        return family

    def _sizes(self) -> Iterator[Metric]:
        try:
            found = self._queue.gauges()
        except StoreError:
            return
        yield from sizes(found)

    def _money(self) -> Iterator[Metric]:
        try:
            spent = self._calls.spent()
        except OSError:
            return
        said = "Dollars that the calls of this day (UTC) cost."
        yield GaugeMetricFamily(f"{GATE}_spent_today_dollars", said, value=float(spent.settled))
        said = "Dollars that are set aside for calls that have not ended."
        yield GaugeMetricFamily(f"{GATE}_reserved_today_dollars", said, value=float(spent.reserved))
        if self._calls.limit is not None:
            said = "Dollars that the calls of a day may cost."
            yield GaugeMetricFamily(f"{GATE}_daily_limit_dollars", said, value=float(self._calls.limit))


_TOTALS: Final[Mapping[str, str]] = {
    "wal_corruption": "Damaged records that were set aside.",
    "stale_discarded": "Jobs that waited for too long and were parked.",
    "persist_failures": "Attempts whose result could not be kept.",
    "write_failures": "Changes of a record that could not be written down.",
    "unreadable": "Records that could not be read and were left where they are.",
}


class _Outcomes:
    """Totals of what came of failures, read on from where the last scrape ended."""

    def __init__(self, tail: Tail) -> None:
        self._tail = tail
        self._guard = threading.Lock()
        self._failures: Counter[tuple[str, ...]] = Counter()
        self._decisions: Counter[tuple[str, ...]] = Counter()
        self._reasons: Counter[tuple[str, ...]] = Counter()
        self._calls: Counter[tuple[str, ...]] = Counter()
        self._tokens: Counter[tuple[str, ...]] = Counter({(kind,): 0 for kind in ("input", "cached", "output")})
        self._dollars = Decimal(0)
        self._seconds = 0.0

    def metrics(self) -> Iterator[Metric]:
        """Yield the metrics of gate and model, of all outcomes that are noted by now."""
        with self._guard:
            try:
                for line in self._tail.read():
                    self._take(line)
            except OSError:
                return
            yield from self._families()

    def _take(self, line: Mapping[str, Any]) -> None:
        route, kind, reason = str(line["route"]), str(line["kind"]), _label(line.get("reason"))
        self._failures[route, kind, str(line.get("trigger", ""))] += 1
        if line.get("status"):
            self._decisions[route, str(line["status"]), reason] += 1
        elif reason:
            self._reasons[route, kind, reason] += 1
        call = line.get("call")
        if not call:
            return
        self._calls[_label(call["model"]),] += 1
        cached, prompt = call["cached_tokens"] or 0, call["prompt_tokens"] or 0
        self._tokens["input",] += prompt - cached
        self._tokens["cached",] += cached
        self._tokens["output",] += call["completion_tokens"] or 0
        self._dollars += Decimal(call["cost"] or 0)
        self._seconds += call["latency_ms"] / 1000

    def _families(self) -> Iterator[Metric]:
        said = "What came of failures: reflection, skip, violation, not_reflected, known."
        yield counted(f"{GATE}_failures", said, ("route", "kind", "trigger"), self._failures)
        yield counted(f"{GATE}_decisions", "Decisions of the gate.", ("route", "verdict", "reason"), self._decisions)
        said = "Why a failure gave no candidate: the code of a violation, or why it was not reflected on."
        yield counted(f"{GATE}_no_candidate", said, ("route", "kind", "reason"), self._reasons)
        yield counted(f"{GATE}_model_calls", "Calls of the model that were answered.", ("model",), self._calls)
        said = "Tokens as the server counted them; input is without what it had in its cache."
        yield counted(f"{GATE}_model_tokens", said, ("kind",), self._tokens)
        yield counted(f"{GATE}_model_cost_dollars", "Dollars that answered calls cost.", (), {(): float(self._dollars)})
        yield counted(f"{GATE}_model_call_seconds", "Seconds that answered calls took.", (), {(): self._seconds})


def _label(value: object) -> str:
    """Return the code at the beginning of a reason: what follows a colon differs from failure to failure."""
    return str(value or "").partition(":")[0].strip()[:_LABEL]
