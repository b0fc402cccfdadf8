"""Large imports make the search index once, at their end, and it is the index that one event after the other makes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from reflect_store import EventStore, SearchQuery, StoreError, exchange
from reflect_store._fts import FtsIndex

from .stores import BACKENDS, Make, Told, ticking


@pytest.fixture(params=[*BACKENDS])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Return a maker of empty stores of one back end that keeps its index with its rows, which share a clock."""
    clock, opened = ticking(), list[EventStore]()

    def build() -> EventStore:
        opened.append(BACKENDS[request.param](tmp_path / f"{len(opened)}" / "store.db", clock))
        return opened[-1]

    yield build
    for store in opened:
        store.close()


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every import is a large one."""
    monkeypatch.setattr(exchange, "MANY", 1)


def exported(make: Make, told: type[Told]) -> bytes:
    """Return an export of lessons that are born, flagged, restored, demoted and retired."""
    store = make()
    texts = {
        "l-1": "Close the pool before forking.",
        "l-2": "Pin the locale.",
        "l-3": "Wait for the replica.",
        "l-4": "Close files.",
    }
    store.append([told.admitted(name, statement=text) for name, text in texts.items()])
    store.append(
        [told.flagged("x-1", "l-1", withdraws=True), told.demoted("l-2", "l-5"), told.changed("retired", "l-3", tombstone_id="t")]
    )
    store.append([told.resolved("x-1"), told.changed("retired", "l-4", tombstone_id="t")])
    stream = io.BytesIO()
    store.export(stream)
    return stream.getvalue()


def entries(store: EventStore) -> list[Any]:
    """Return all that the index of a store holds."""
    with store.backend.reading() as transaction, closing(transaction.rows.index.entries()) as batches:
        return [tuple(row) for batch in batches for row in batch]


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Yield how often the index was made anew."""
    made: list[int] = []
    write = FtsIndex._write_anew

    def count(index: FtsIndex) -> None:
        made.append(1)
        write(index)

    monkeypatch.setattr(FtsIndex, "_write_anew", count)
    yield made


def test_both_ways_make_the_same_index(make: Make, told: type[Told], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever happened to the lessons meanwhile; chain, rows and index verify."""
    lines = exported(make, told)
    slow, quick = make(), make()
    slow.import_(io.BytesIO(lines), "export")
    monkeypatch.setattr(exchange, "MANY", 1)
    with counted(monkeypatch) as made:
        quick.import_(io.BytesIO(lines), "export")
    assert made == [1]
    assert entries(quick) == entries(slow) != []
    assert quick.verify().sound
    assert [found.lesson_id for found in quick.search(SearchQuery(("forking",)))] == ["l-1"]


@pytest.mark.usefixtures("always")
def test_an_import_that_adds_nothing_makes_nothing(make: Make, told: type[Told], monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is imported again costs its reading."""
    lines, store = exported(make, told), make()
    store.import_(io.BytesIO(lines), "export")
    with counted(monkeypatch) as made:
        store.import_(io.BytesIO(lines), "export")
    assert made == []


@pytest.mark.usefixtures("always")
def test_a_few_events_for_a_larger_store_are_indexed_one_by_one(
    make: Make, told: type[Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a small import would cost what the whole store does."""
    small, large = make(), make()
    large.append([told.admitted(f"l-{number}") for number in range(3)])
    small.append([told.admitted("l-9")])
    stream = io.BytesIO()
    small.export(stream)
    with counted(monkeypatch) as made:
        large.import_(io.BytesIO(stream.getvalue()), "export")
    assert (list(made), large.count("lessons")) == ([], 4)
    assert large.verify().sound


@pytest.mark.usefixtures("always")
def test_an_import_that_fails_leaves_the_index_as_it_was(make: Make, told: type[Told]) -> None:
    """And the next event is indexed at once again."""
    lines, store = exported(make, told), make()
    store.append([told.admitted("l-8", statement="Escape the pattern.")])
    before = entries(store)
    with pytest.raises(StoreError, match="ends at event"):
        store.import_(io.BytesIO(lines[: lines.rindex(b"\n", 0, -1) + 1]), "export")
    assert entries(store) == before
    store.append([told.admitted("l-7", statement="Rename the draft.")])
    assert [found.lesson_id for found in store.search(SearchQuery(("draft",)))] == ["l-7"]
