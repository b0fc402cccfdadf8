"""The search index of a node: the answers of a store in a file, kept up from the events, and made anew without loss."""

from __future__ import annotations

import io
import os
import random
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from reflect_store import EventStore, Found, Head, SearchQuery, StoreError, memory_store, open_store
from reflect_store.searching import Sought

from .stores import Told
from .tenants import Tenants

WORDS = "anchor basket cursor folder gasket hammer invoice journal kettle ladder magnet needle oven pallet quiver ribbon".split()
SCOPES = ["", "lang:python", "lang:go", "repo:acme/shop", "path:src/io lang:python", "error:timeouterror"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the node's indexes."""
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path))
    return tmp_path / "reflect-gate" / "search"


@pytest.fixture
def kept(tenants: Tenants) -> Iterator[EventStore]:
    """A store with two lessons."""
    with tenants.store() as store:
        store.append([Told.admitted("l-1"), Told.admitted("l-2", statement="Close the pool before forking.")])
        yield store


def again(tenants: Tenants, store: EventStore) -> EventStore:
    """Return the same store, opened by another process of the node as it were."""
    return open_store(tenants.url(store.backend.place.partition("//")[2].partition("@")[0]))


def names(store: EventStore, *words: str) -> list[str]:
    """Return what a search finds."""
    return [found.lesson_id for found in store.search(SearchQuery(words))]


def file_of(cache: Path) -> Path:
    """Return the one index of the node."""
    (found,) = cache.glob("*/fts5.db")
    return found


def events(chance: random.Random) -> list[object]:
    """Return a life of sixty lessons: some retired, withdrawn, brought back."""
    made: list[object] = []
    for number in range(60):
        text = " ".join(chance.choices(WORDS, k=chance.randrange(4, 12)))
        made.append(Told.admitted(f"l-{number}", f"{number % 7:064x}", statement=text, scope=chance.choice(SCOPES)))
    made += [Told.changed("retired", f"l-{number}", tombstone_id="t") for number in range(0, 60, 9)]
    made.append(Told.changed("restored", "l-9", level="episodic", undoes="x"))
    made += [Told.flagged("x-1", "l-4", "l-5", withdraws=True), Told.flagged("x-2", "l-6", withdraws=True), Told.resolved("x-1")]
    return made


