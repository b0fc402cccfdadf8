"""The search index on a server: texts and words in tables of the transaction; the best that match are found on the node."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, TypeAlias

from .._fts import FtsIndex, held_tokens, place_of
from .._sql import queries
from ..searching import Sought, Text
from ._session import Session

__all__ = ["BATCH", "PostgresIndex", "ScratchIndex", "Searcher"]

Searcher: TypeAlias = Callable[[Sought, int], Sequence[tuple[str, float]]]

BATCH: Final = 4_096
_MOST_WAITING: Final = 256
_SQL: Final = queries("postgresql/search")
_FEWEST: Final = -(2**63)


class PostgresIndex:
    """The index of one tenant within one transaction. Changes wait until the index is read or the transaction ends."""

    def __init__(self, session: Session, searcher: Searcher) -> None:
        self._session = session
        self._searcher = searcher
        self._waiting: list[tuple[str, Text | None]] = []

    def put(self, text: Text) -> None:
        """Index a lesson, or index it anew where its text is another."""
        self._wait(text.lesson_id, text)

    def drop(self, lesson_id: str) -> None:
        """Take a lesson out of the index, if it is there."""
        self._wait(lesson_id, None)

    def gathered(self) -> AbstractContextManager[None]:
        """Change nothing: what changes is gathered as it is."""
        return nullcontext()

    def _wait(self, lesson_id: str, text: Text | None) -> None:
        self._waiting.append((lesson_id, text))
        if len(self._waiting) >= _MOST_WAITING:
            self.settle()

    def settle(self) -> None:
        """Write what waits, as if each change had been made by itself."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            _Changes(self._session, waiting).write()

    def _ask(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        self.settle()
        return self._session.ask(_SQL[name], values)

    def search(self, query: Sought, limit: int) -> Sequence[tuple[str, float]]:
        """Return lessons and their scores, the best first, ties by id; where the limit parts equals, the elder stay."""
        self.settle()
        return self._searcher(query, limit)

    def common(self, tokens: Sequence[str], most: int) -> list[str]:
        """Return those of some stems or scope tokens that more than `most` lessons hold."""
        found = {row[0] for row in self._ask("common", list(tokens), most)} if tokens else set()
        return [token for token in tokens if token in found]

    def holding(self, tokens: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        """Return the places of lessons that hold each token, the youngest first."""
        found: dict[str, list[int]] = {token: [] for token in tokens}
        for token, doc in self._ask("holding", list(tokens), limit) if tokens else ():
            found[token].append(doc)
        return found

    def names(self, places: Iterable[int]) -> Mapping[int, str]:
        """Return the ids of the lessons at some places."""
        return dict(self._ask("names", list(places)))

    def count(self) -> int:
        """Return how many lessons are in the index."""
        return int(self._ask("count")[0][0])

    def texts(self, lessons: Iterable[str] | None) -> Iterator[Sequence[Any]]:
        """Yield id, place, words, scope and sieve of some lessons or all; the place is `None` where one is not in the index."""
        if lessons is None:
            for batch in self._batches("texts", _FEWEST):
                yield from ((name, doc, *text) for doc, name, *text in batch)
            return
        names = list(lessons)
        for start in range(0, len(names), BATCH):
            part = names[start : start + BATCH]
            found = {row[0]: row for row in self._ask("find", part)}
            yield from (found.get(name, (name, None, "", "", "")) for name in part)

    def _batches(self, name: str, *after: object) -> Iterator[list[tuple[Any, ...]]]:
        while batch := self._ask(name, *after, BATCH):
            yield batch
            after = batch[-1][: len(after)]

    def entries(self) -> Generator[Sequence[Any], None, None]:
        """Yield all that the index holds, in batches: texts, and which lessons hold a word."""
        yield from self._batches("texts", _FEWEST)
        yield from self._batches("held_words", "", _FEWEST)

    def copy(self, other: PostgresIndex | ScratchIndex) -> None:
        """Make the index anew with the texts of another, each in its place."""
        self._waiting.clear()
        for name in ("new_edition", "empty_words", "empty_texts"):
            self._session.later(_SQL[name])
        for name, doc, *text in other.texts(None):
            _add(self._session, doc, name, text)


class ScratchIndex(FtsIndex):
    """An index to compare one on a server with: of what it holds, it says what is held there too."""

    def entries(self) -> Generator[Sequence[Any], None, None]:
        """Yield texts, and which lessons hold a word."""
        for name in ("texts", "held_words"):
            yield from self._batches(name)


def _add(session: Session, doc: int, name: str, text: Sequence[str]) -> None:
    session.later(_SQL["add_text"], (doc, name, *text))
    session.later(_SQL["add_words"], (doc, held_tokens(text)))


class _Changes:
    """Changes of the index in their order, worked out on what the tables hold, and written as what they come to."""

    def __init__(self, session: Session, waiting: Sequence[tuple[str, Text | None]]) -> None:
        self._session = session
        self._waiting = waiting
        names = list(dict.fromkeys(name for name, _ in waiting))
        self._before = {name: (doc, tuple(text)) for name, doc, *text in session.ask(_SQL["find"], (names,))}
        self._now = dict(self._before)
        wanted = [place_of(text.time) for name, text in waiting if text is not None and name not in self._before]
        self._looked_at = set(wanted)
        self._taken = {row[0] for row in session.ask(_SQL["taken"], (wanted,))} if wanted else set()

    def write(self) -> None:
        for name, text in self._waiting:
            if text is None:
                self._forget(name)
            else:
                self._set(name, text)
        for name, (doc, words) in self._before.items():
            if self._now.get(name) != (doc, words):
                self._session.later(_SQL["drop_words"], (held_tokens(words), doc))
                self._session.later(_SQL["drop_text"], (doc,))
        for name, (doc, words) in self._now.items():
            if self._before.get(name) != (doc, words):
                _add(self._session, doc, name, words)

    def _set(self, name: str, text: Text) -> None:
        held = self._now.get(name)
        doc = held[0] if held else self._free(place_of(text.time))
        self._now[name] = (doc, tuple(text[2:]))
        self._looked_at.add(doc)
        self._taken.add(doc)

    def _forget(self, name: str) -> None:
        held = self._now.pop(name, None)
        if held is not None:
            self._looked_at.add(held[0])
            self._taken.discard(held[0])

    def _free(self, doc: int) -> int:
        """Return the place, or the next where stores were merged and it is taken."""
        while self._is_taken(doc):
            doc += 1
        return doc

    def _is_taken(self, doc: int) -> bool:
        if doc not in self._looked_at:
            self._looked_at.add(doc)
            self._taken.update(row[0] for row in self._session.ask(_SQL["taken"], ([doc],)))
        return doc in self._taken
