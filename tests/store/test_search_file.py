"""The search index in the file of a store: damaged from outside, and read by its indexes alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from reflect_store import SearchQuery, StoreError, open_store
from reflect_store._sqlite_rows import _statement

from .stores import Told
from .test_sqlite import connection_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a store will be."""
    return tmp_path / "home" / "store.db"


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE search_index_data SET block = x'ffffffffffffffff' WHERE id = 10",
        "UPDATE search_index_data SET block = zeroblob(40) WHERE id > 10",
        "DELETE FROM search_index_data WHERE id > 10",
        "DELETE FROM search_index_data",
        "DELETE FROM search_index_config",
    ],
)
def test_a_damaged_search_index_is_named_and_can_be_made_anew(path: Path, damage: str) -> None:
    """R-s1: events and rows are whole, so what to do is `store rebuild`, not a backup; nothing is written until then."""
    with open_store(path, create=True) as store:
        store.append([Told.admitted("l-1"), Told.admitted("l-2")])
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(damage)
    with open_store(path, read_only=True) as reader:
        assert reader.verify().problems == ("search: the index is not what the lessons say",)
    with open_store(path) as store:
        assert store.rebuild().changed == 1
        assert store.verify().sound
        assert [found.lesson_id for found in store.search(SearchQuery(("generator",)))] == ["l-1", "l-2"]
        store.append([Told.admitted("l-3")])
    with open_store(path, read_only=True) as reader:
        assert reader.verify().sound


def test_who_meets_a_damaged_search_index_is_told_what_to_do(path: Path) -> None:
    """R-h1: a search that cannot be answered is no empty answer."""
    with open_store(path, create=True) as store:
        store.append([Told.admitted("l-1")])
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("DELETE FROM search_index_data WHERE id > 10")
    with open_store(path) as store:
        with pytest.raises(StoreError, match="store rebuild") as caught:
            store.search(SearchQuery(("generator",)))
        assert caught.value.code == "store-corrupt"
        assert store.rebuild().changed == 1
        assert len(store.search(SearchQuery(("generator",)))) == 1


def test_a_view_is_read_by_indexes_alone(path: Path) -> None:
    """R-P6: no part of a view walks a table, so that a view costs the same in a large store."""
    with open_store(path, create=True) as store:
        connection = connection_of(store)
        for table, where in (
            ("edges", ("signature",)),
            ("terminations", ("signature",)),
            ("candidates", ("signature", "status")),
            ("corroborations", ("lesson_id",)),
        ):
            for name in ("select_newest", "select_oldest"):
                plan = connection.execute(
                    f"EXPLAIN QUERY PLAN {_statement(name, table, where)}", ("",) * (len(where) + 4)
                ).fetchall()
                asked = " AND ".join(f"{column}=?" for column in where)
                assert [step[3] for step in plan if asked in step[3] and "USING INDEX" in step[3]], (table, plan)
                assert not [step[3] for step in plan if "TEMP B-TREE" in step[3]], (table, plan)
