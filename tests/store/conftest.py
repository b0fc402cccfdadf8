"""Stores for the tests: every test that takes `store` or `make` runs on each back end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reflect_store import EventStore, Store

from .stores import BACKENDS, Make, Told, ticking


@pytest.fixture(params=list(BACKENDS))
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Return a maker of empty stores of one back end, which share a clock."""
    clock = ticking()
    opened: list[EventStore] = []

    def build() -> EventStore:
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
