"""The search index in SQLite's FTS5: stems of words, BM25, and tokens of scopes; a store in memory keeps one of its own."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final

from ._sql import migrations, queries, statements
from ._sqlite_errors import damage_named
from .searching import FLAGGED, Sought, Text, stems

__all__ = ["FtsIndex", "held_tokens", "memory_connection", "place_of", "tables"]

_SQL: Final = queries("search")
_MADE: Final = r"CREATE (VIRTUAL )?TABLE (search|search_index|search_words)\b"
_BATCH: Final = 4_096
_EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00.000000+00:00")
_MICROSECOND: Final = timedelta(microseconds=1)


def tables() -> list[str]:
    """Return the statements that make the tables of an index."""
    return [text for _, script in migrations("sqlite") for text in statements(script) if re.search(_MADE, text)]


def memory_connection() -> sqlite3.Connection:
    """Return a connection to tables of an index in memory; whoever shares it between threads sees to it that they take turns."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    for statement in tables():
        connection.execute(statement)
    return connection


def _one_of(column: str, tokens: Iterable[str]) -> str:
    # A token holds word characters and spaces, so between quotes it is a phrase and nothing else.
    phrases = " OR ".join(f'"{token}"' for token in tokens)
    return f"{column} : ({phrases})"


def _expression(query: Sought) -> str | None:
    """Return the query in the language of FTS5; `None` where nothing is sought."""
    wanted = [_one_of(column, tokens) for column, tokens in (("words", query.words), ("scope", query.scopes)) if tokens]
    if not wanted:
        return None
    parts = [f"({' OR '.join(wanted)})", *(_one_of("sieve", group) for group in query.sieves)]
    return f"({' AND '.join(parts)}) NOT sieve : {FLAGGED}"


def held_tokens(text: Sequence[str]) -> list[str]:
    """Return the stems and scope tokens that a lesson is looked up by; `text` are its words, scope and sieve."""
    words, scope, _ = text
    return [*stems(words), *dict.fromkeys(scope.split())]


def _held(doc: int, text: Sequence[str]) -> Iterator[tuple[str, int]]:
    return ((token, doc) for token in held_tokens(text))


def place_of(time: str) -> int:
    """Return the place of a lesson born at `time`: microseconds since 1970."""
    return (datetime.fromisoformat(time) - _EPOCH) // _MICROSECOND


