"""The faster index beside a large store: the same interface, always up to date, and never needed."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_store import EventStore, SearchQuery, open_store
from reflect_store import _tantivy as beside
from reflect_store.searching import Sought
from reflect_store.sqlite import SqliteBackend

from .scale import Words, _questions, build
from .stores import Told, ticking
from .test_search import ANYTHING

pytestmark = pytest.mark.skipif(not beside.installed(), reason="the extra `search` (tantivy) is not installed")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a store will be."""
    return tmp_path / "store.db"


def names(store: EventStore, *words: str, scopes: tuple[str, ...] = (), limit: int = 50) -> list[str]:
    """Return the ids that a search finds, in order."""
    return [found.lesson_id for found in store.search(SearchQuery(words, scopes, limit=limit))]


def answers(store: EventStore) -> bool:
    """Return whether tantivy answers, rather than the index in the file."""
    backend = store.backend
    assert isinstance(backend, SqliteBackend)
    with backend.reading() as transaction:
        return backend._beside.search(Sought(("generator",), (), ()), 1, transaction) is not None


def test_it_finds_what_the_index_in_the_file_finds(path: Path) -> None:
    """R-h1: on a test set both find the same lessons, and mostly the same ones first: their BM25 differ in the idf."""
    with open_store(path, create=True, search="fts5") as plain, open_store(path, search="tantivy") as faster:
        build(plain, 300, Words(3))
        same = whole = 0
        for asked, scopes in _questions(Words(4), 40):
            query = SearchQuery(asked, scopes, limit=300)
            mine, theirs = names(faster, *asked, scopes=scopes, limit=300), names(plain, *asked, scopes=scopes, limit=300)
            assert set(mine) == set(theirs), query
            same += len(set(mine[:5]) & set(theirs[:5]))
            whole += len(theirs[:5])
        assert whole > 50
        assert same / whole > 0.8
        assert answers(faster)


def test_it_follows_every_event(path: Path) -> None:
    """R-h1: born, flagged, resolved, demoted, retired, restored: the next search knows, also one of another process."""
    steps = [
        ([Told.admitted("l-1"), Told.admitted("l-2", statement="Close the generator")], ["l-1", "l-2"]),
        ([Told.flagged("x", "l-1", withdraws=True)], ["l-2"]),
        ([Told.resolved("x")], ["l-1", "l-2"]),
        ([Told.demoted("l-1", "l-3")], ["l-2", "l-3"]),
        ([Told.changed("retired", "l-2", tombstone_id="t")], ["l-3"]),
        ([Told.changed("restored", "l-2", level="episodic", undoes="e")], ["l-2", "l-3"]),
        ([Told.changed("superseded", "l-2", by="l-3")], ["l-3"]),
    ]
    with open_store(path, create=True, search="tantivy") as store, open_store(path, search="tantivy") as other:
        for drafts, left in steps:
            store.append(drafts)
            assert sorted(names(store, "generator")) == left
            assert sorted(names(other, "generators")) == left
            assert answers(store)


