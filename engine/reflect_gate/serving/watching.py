"""How the queue stands that captures are put into, for whoever scrapes the server.

It is looked at when somebody asks, at most every few seconds, and by a thread of its own: a queue that hangs holds up that thread
alone, and is told as one that is away.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ..capture.gauging import QUEUE, put, sizes
from ..capture.settings import read_settings

if TYPE_CHECKING:
    from reflect_store.queue import Queue
    from reflect_store.queue.counters import Gauges

    from ..capture.settings import Settings

__all__ = ["QueueWatch"]

_KEPT: Final = 5.0
"""Seconds for which what was seen is told again."""
_PATIENCE: Final = 2.0
"""Seconds that a scrape waits for a look; then the queue is away for it."""
_LOCK: Final = 1.0
"""Seconds that a look waits for others who have the queue."""


class _Seen(NamedTuple):
    """What a look found: whether there is a queue, its sizes unless it is away, and beside which folder captures count."""

    there: bool = False
    sizes: Gauges | None = None
    tallied: Path | None = None


class QueueWatch(Collector):
    """The metrics of the queue; none where there is no queue, as before the first capture into a folder."""

    def __init__(self, *, kept: float = _KEPT, patience: float = _PATIENCE) -> None:
        self._kept = kept
        self._patience = patience
        self._change = threading.Condition()
        self._looking = False
        self._late = False
        self._seen, self._at = _Seen(), float("-inf")
        self._queue: Queue | None = None
        self._opened: str | os.PathLike[str] | None = None

    def describe(self) -> list[Metric]:
        """Return nothing: names are known from the first answer."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as they stood a few seconds ago at most."""
        seen = self._now()
        if not seen.there:
            return
        up = seen.sizes is not None
        yield GaugeMetricFamily(f"{QUEUE}_up", "1 while the queue can be looked at, else 0.", value=float(up))
        if seen.tallied is not None:
            yield put(seen.tallied)
        if seen.sizes is not None:
            yield from sizes(seen.sizes)

    def close(self) -> None:
        """Let the queue go, unless a look at it is under way: that ends with the process."""
        with self._change:
            if not self._looking:
                self._let_go()

    def _now(self) -> _Seen:
        with self._change:
            if not self._looking and time.monotonic() - self._at >= self._kept:
                self._looking = True
                self._late = False
                threading.Thread(target=self._look, name="queue-watch", daemon=True).start()
            # Who comes while a look is known to hang does not wait for it too.
            if self._looking and not self._late and not self._change.wait_for(lambda: not self._looking, self._patience):
                self._late = True
            return self._seen._replace(there=True, sizes=None) if self._looking else self._seen

    def _look(self) -> None:
        seen = self._found()
        with self._change:
            self._seen, self._at, self._looking = seen, time.monotonic(), False
            self._change.notify_all()

    def _found(self) -> _Seen:
        tallied = self._seen.tallied
        try:
            settings = read_settings()
            place, tallied = settings.place, settings.tallied
            if not settings.queue_enabled or (isinstance(place, Path) and not place.is_dir()):
                self._let_go()
                return _Seen()
            return _Seen(True, self._open(settings).gauges(), tallied)
        except Exception:  # noqa: BLE001 - whatever it is: captures cannot be put either, and a scrape says so
            self._let_go()
            return _Seen(True, None, tallied)

    def _open(self, settings: Settings) -> Queue:
        from reflect_store.queue import open_at

        if self._queue is None or self._opened != settings.place:
            self._let_go()
            patient = settings.queue()._replace(block_timeout=0.0, lock_timeout=_LOCK)
            self._queue, self._opened = open_at(settings.place, patient), settings.place
        return self._queue

    def _let_go(self) -> None:
        queue, self._queue = self._queue, None
        if queue is not None:
            with suppress(Exception):
                queue.close()
