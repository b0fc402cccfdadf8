"""How often somebody may ask: a bucket for each, filled at a steady rate."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

__all__ = ["Buckets"]

_MOST: Final = 10_000
"""Buckets that are kept; the one that was asked for longest ago goes first, which can only be to its owner's favour."""


class Buckets:
    """A bucket of `burst` requests for each key, which `rate` requests a second fill; a rate of 0 allows everything."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str) -> float:
        """Take one request; return 0, or the seconds after which there is one to take."""
        if not self._rate:
            return 0.0
        with self._lock:
            moment = self._clock()
            left, since = self._kept.pop(key, (self._burst, moment))
            left = min(self._burst, left + (moment - since) * self._rate)
            allowed = left >= 1
            self._kept[key] = (left - 1 if allowed else left, moment)
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate
