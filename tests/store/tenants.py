"""A database with a store, and tenants in it: every store that a test asks for is that of a tenant of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import psycopg

from reflect_store import EventStore, open_store

from ..postgres_server import Server
from .stores import ticking

__all__ = ["Tenants"]

_NUMBERS = itertools.count(1)


class Tenants:
    """One database of a server, which `owner` owns, a role that is no superuser and is bound by the policies as others are."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.database = f"reflect{next(_NUMBERS)}"
        self.owner = f"owner_of_{self.database}"
        with self.connected(database="postgres") as connection:
            connection.execute(f"CREATE ROLE {self.owner} LOGIN".encode())
            connection.execute(f"CREATE DATABASE {self.database} OWNER {self.owner}".encode())
        open_store(self.url(self.owner), create=True).close()

    def fresh(self) -> str:
        """Return the address of a new database without a store, for its owner."""
        name = f"fresh{next(_NUMBERS)}"
        with self.connected(database="postgres") as connection:
            connection.execute(f"CREATE DATABASE {name} OWNER {self.owner}".encode())
        return self.server.local(self.owner, name)

    def url(self, role: str) -> str:
        """Return the address of the store for a role."""
        return self.server.local(role, self.database)

    @contextmanager
    def connected(self, role: str = "postgres", database: str | None = None) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """Yield a connection of a role, which runs each statement by itself."""
        with psycopg.connect(self.server.local(role, database or self.database), autocommit=True) as connection:
            yield connection

    def role(self, tenant: str | None = None, *groups: str) -> str:
        """Return a new role that may log in: of a tenant, and a member of some groups."""
        name = f"role_{next(_NUMBERS)}"
        with self.connected() as connection:
            connection.execute(f"CREATE ROLE {name} LOGIN".encode())
            for group in groups:
                connection.execute(f"GRANT {group} TO {name}".encode())
            if tenant is not None:
                connection.execute("SELECT reflect_gate.assign(%s, %s)", (name, tenant))
        return name

    def store(self, tenant: str | None = None, *, clock: Callable[[], datetime] | None = None) -> EventStore:
        """Return an empty store: that of a new tenant, opened by a role with the owner's rights."""
        name = tenant or f"tenant {next(_NUMBERS)}"
        return open_store(self.url(self.role(name, self.owner)), create=True, clock=clock or ticking())
