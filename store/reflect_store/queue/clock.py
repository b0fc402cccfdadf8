"""The two clocks of a queue: the calendar, which may jump, and the one that only moves on."""

from __future__ import annotations

import time
from threading import Condition
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """Tells the time and lets it pass; a test has one that jumps."""

    def wall(self) -> float:
        """Return the seconds since 1970; may jump either way."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return after about that long."""
        ...

    def wait(self, change: Condition, seconds: float) -> None:
        """Return when the condition is notified, after that long at the latest."""
        ...


class SystemClock:
    """The clocks of the machine."""

    def wall(self) -> float:
        """Return the seconds since 1970."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let the thread sleep."""
        time.sleep(seconds)

    def wait(self, change: Condition, seconds: float) -> None:
        """Wait for the condition."""
        with change:
            change.wait(seconds)
