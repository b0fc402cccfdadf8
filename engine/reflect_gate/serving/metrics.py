"""Metrics of the server for Prometheus, and of the queue that it captures into; those of gate and model are the worker's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.registry import Collector

__all__ = ["SERVER", "ServerMetrics"]

SERVER: Final = "reflectgate_server"
"""How the names begin."""

_BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class ServerMetrics:
    """What a scrape is answered with; labels are routes, statuses and outcomes, never anything that a request says."""

    def __init__(self, waiting: Callable[[], float], policies: Callable[[], float], queue: Collector | None = None) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            f"{SERVER}_requests", "Requests that were answered.", ("route", "status"), registry=self._registry
        )
        self._answers = Counter(
            f"{SERVER}_answers", "What came of requests that were done.", ("route", "outcome"), registry=self._registry
        )
        self._seconds = Histogram(
            f"{SERVER}_request_seconds",
            "From the head of a request to its answer.",
            ("route",),
            buckets=_BOUNDS,
            registry=self._registry,
        )
        self.open = Gauge(f"{SERVER}_requests_open", "Requests that are being answered.", registry=self._registry)
        gauge = Gauge(f"{SERVER}_requests_waiting", "Requests that wait for a thread.", registry=self._registry)
        gauge.set_function(waiting)
        gauge = Gauge(f"{SERVER}_policies_loaded", "1 while the policies load, else 0.", registry=self._registry)
        gauge.set_function(policies)
        if queue is not None:
            self._registry.register(queue)

    def count(self, route: str, status: int, seconds: float, said: str) -> None:
        """Count an answer; `said` is what came of the request, empty where it was not done."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)
        if said:
            self._answers.labels(route, said).inc()

    def text(self) -> bytes:
        """Return the metrics as they stand, in the text format of Prometheus."""
        return generate_latest(self._registry)
