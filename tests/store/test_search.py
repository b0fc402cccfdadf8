"""Searching for lessons, on every back end: what matches, in which order, whatever is typed, and an index that is kept right."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reflect_gate.measure import scope
from reflect_store import EventStore, Found, SearchQuery, Store, StoreError, draft, memory_store, open_store
from reflect_store._fts import FtsIndex
from reflect_store._sql import queries
from reflect_store.memory import MemoryBackend
from reflect_store.searching import KEYS, Sought, scope_token
from reflect_store.sqlite import SqliteBackend

from .stores import Make, Told, ticking

OTHER = "c" * 64


def names(store: Store, *words: str, scopes: tuple[str, ...] = (), signature: str | None = None, limit: int = 50) -> list[str]:
    """Return the ids that a search finds, in order."""
    return [found.lesson_id for found in store.search(SearchQuery(words, scopes, signature, limit))]


@pytest.fixture
def shelf(store: Store, told: type[Told]) -> Store:
    """Return a store of five lessons."""
    statements = {
        "l-1": ("Close every file before renaming it, because Windows locks open files.", "lang:python path:src/io"),
        "l-2": ("Close the pool before forking.", "lang:python repo:acme/shop"),
        "l-3": ("Pin the locale when comparing sorted names.", "lang:go"),
        "l-4": ("Escape the pattern when a file name becomes a pattern.", ""),
        "l-5": ("Wait for the replica.", "error:timeouterror flaky network"),
    }
    store.append([told.admitted(name, statement=text, scope=where) for name, (text, where) in statements.items()])
    return store


# -- what matches ------------------------------------------------------------------------------------------------------


def test_words_are_found_by_their_stems_and_the_best_come_first(shelf: Store) -> None:
    """R-h1: renamed finds renaming; more shared words rank higher."""
    assert names(shelf, "renamed", "files") == ["l-1", "l-4"]
    scores = [found.score for found in shelf.search(SearchQuery(("renamed", "files")))]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)


def test_a_found_lesson_comes_with_its_row(shelf: Store) -> None:
    """R-h1: whoever ranks on needs no second look."""
    (found,) = shelf.search(SearchQuery(("forking",)))
    assert found == Found("l-2", found.score, found.held, exact=False)
    assert found.row == shelf.get("lessons", "l-2")


def test_free_words_of_a_scope_are_searched_as_words(shelf: Store) -> None:
    """R-h1: a scope in plain language degrades to words, on both sides."""
    assert names(shelf, "networks") == ["l-5"]
    assert names(shelf, scopes=("network",)) == ["l-5"]


def test_a_typed_term_is_one_token(shelf: Store) -> None:
    """R-h1: `path:src/io` finds the lessons of that folder, and neither `src` nor the word does."""
    assert names(shelf, scopes=("path:src/io/read.py", "path:src/io", "path:src")) == ["l-1"]
    assert names(shelf, scopes=("path:src",)) == []
    assert names(shelf, "src") == []
    assert names(shelf, scopes=("error:timeouterror",)) == ["l-5"]


def test_lessons_bound_to_another_repository_or_language_are_not_found(shelf: Store) -> None:
    """R-h1: what cannot hold for the task takes no place; what is bound to nothing, or asked of nothing, stays."""
    assert names(shelf, "close") == ["l-2", "l-1"]
    assert names(shelf, "close", scopes=("repo:acme/other",)) == ["l-1"]
    assert names(shelf, "close", "file", scopes=("lang:go",)) == ["l-4"]
    assert names(shelf, "close", scopes=("lang:python", "repo:acme/shop")) == ["l-2", "l-1"]


def test_a_language_finds_only_where_nothing_else_is_asked(shelf: Store) -> None:
    """R-h1: nearly every lesson shares it, so beside words it only keeps others out."""
    assert names(shelf, scopes=("lang:go",)) == ["l-3"]
    assert names(shelf, "unheard", scopes=("lang:go",)) == []


def test_a_query_that_asks_nothing_finds_nothing(shelf: Store) -> None:
    """R-h1: no words, no scope, no signature: nothing, rather than everything."""
    assert names(shelf) == names(shelf, "", "…", "-") == names(shelf, scopes=("lang:",)) == []


def test_lessons_of_the_signature_come_before_all_others(shelf: Store, told: type[Told]) -> None:
    """R-h1: an exact match is delivered first, whether or not a word matches, and only where it may be shown."""
    shelf.append([told.admitted("z-1", OTHER), told.merged("l-3", "f-9", OTHER), told.admitted("z-2", OTHER)])
    shelf.append([told.flagged("x", "z-2", withdraws=True)])
    found = shelf.search(SearchQuery(("forking", "locale"), signature=OTHER))
    assert [(entry.lesson_id, entry.exact) for entry in found] == [("l-3", True), ("z-1", True), ("l-2", False)]
    assert [entry.score > 0 for entry in found] == [True, False, True]
    assert names(shelf, "forking", signature=OTHER, limit=2) == ["l-3", "z-1"]


def test_ties_are_broken_by_id(store: Store, told: type[Told]) -> None:
    """R-h1: equals come in the order of their ids, whenever they were learned."""
    store.append([told.admitted(name) for name in ("b", "c", "a")])
    assert names(store, "generator") == ["a", "b", "c"]
    # Where the limit parts equals, the elder stay.
    assert names(store, "generator", limit=2) == ["b", "c"]


# -- what is kept out --------------------------------------------------------------------------------------------------


def test_only_lessons_that_may_be_shown_are_found(shelf: Store, told: type[Told]) -> None:
    """R-h1: never a retired, superseded or flagged lesson; one that comes back is found again."""
    out = [told.changed("retired", "l-1", tombstone_id="t"), told.changed("superseded", "l-4", by="l-3")]
    shelf.append([*out, told.flagged("x", "l-5", withdraws=True)])
    assert names(shelf, "file", "replica", "close") == ["l-2"]
    shelf.append([told.resolved("x"), told.changed("restored", "l-1", level="episodic", undoes="e")])
    assert set(names(shelf, "file", "replica", "close")) == {"l-1", "l-2", "l-5"}
    assert shelf.verify().sound


def test_a_red_flagged_lesson_takes_no_place(shelf: Store, told: type[Told]) -> None:
    """R-g2: a lesson that blames outward is not proposed, so that it keeps no other out; the ledger still leads to it."""
    born = told.admitted("l-9", "e" * 64, statement="Close the file when the replica waits.")
    payload = json.loads(born.payload)
    payload["envelope"]["red_flag"] = True
    shelf.append([draft("lesson-admitted", payload)])
    assert "l-9" not in names(shelf, "close", "replica", "waits")
    assert names(shelf, "close", signature="e" * 64)[0] == "l-9"
    assert shelf.verify().sound


def test_a_successor_is_found_in_place_of_its_elder(shelf: Store, told: type[Told]) -> None:
    """R-g1: after a demotion the younger lesson is the one that is shown."""
    shelf.append([told.demoted("l-2", "l-9")])
    assert names(shelf, "forking") == []
    assert names(shelf, "exhausted") == ["l-9"]


def test_a_refused_decision_leaves_nothing_in_the_index(store: Store, told: type[Told]) -> None:
    """One transaction: what was not written is not found."""
    with pytest.raises(StoreError):
        store.append([told.admitted("l-1"), told.merged("gone", "f-2")])
    assert names(store, "generator") == []
    assert store.verify().sound


def test_a_redacted_lesson_is_not_found(shelf: Store) -> None:
    """R-s1: with the payload goes what could be searched of it."""
    shelf.redact(text="locale", reason="a credential")
    assert names(shelf, "locale", "sorted") == []
    assert shelf.verify().sound


# -- whatever is typed ---------------------------------------------------------------------------------------------------

HOSTILE = [
    '"',
    'a" OR words : "b',
    "NEAR(a b)",
    "words : *",
    "^a",
    "a*",
    "-a",
    "(",
    ") NOT (",
    "a\x00b",
    "\ud800",
    "''; DROP TABLE search",
    "{}",
    "+",
]


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[EventStore, EventStore]]:
    """Return the same lessons in memory and in a file."""
    drafts = [Told.admitted(f"l-{number}", statement=text) for number, text in enumerate(["a b", "b c or", "c not near a", "d"])]
    path = tmp_path_factory.mktemp("twins") / "store.db"
    with memory_store(clock=ticking()) as memory, open_store(path, create=True, clock=ticking()) as file:
        for store in (memory, file):
            store.append(drafts)
        yield memory, file


@pytest.mark.parametrize("text", HOSTILE)
def test_no_query_is_broken_by_what_is_typed(store: Store, told: type[Told], text: str) -> None:
    """R-h1: a character has no meaning but its own; no query can reach past the words."""
    store.append([told.admitted("l-1", statement="unrelated")])
    assert names(store, text, scopes=(text, f"lang:{text}", f'repo:"{text}')) == []


ANYTHING = st.one_of(st.text(max_size=12), st.sampled_from([*HOSTILE, "a", "b", "or", "NOT", "lang:python", "repo:x"]))


@settings(max_examples=100, deadline=None)
@given(words=st.lists(ANYTHING, max_size=5), scopes=st.lists(ANYTHING, max_size=3), limit=st.integers(1, 4))
@example(words=["\ud800"], scopes=["lang:\ud800"], limit=1)
def test_both_back_ends_answer_alike(
    twins: tuple[EventStore, EventStore], words: list[str], scopes: list[str], limit: int
) -> None:
    """R-h1: the same lessons, scores and order, whatever is asked."""
    query = SearchQuery(tuple(words), tuple(scopes), limit=limit)
    memory, file = (store.search(query) for store in twins)
    assert [(found.lesson_id, found.score) for found in memory] == [(found.lesson_id, found.score) for found in file]
    assert len(memory) <= limit


@settings(max_examples=50, deadline=None)
@given(
    statement=st.text(st.characters(codec="utf-8"), min_size=1, max_size=40),
    where=st.text(st.characters(codec="utf-8"), max_size=20),
)
def test_every_statement_can_be_indexed_and_taken_out(statement: str, where: str) -> None:
    """R-h1: whatever a lesson says, the index stays right when it comes and when it goes."""
    with memory_store() as store:
        lesson = {**Told.lesson(), "statement": statement, "scope": where}
        payload = {"lesson": lesson, "envelope": Told.envelope("l-1"), "decision_id": "d"}
        store.append([draft("lesson-admitted", payload)])
        assert store.verify().sound
        store.append([Told.changed("retired", "l-1", tombstone_id="t")])
        assert store.verify().sound


def test_a_flood_of_words_is_cut(shelf: Store) -> None:
    """A query of a thousand words costs what its first ones cost, and still finds by them."""
    assert names(shelf, "forking", *(f"w{number}" for number in range(1_000)), scopes=("path:x",) * 1_000) == ["l-2"]
    assert names(shelf, *(f"w{number}" for number in range(1_000)), "forking") == []


# -- an index that is kept right ---------------------------------------------------------------------------------------


def connection_of(store: EventStore) -> sqlite3.Connection:
    """Return the connection that holds the index of a store."""
    backend = store.backend
    return backend._connection if isinstance(backend, SqliteBackend) else backend.rows.searched  # type: ignore[attr-defined]


DAMAGE = {
    "a text is gone": "DELETE FROM search WHERE lesson_id = 'l-1'",
    "a text is another": "UPDATE search SET words = 'forged' WHERE lesson_id = 'l-1'",
    "a text was added": "INSERT INTO search VALUES (1, 'l-9', 'forged', '', '')",
    "a lesson is not indexed": (
        "INSERT INTO search_index (search_index, rowid, words, scope, sieve) SELECT 'delete', * FROM"
        " (SELECT doc, words, scope, sieve FROM search WHERE lesson_id = 'l-1')"
    ),
    "a word leads to another lesson": "INSERT INTO search_index (rowid, words, scope, sieve) VALUES (7, 'generator', '', '')",
    "a stem is gone": "DELETE FROM search_words WHERE word = 'gener'",
    "a stem leads to another lesson": "INSERT INTO search_words VALUES ('gener', 7)",
    "sizes are gone": "DELETE FROM search_index_docsize",
    "totals are another": "UPDATE search_index_data SET block = x'05050505' WHERE id = 1",
    "a page is unreadable": "UPDATE search_index_data SET block = zeroblob(40) WHERE id > 10",
    "pages are gone": "DELETE FROM search_index_data WHERE id > 10",
}


@pytest.mark.parametrize("make", ["memory", "sqlite"], indirect=True)
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_index_is_found_and_made_anew(make: Make, told: type[Told], damage: str) -> None:
    """R-s1: `verify` says so and changes nothing, `rebuild` puts it right, and searching works as before."""
    store = make()
    store.append([told.admitted("l-1"), told.admitted("l-2", statement="Close the pool before forking.")])
    store.append([told.changed("retired", "l-2", tombstone_id="t")])
    before = store.search(SearchQuery(("generator",)))
    connection_of(store).execute(DAMAGE[damage])
    problems = store.verify().problems
    assert "search: the index is not what the lessons say" in problems
    assert store.verify().problems == problems
    assert store.rebuild().changed == 1
    assert store.verify().sound
    assert store.search(SearchQuery(("generator",))) == before


def test_a_lesson_that_grows_is_not_indexed_anew(store: Store, told: type[Told], monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting outcomes and adding evidence leave the index alone."""
    store.append([told.admitted("l-1")])
    written: list[int] = []
    monkeypatch.setattr(FtsIndex, "_insert", lambda *_: written.append(1))
    store.append([told.outcome("o-1", "l-1"), told.merged("l-1", "f-2")])
    assert written == []
    assert store.verify()


