"""Queues for the tests: every test that takes `make` or `queue` runs on each back end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reflect_store.queue import Queue, QueueSettings

from .model import FakeClock, ModelFs
from .queues import BACKENDS, Make


@pytest.fixture
def clock() -> FakeClock:
    """Return the clocks that all queues of a test share."""
    return FakeClock()


@pytest.fixture(params=list(BACKENDS))
def make(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Make]:
    """Return what opens the queue of the test."""
    fs = ModelFs()
    opened: list[Queue] = []

    def build(settings: QueueSettings | None = None) -> Queue:
        queue = BACKENDS[request.param](tmp_path, clock, settings, fs)
        opened.append(queue)
        return queue

    yield build
    for queue in opened:
        queue.close()


@pytest.fixture
def queue(make: Make) -> Queue:
    """Return an empty queue; annotated as what its users know of it."""
    return make()
