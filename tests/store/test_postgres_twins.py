"""The same acts on a server and in memory leave the same store: events, rows, views, findings, and errors."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reflect_store import TABLES, Draft, SearchQuery, Store, ViewQuery, memory_store

from .stores import Told, ticking
from .tenants import Tenants
from .test_stateful import answer, drafts


def told(store: Store) -> list[object]:
    """Return everything that can be read of a store."""
    query = SearchQuery(("generators", "reader"), ("lang:python",), Told.SIGNATURE)
    view = ViewQuery(Told.SIGNATURE, words=("generators", "reader"), scopes=("lang:python",))
    rows = {table: list(store.iterate(table)) for table in TABLES}
    return [list(store.events()), rows, store.view(view), store.search(query)]


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.lists(drafts(), min_size=1, max_size=6), min_size=2, max_size=5))
def test_a_server_keeps_what_memory_keeps(
    tenants: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: list[list[Draft]]
) -> None:
    """R-s1: whatever is appended, refused, exported, merged in another order, and folded anew."""
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path))
    with tenants.store(clock=ticking()) as server, memory_store(clock=ticking()) as memory:
        for batch in batches:
            assert answer(lambda: server.append(batch)) == answer(lambda: memory.append(batch))  # noqa: B023 - called at once
            assert told(server) == told(memory)
        assert server.verify().problems == ()
        exports = io.BytesIO(), io.BytesIO()
        server.export(exports[0])
        memory.export(exports[1])
        assert exports[0].getvalue() == exports[1].getvalue()
        with tenants.store(clock=ticking()) as other:
            # Its own event is the eldest, so that what is merged is folded in an order of its own.
            other.append([Told.failed("of its own")])
            exports[0].seek(0)
            other.import_(exports[0], "export")
            assert other.verify().problems == ()