def test_lessons_of_one_moment_each_have_a_place(make: Make, told: type[Told]) -> None:
    """Stores that were merged may hold lessons born at the same microsecond."""
    left, right = make(), make()
    for number, store in enumerate((left, right)):
        store._clock = ticking()
        store.append([told.admitted(f"l-{number}"), told.admitted(f"m-{number}")])
    stream = io.BytesIO()
    right.export(stream)
    left.import_(io.BytesIO(stream.getvalue()), "right")
    assert names(left, "generator") == ["l-0", "l-1", "m-0", "m-1"]
    assert left.verify().sound
    assert left.rebuild().changed == 0


def test_what_was_redacted_is_in_no_byte_of_the_index(tmp_path: Path) -> None:
    """R-s1: an index keeps words of texts that are gone until it is written anew, so it is."""
    path = tmp_path / "store.db"
    with open_store(path, create=True) as store:
        store.append([Told.admitted(f"l-{number}", statement=f"hunter{number}xyz is the password") for number in range(40)])
        for number in range(40):
            store.append([Told.changed("retired", f"l-{number}", tombstone_id="t")])
        assert b"hunter7xyz" in b"".join(file.read_bytes() for file in tmp_path.iterdir())
        store.redact(text="hunter7xyz", reason="a credential")
        assert b"hunter7xyz" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
        assert store.verify().sound


