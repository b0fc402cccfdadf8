"""A database for queues: empty for each test, and with a calendar that the test moves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from reflect_store.queue import QueueSettings
from reflect_store.queue.postgres.keeper import Lease
from reflect_store.queue.postgres.link import SQL
from reflect_store.queue.postgres.server import ServerQueue, open_server

from ..postgres_server import Server
from .model import FakeClock
from .queues import middle

__all__ = ["Database"]

_NUMBERS = itertools.count(1)

# The functions of the queue look here for `now()` before they look among the server's own.
_CALENDAR = """
CREATE TABLE reflect_gate_queue.calendar (at double precision NOT NULL);
INSERT INTO reflect_gate_queue.calendar VALUES (0);
CREATE FUNCTION reflect_gate_queue.now() RETURNS timestamptz LANGUAGE sql STABLE
AS $$ SELECT pg_catalog.to_timestamp(at) FROM reflect_gate_queue.calendar $$;
"""
_EMPTY = """
TRUNCATE reflect_gate_queue.jobs, reflect_gate_queue.expired, reflect_gate_queue.quarantine,
    reflect_gate_queue.procrastinate_jobs, reflect_gate_queue.procrastinate_workers, reflect_gate_queue.procrastinate_events,
    reflect_gate_queue.procrastinate_periodic_defers;
"""


class Database:
    """One database of a server, owned by a role that is no superuser."""

    def __init__(self, server: Server) -> None:
        self.server = server
        number = next(_NUMBERS)
        self.name, self.owner = f"queue{number}", f"owner_of_queue{number}"
        with psycopg.connect(server.local(), autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {self.owner} LOGIN".encode())
            connection.execute(f"CREATE DATABASE {self.name} OWNER {self.owner}".encode())
        self._clock: FakeClock | None = None

    @property
    def url(self) -> str:
        """The address of the queue, for its owner."""
        return self.server.local(self.owner, self.name)

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """Yield a connection of the owner, which runs each statement by itself."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            yield connection

    def grant(self) -> None:
        """Give the writers' role its rights, as the making of the tables does where the role is there by then."""
        with self.connected() as connection:
            connection.execute(SQL["grant"].encode())

    def empty(self) -> None:
        """Remove every job; the tables are made where they are absent."""
        self.open().close()
        with self.connected() as connection:
            connection.execute(_EMPTY.encode())

    @contextmanager
    def going_by(self, clock: FakeClock) -> Iterator[None]:
        """Empty the queue, and let the server go by the calendar of a test."""
        self.empty()
        with self.connected() as connection:
            if connection.execute("SELECT to_regclass('reflect_gate_queue.calendar')").fetchone() == (None,):
                connection.execute(_CALENDAR.encode())
            connection.execute("SET synchronous_commit = off")

            def tell(seconds: float) -> None:
                connection.execute("UPDATE reflect_gate_queue.calendar SET at = %s", (seconds,))

            tell(clock.now)
            clock.told.append(tell)
            try:
                yield
            finally:
                clock.told.remove(tell)

    def open(
        self, settings: QueueSettings | None = None, clock: FakeClock | None = None, lease: Lease | None = None
    ) -> ServerQueue:
        """Open the queue, as another process would."""
        return open_server(self.url, (settings or QueueSettings()).check(), clock=clock, rng=middle, lease=lease)