@pytest.mark.parametrize("search", ["fts5", "tantivy"])
def test_the_answers_are_those_of_a_store_in_a_file(
    tenants: Tenants, tmp_path: Path, search: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-h1: lessons, order and scores, for words, scopes and signatures; also while the index is brought up piece by piece."""
    if search == "tantivy":
        pytest.importorskip("tantivy")
    monkeypatch.setenv("REFLECT_GATE_SEARCH", search)
    chance = random.Random(4)
    drafts = events(chance)
    with tenants.store() as store, open_store(tmp_path / "file" / "store.db", create=True) as file:
        for start in range(0, len(drafts), 23):
            store.append(drafts[start : start + 23])  # type: ignore[arg-type]
            copy = io.BytesIO()
            store.export(copy)
            copy.seek(0)
            file.import_(copy, "export")
            for _ in range(25):
                query = asked(chance)
                assert rounded(store.search(query)) == rounded(file.search(query)), query


def asked(chance: random.Random) -> SearchQuery:
    """Return some query."""
    words = tuple(chance.choices(WORDS, k=chance.randrange(4)))
    scopes = tuple(chance.choice(SCOPES).split()) if chance.random() < 0.5 else ()
    signature = f"{chance.randrange(8):064x}" if chance.random() < 0.3 else None
    return SearchQuery(words, scopes, signature, chance.choice((1, 3, 50)))


def rounded(found: list[Found]) -> list[tuple[str, float, bool]]:
    """Return what was found; sums of the same scores may be added in another order."""
    return [(entry.lesson_id, round(entry.score, 6), entry.exact) for entry in found]


def test_only_what_changed_is_read_again(tenants: Tenants, kept: EventStore, cache: Path) -> None:
    """A search brings the index from its mark to the end of the chain; recalls and outcomes move the mark alone."""
    assert names(kept, "generator") == ["l-1"]
    before = rows_of(file_of(cache), "SELECT doc, lesson_id FROM search ORDER BY doc")
    kept.append([Told.recalled("r-1", "l-1", task="t-1"), Told.admitted("l-3", statement="Pin the locale.")])
    with again(tenants, kept) as other:
        assert names(other, "locale") == ["l-3"]
    assert rows_of(file_of(cache), "SELECT doc, lesson_id FROM search ORDER BY doc")[:2] == before
    assert rows_of(file_of(cache), "SELECT seq FROM mark") == [(kept.version,)]


def rows_of(file: Path, statement: str) -> list[tuple[object, ...]]:
    """Return rows of an index."""
    with sqlite3.connect(file) as connection:
        found = connection.execute(statement).fetchall()
    connection.close()
    return found


@pytest.mark.parametrize("search", ["fts5", "tantivy"])
def test_status_says_how_far_the_index_of_the_node_is(kept: EventStore, search: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-o1: what a node does not know yet is visible; searching brings it up to date."""
    if search == "tantivy":
        pytest.importorskip("tantivy")
    monkeypatch.setenv("REFLECT_GATE_SEARCH", search)
    assert kept.status().indexed == 0
    names(kept, "generator")
    kept.append([Told.skipped("f-1")])
    status = kept.status()
    assert (status.indexed, status.head.seq) == (2, 3)
    assert next(kept.follow(1.0)).seq == kept.status().indexed == 3
    with memory_store() as memory:
        assert memory.status().indexed is None


@pytest.mark.parametrize("damage", ["cut", "junk", "no texts", "another mark", "gone"])
def test_a_damaged_index_is_made_anew(kept: EventStore, tenants: Tenants, cache: Path, damage: str) -> None:
    """It is a copy: whatever became of it, the next search answers as before."""
    assert names(kept, "forks") == ["l-2"]
    kept.close()
    file = file_of(cache)
    if damage == "cut":
        os.truncate(file, 5_000)
    elif damage == "junk":
        file.write_bytes(b"junk" * 2_000)
    elif damage == "gone":
        file.unlink()
    else:
        rows_of(file, "DROP TABLE search" if damage == "no texts" else "UPDATE mark SET hash = 'x'")
    with again(tenants, kept) as store:
        assert names(store, "forks") == ["l-2"]
        assert store.status().indexed == 2


def test_a_cache_that_is_no_folder_is_done_without(kept: EventStore, cache: Path) -> None:
    """An index in memory answers, and is brought up to date as one in a file is."""
    cache.parent.write_text("a file")
    assert names(kept, "forks") == ["l-2"]
    kept.append([Told.admitted("l-3", statement="Fork late.")])
    assert set(names(kept, "forks")) == {"l-2", "l-3"}
    assert kept.status().indexed == 0


def test_the_working_directory_holds_no_cache(tenants: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative folder would lie in whatever repository is being worked on, which could bring an index of its own."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("REFLECT_GATE_CACHE", "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    with tenants.store() as store:
        store.append([Told.admitted("l-1")])
        store.search(SearchQuery(("pool",)))
    assert not list((tmp_path / "work").iterdir())


def test_a_transaction_that_is_behind_sees_its_own_state(tenants: Tenants, kept: EventStore) -> None:
    """R-h1: what another process of the node knows already is left out, and so is what is out of use where this one stands."""
    names(kept, "generator")
    with again(tenants, kept) as other, other.backend.reading() as transaction:
        assert transaction.head().seq == 2
        kept.append([Told.admitted("l-3"), Told.changed("retired", "l-2", tombstone_id="t")])
        assert names(kept, "generator", "forks") == ["l-1", "l-3"]
        query = _sought(("generator",))
        assert [name for name, _ in transaction.rows.index.search(query, 5)] == ["l-1"]


def _sought(words: tuple[str, ...]) -> Sought:
    return Sought(words, (), ())


def test_what_is_erased_leaves_the_index_of_the_node(tenants: Tenants, kept: EventStore, cache: Path) -> None:
    """R-s1: of another node, too, as soon as it searches: not a byte of the text stays in its file."""
    word = "hunterxyzzy"
    kept.append([Told.admitted("l-3", statement=f"Never print {word}.")])
    assert names(kept, word) == ["l-3"]
    kept.backend.node._root = cache.parent / "elsewhere"  # type: ignore[attr-defined]
    kept.redact(lesson="l-3", reason="a credential")
    assert word.encode() in bytes_of(cache)
    with again(tenants, kept) as other:
        assert names(other, word) == []
    assert word.encode() not in bytes_of(cache)


def test_who_erases_keeps_nothing_on_this_machine(tenants: Tenants, kept: EventStore, cache: Path) -> None:
    """R-s1: also where another process of the machine has made the index."""
    with again(tenants, kept) as other:
        assert names(other, "forks") == ["l-2"]
    assert b"forking" in bytes_of(cache)
    kept.redact(lesson="l-2", reason="a test")
    assert b"forking" not in bytes_of(cache)


def bytes_of(folder: Path) -> bytes:
    """Return what all files of a folder hold."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_rebuild_reaches_the_index_of_every_node(tenants: Tenants, kept: EventStore) -> None:
    """What is searched was wrong without an event that says so: the edition of the index moves, and with it every node."""
    role = kept.backend.place.partition("//")[2].partition("@")[0]
    with tenants.connected(role) as connection:
        connection.execute(b"UPDATE reflect_gate.search SET words = 'nonsense' WHERE lesson_id = 'l-2'")
    assert names(kept, "nonsense") == ["l-2"]
    assert [problem for problem in kept.verify().problems if "search" in problem]
    with again(tenants, kept) as other:
        assert other.rebuild().changed == 1
    assert (names(kept, "nonsense"), names(kept, "forks"), kept.verify().problems) == ([], ["l-2"], ())


def test_a_word_that_leads_astray_is_found(tenants: Tenants, kept: EventStore) -> None:
    """R-s1: `verify` compares which lessons hold a word, and `rebuild` puts it right."""
    role = kept.backend.place.partition("//")[2].partition("@")[0]
    with tenants.connected(role) as connection:
        connection.execute(b"DELETE FROM reflect_gate.search_words WHERE word = 'fork'")
    assert not kept.verify().sound
    assert kept.rebuild().changed == 1
    assert kept.verify().sound


@pytest.mark.parametrize("cut", [False, True])
def test_a_follower_is_woken_by_a_writer(tenants: Tenants, kept: EventStore, cut: bool) -> None:
    """A node that follows has the index ready before anybody searches; also after the server was started anew, as it were."""
    patience = 30.0
    met: list[Head] = []
    begun, done = threading.Event(), threading.Event()
    role = kept.backend.place.partition("//")[2].partition("@")[0]
    with again(tenants, kept) as follower:

        def follow() -> None:
            for head in follower.follow(patience):
                met.append(head)
                begun.set()
                if head.seq == 3:
                    done.set()
                    return

        thread = threading.Thread(target=follow)
        thread.start()
        try:
            assert begun.wait(patience)
            if cut:
                with tenants.connected() as connection:
                    connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (role,))
            kept.append([Told.skipped("f-1")])
            assert done.wait(patience / 2)
        finally:
            thread.join(patience)
        assert follower.status().indexed == 3


def test_a_standby_is_followed_without_being_woken(kept: EventStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes no `LISTEN`, as during recovery, is looked at by the follower itself."""
    plain = psycopg.Connection.execute

    def recovering(self: psycopg.Connection[Any], query: Any, *rest: Any, **more: Any) -> Any:
        if isinstance(query, psycopg.sql.Composed) and query.as_string(self).startswith("LISTEN"):
            raise psycopg.errors.ReadOnlySqlTransaction("cannot execute LISTEN during recovery")
        return plain(self, query, *rest, **more)

    monkeypatch.setattr(psycopg.Connection, "execute", recovering)
    followed = kept.follow(0.01)
    assert next(followed).seq == 2
    kept.append([Told.admitted("l-3")])
    assert next(followed).seq == 3


def test_a_store_in_a_file_is_not_followed() -> None:
    """It holds its index itself."""
    with memory_store() as store, pytest.raises(StoreError) as caught:
        store.follow(1.0)
    assert caught.value.code == "store-unsupported"
