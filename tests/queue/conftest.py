"""Queues for the tests: every test that takes `make` or `queue` runs on each back end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reflect_store.queue import Queue, QueueSettings

from ..postgres_server import Server
from .model import FakeClock, ModelFs
from .queues import BACKENDS, Make

if TYPE_CHECKING:
    from .servers import Database


@pytest.fixture
def clock() -> FakeClock:
    """Return the clocks that all queues of a test share."""
    return FakeClock()


@pytest.fixture(scope="session")
def queue_database(postgres: Server) -> Database:
    """A database of the session's server for queues; tests that ask for it are skipped where there is no server."""
    pytest.importorskip("procrastinate", reason="needs procrastinate (the extra `postgres`)")
    from .servers import Database

    return Database(postgres)


@pytest.fixture(scope="session")
def queue_server(postgres: Server) -> Database:
    """Another such database, where the server goes by its own calendar."""
    pytest.importorskip("procrastinate", reason="needs procrastinate (the extra `postgres`)")
    from .servers import Database

    return Database(postgres)


@pytest.fixture(params=[*BACKENDS, "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Make]:
    """Return what opens the queue of the test."""
    fs = ModelFs()
    with ExitStack() as stack:
        database: Database | None = None
        if request.param == "postgres":
            database = request.getfixturevalue("queue_database")
            stack.enter_context(database.going_by(clock))

        def build(settings: QueueSettings | None = None) -> Queue:
            queue: Queue = database.open(settings, clock) if database else BACKENDS[request.param](tmp_path, clock, settings, fs)
            stack.callback(queue.close)
            return queue

        yield build


@pytest.fixture
def queue(make: Make) -> Queue:
    """Return an empty queue; annotated as what its users know of it."""
    return make()