# -- the code itself -----------------------------------------------------------------------------------------------------


def test_the_keys_are_those_of_the_grammar() -> None:
    """The store does not know the gate, so it repeats the keys of its scopes; here the two are held to each other."""
    assert KEYS == scope.KEYS


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=20))
def test_a_scope_token_is_one_word_that_no_stemmer_changes(term: str) -> None:
    """Two terms never meet by their endings."""
    token = scope_token(term)
    assert token.isascii()
    assert token.isalnum()
    assert token[1:].isdigit()


@pytest.mark.parametrize("make", ["memory", "sqlite"], indirect=True)
def test_a_token_that_is_asked_for_costs_what_the_limit_costs(store: Store, told: type[Told]) -> None:
    """R-d1: candidates are found without reading all that a common word leads to; the youngest come first."""
    store.append([told.admitted(f"l-{number}") for number in range(9)])
    backend = store.backend  # type: ignore[attr-defined]
    assert isinstance(backend, MemoryBackend | SqliteBackend)
    with backend.reading() as transaction:
        index = transaction.rows.index
        names = index.names(index.holding(["gener"], 3)["gener"])
        assert [name for _, name in sorted(names.items())] == ["l-6", "l-7", "l-8"]
        assert transaction.rows.index.search(Sought((), (), ()), 3) == ()


def test_no_statement_asks_the_index_by_a_subquery() -> None:
    """`rowid IN (subquery)` makes FTS5 read the whole index."""
    assert not [name for name, text in queries("search").items() if " in (" in text.lower()]