class FtsIndex:
    """The index in the tables of one connection; whoever holds the connection sees to transactions."""

    def __init__(self, connection: sqlite3.Connection, place: str) -> None:
        self._connection = connection
        self._place = place
        self._gathering = self._gathered = False
        self.faster: Callable[[Sought, int], Sequence[tuple[str, float]] | None] | None = None
        """Answers in place of this index, or says `None` where it cannot."""

    def put(self, text: Text) -> None:
        """Index a lesson, or index it anew where its text is another."""
        found = self._connection.execute(_SQL["find"], (text.lesson_id,)).fetchone()
        if found is not None and found[1:] == text[2:]:
            return
        if found is not None:
            self._remove(found)
        self._insert(found[0] if found else self._place_of(text.time), text)

    def _place_of(self, time: str) -> int:
        """Return the number of a lesson born at `time`: the microsecond, or the next where stores were merged and it is taken."""
        doc = place_of(time)
        while self._connection.execute(_SQL["taken"], (doc,)).fetchone():
            doc += 1
        return doc

    def _insert(self, doc: int, text: Text) -> None:
        self._connection.execute(_SQL["add_text"], (doc, text.lesson_id, *text[2:]))
        if self._gathering:
            self._gathered = True
            return
        self._connection.execute(_SQL["add"], (doc, *text[2:]))
        self._connection.executemany(_SQL["add_word"], _held(doc, text[2:]))

    def _remove(self, found: Sequence[Any]) -> None:
        self._connection.execute(_SQL["drop_text"], (found[0],))
        if self._gathering:
            self._gathered = True
            return
        self._connection.execute(_SQL["drop"], found)
        self._connection.executemany(_SQL["drop_word"], _held(found[0], found[1:]))

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Keep only the texts of what changes within, and write the index anew from all texts at the end."""
        self._gathering, self._gathered = True, False
        try:
            yield
        finally:
            self._gathering = False
        if self._gathered:
            self._write_anew()

    def _write_anew(self) -> None:
        """Write the index from the texts, its parts in their own order: each page of the file is written once."""
        self._connection.execute(_SQL["gather"])
        for batch in self._batches("texts"):
            self._connection.executemany(_SQL["gather_word"], (held for doc, _, *text in batch for held in _held(doc, text)))
        for name in ("empty_words", "add_words", "gathered", "rebuild"):
            self._connection.execute(_SQL[name])

    def place(self, lesson_id: str, doc: int, text: Sequence[str]) -> None:
        """Index a lesson anew at a place that is known; `text` are its words, scope and sieve."""
        self.drop(lesson_id)
        self._insert(doc, Text(lesson_id, "", *text))

    def drop(self, lesson_id: str) -> None:
        """Take a lesson out of the index, if it is there."""
        found = self._connection.execute(_SQL["find"], (lesson_id,)).fetchone()
        if found is not None:
            self._remove(found)

    def search(self, query: Sought, limit: int) -> Sequence[tuple[str, float]]:
        """Return lessons and their scores, the best first, ties by id; where the limit parts equals, the elder stay."""
        answered = None if self.faster is None else self.faster(query, limit)
        if answered is not None:
            return answered
        expression = _expression(query)
        if expression is None:
            return ()
        with damage_named(self._place):
            return self._connection.execute(_SQL["search"], (expression, limit)).fetchall()

    def common(self, tokens: Sequence[str], most: int) -> list[str]:
        """Return those of some stems or scope tokens that more than `most` lessons hold."""
        ask = self._connection.execute
        return [token for token in tokens if ask(_SQL["common"], (token, most)).fetchone() is not None]

    def holding(self, tokens: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        """Return the places of lessons that hold each token, the youngest first."""
        ask = self._connection.execute
        return {token: [row[0] for row in ask(_SQL["holding"], (token, limit))] for token in tokens}

    def texts(self, lessons: Iterable[str] | None) -> Iterator[Sequence[Any]]:
        """Yield id, place, words, scope and sieve of some lessons or all; the place is `None` where one is not in the index."""
        if lessons is None:
            for batch in self._batches("texts"):
                yield from ((name, doc, *text) for doc, name, *text in batch)
            return
        for name in lessons:
            found = self._connection.execute(_SQL["find"], (name,)).fetchone()
            yield (name, *found) if found else (name, None, "", "", "")

    def count(self) -> int:
        """Return how many lessons are in the index."""
        return int(self._connection.execute(_SQL["count"]).fetchone()[0])

    def names(self, places: Iterable[int]) -> Mapping[int, str]:
        """Return the ids of the lessons at some places."""
        return dict(self._connection.execute(_SQL["names"], (json.dumps(list(places)),)))

    def entries(self) -> Generator[Sequence[Any], None, None]:
        """Yield all that the index holds, in batches: texts, sizes, totals, and every place of every stem."""
        with damage_named(self._place):
            # What was added within this transaction is still in memory.
            self._connection.execute(_SQL["flush"])
            self._connection.execute(_SQL["flushed"])
            for name in ("texts", "held_words", "sizes", "totals"):
                yield from self._batches(name)
            self._connection.execute(_SQL["close_postings"])
            self._connection.execute(_SQL["open_postings"])
            try:
                yield from self._batches("postings")
            finally:
                self._connection.execute(_SQL["close_postings"])

    def _batches(self, name: str) -> Iterator[Sequence[Any]]:
        cursor = self._connection.execute(_SQL[name])
        try:
            while batch := cursor.fetchmany(_BATCH):
                yield batch
        finally:
            cursor.close()

    def copy(self, other: FtsIndex) -> None:
        """Make the index anew with the texts of another, each in its place."""
        for name in ("empty_format", "empty_data", "empty_pages", "empty_structure", "drop_index", "drop_words", "drop_texts"):
            self._connection.execute(_SQL[name])
        for statement in tables():
            self._connection.execute(statement)
        for batch in other._batches("texts"):
            self._connection.executemany(_SQL["add_text"], batch)
        self._write_anew()

    def refresh(self) -> None:
        """Write the index anew from its texts, so that it holds nothing of texts that are gone."""
        self._connection.execute(_SQL["rebuild"])