def test_what_is_shown_and_how_it_went_writes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every task recalls lessons and has an outcome: neither changes what is searched, so nothing is indexed anew."""
    with open_store(path, create=True, search="tantivy") as store:
        store.append([Told.admitted("l-1")])
        assert names(store, "generator") == ["l-1"]
        written: list[int] = []
        monkeypatch.setattr(beside.TantivyIndex, "_write", lambda *_, **__: written.append(1))
        store.append([Told.recalled("r-1", "l-1"), Told.outcome("o-1", "l-1")])
        assert names(store, "generator") == ["l-1"]
        assert written == []
        store.append([Told.flagged("x", "l-1", withdraws=True)])
        names(store, "generator")
        assert written == [1]


def test_ties_are_broken_by_id(path: Path) -> None:
    """R-h1: as in the file, and where the limit parts equals, the elder stay."""
    with open_store(path, create=True, search="tantivy") as store:
        store.append([Told.admitted(name) for name in ("b", "c", "a")])
        assert names(store, "generator") == ["a", "b", "c"]
        assert names(store, "generator", limit=2) == ["b", "c"]


def test_what_was_redacted_is_in_no_byte_beside_the_store(path: Path) -> None:
    """R-s1: the copy goes when anything is erased, and is made anew without it."""
    with open_store(path, create=True, search="tantivy") as store, open_store(path, search="tantivy") as other:
        store.append([Told.admitted("l-1", statement="hunter2xyz generator"), Told.admitted("l-2")])
        assert names(store, "hunter2xyz") == names(other, "hunter2xyz") == ["l-1"]
        store.redact(text="hunter2xyz", reason="a credential")
        for kept in (store, other):
            assert names(kept, "hunter2xyz", "generator") == ["l-2"]
        assert answers(other)
        files = [file.read_bytes() for file in path.parent.rglob("*") if file.is_file()]
        assert b"hunter2xyz" not in b"".join(files)


@pytest.mark.parametrize("damage", ["no folder", "no mark", "a foreign mark", "no file but the mark", "no parts", "junk"])
def test_a_damaged_copy_is_made_anew(path: Path, damage: str) -> None:
    """It can be thrown away at any time, whole or in part."""
    folder = path.with_name("store.db.search")
    with open_store(path, create=True, search="tantivy") as store:
        store.append([Told.admitted("l-1")])
        assert names(store, "generator") == ["l-1"]
    if damage == "no folder":
        shutil.rmtree(folder)
    elif damage == "no mark":
        (folder / "mark.json").unlink()
    elif damage == "a foreign mark":
        (folder / "mark.json").write_text('{"format": 1, "seq": 7, "hash": "x"}')
    else:
        for file in folder.iterdir():
            if damage == "junk":
                file.write_bytes(b"junk")
            elif file.name != "mark.json" and (damage != "no parts" or file.suffix != ".json"):
                file.unlink()
    with open_store(path, search="tantivy") as store:
        store.append([Told.admitted("l-2")])
        # The first search may find the damage; the second one has an index again.
        for _ in range(2):
            assert names(store, "generator") == ["l-1", "l-2"]
        assert answers(store)


def test_an_older_state_is_not_answered_from_a_later_one(path: Path) -> None:
    """Who still reads the past is answered by the file, and leaves the copy to those who have moved on."""
    with open_store(path, create=True, search="tantivy") as store, open_store(path, search="tantivy") as late:
        store.append([Told.admitted("l-1")])
        backend = late.backend
        assert isinstance(backend, SqliteBackend)
        with backend.reading() as transaction:
            assert transaction.head().seq == 1
            store.append([Told.admitted("l-2")])
            assert names(store, "generator") == ["l-1", "l-2"]
            found = transaction.rows.index.search(Sought(("generator",), (), ()), 9)
            assert [name for name, _ in found] == ["l-1"]
        assert names(late, "generator") == ["l-1", "l-2"]


def test_another_writer_at_the_copy_makes_nobody_wait(path: Path) -> None:
    """While another process brings the copy up to date, the index in the file answers."""
    with open_store(path, create=True, search="tantivy") as store:
        store.append([Told.admitted("l-1")])
        assert names(store, "generator") == ["l-1"]
        backend = store.backend
        assert isinstance(backend, SqliteBackend)
        writer = backend._beside._index.writer()
        store.append([Told.admitted("l-2")])
        assert not answers(store)
        assert names(store, "generator") == ["l-1", "l-2"]
        writer.rollback()
        writer.wait_merging_threads()
        assert answers(store)
        assert names(store, "generator") == ["l-1", "l-2"]


@settings(max_examples=60, deadline=None)
@given(words=st.lists(ANYTHING, max_size=4), scopes=st.lists(ANYTHING, max_size=3))
def test_no_query_is_broken_by_what_is_typed(shared: EventStore, words: list[str], scopes: list[str]) -> None:
    """R-h1: a query is built, not parsed, so nothing that is typed has a meaning to it."""
    query = SearchQuery(tuple(words), tuple(scopes))
    assert {found.lesson_id for found in shared.search(query)} <= {"l-0", "l-1", "l-2"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> EventStore:
    """Return a store that is searched by tantivy."""
    store = open_store(tmp_path_factory.mktemp("shared") / "store.db", create=True, search="tantivy", clock=ticking())
    store.append([Told.admitted(f"l-{number}", statement=text) for number, text in enumerate(["a b", "b c or", "not near"])])
    return store


# -- when it is used ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "variable", "lessons", "used"),
    [
        (None, None, beside.LARGE + 1, True),
        (None, None, beside.LARGE, False),
        ("auto", "fts5", beside.LARGE + 1, True),
        (None, "fts5", beside.LARGE + 1, False),
        (None, "tantivy", 1, True),
        ("fts5", "tantivy", beside.LARGE + 1, False),
        ("tantivy", None, 1, True),
    ],
)
def test_it_is_chosen_by_size_and_can_be_forced(
    monkeypatch: pytest.MonkeyPatch, setting: str | None, variable: str | None, lessons: int, used: bool
) -> None:
    """R-h1: above about 100,000 lessons by itself; the caller's word, then the environment's, goes first."""
    monkeypatch.delenv(beside.ENVIRONMENT, raising=False)
    if variable is not None:
        monkeypatch.setenv(beside.ENVIRONMENT, variable)
    assert beside.wanted(setting, lessons) is used


def test_a_store_that_grows_large_is_searched_by_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-h1: nobody has to say so."""
    for module in (beside, sys.modules["reflect_store.sqlite"]):
        monkeypatch.setattr(module, "LARGE", 4)
    monkeypatch.delenv(beside.ENVIRONMENT, raising=False)
    folder = path.with_name("store.db.search")
    with open_store(path, create=True) as store:
        store.append([Told.admitted(f"l-{number}") for number in range(4)])
        assert len(names(store, "generator")) == 4
        assert not folder.exists()
        store.append([Told.admitted(f"m-{number}") for number in range(5)])
        assert len(names(store, "generator")) == 9
        assert folder.exists()


def test_without_tantivy_the_index_in_the_file_answers(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is an extra, also where it was asked for."""
    monkeypatch.setattr(beside, "installed", lambda: False)
    with open_store(path, create=True, search="tantivy") as store:
        store.append([Told.admitted("l-1")])
        assert names(store, "generator") == ["l-1"]
    assert not path.with_name("store.db.search").exists()


def test_a_place_that_cannot_be_written_is_no_obstacle(path: Path) -> None:
    """A reader in a folder that is not its own finds all the same."""
    with open_store(path, create=True, search="fts5") as store:
        store.append([Told.admitted("l-1")])
    path.with_name("store.db.search").write_text("a file is where the folder would be")
    with open_store(path, read_only=True, search="tantivy") as store:
        assert names(store, "generator") == ["l-1"]
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA quick_check").fetchone() == ("ok",)
