"""Stores for the tests: every test that takes `store` or `make` runs on each back end."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reflect_store import EventStore, Store

from .stores import BACKENDS, Make, Told, ticking

if TYPE_CHECKING:
    from .tenants import Tenants

# Without the driver nothing of a server can be tried; the other tests say so where they are skipped.
collect_ignore_glob = [] if importlib.util.find_spec("psycopg") else ["test_postgres*.py"]


@pytest.fixture(params=[*BACKENDS, "postgresql"])
def make(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Return a maker of empty stores of one back end, which share a clock."""
    clock = ticking()
    opened: list[EventStore] = []
    shared: Tenants | None = None
    if request.param == "postgresql":
        shared = request.getfixturevalue("tenants")
        monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path / "cache"))

    def build() -> EventStore:
        if shared is not None:
            store = shared.store(clock=clock)
        else:
            store = BACKENDS[request.param](tmp_path / f"{len(opened)}" / "store.db", clock)
        opened.append(store)
        return store

    yield build
    for store in opened:
        store.close()


@pytest.fixture
def store(make: Make) -> Store:
    """Return an empty store; annotated as what the gate knows of it."""
    return make()


@pytest.fixture
def told() -> type[Told]:
    """Return the makers of events."""
    return Told


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes of the node lie in the test's own folder."""
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def kept(tenants: Tenants) -> Iterator[EventStore]:
    """An empty store on a server, of a tenant of its own."""
    with tenants.store() as store:
        yield store
