"""The search index in tantivy, beside the file of a large store: the same questions, answered faster (the extra `search`).

It is a copy that can be thrown away at any time. It is brought up to date when it is searched, from the events since its mark.
Where it cannot be (tantivy is absent, another process is at it, nothing may be written), the index in the file answers.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from .events import REDACTED, Head
from .protocol import Transaction
from .searching import FLAGGED, Sought

__all__ = ["ENVIRONMENT", "LARGE", "TantivyIndex", "Texts", "changed_since", "installed", "wanted"]

Texts: TypeAlias = Callable[[Iterable[str] | None], Iterable[Sequence[Any]]]
"""Yields id, place, words, scope and sieve of some lessons or all; the place is `None` where a lesson is not in use."""

ENVIRONMENT: Final = "REFLECT_GATE_SEARCH"
"""Names the index to use: `fts5`, `tantivy`, or `auto`, which is also meant where it is not set."""

LARGE: Final = 100_000
"""A store of more lessons in use than this is searched by tantivy where it is installed."""

_FORMAT: Final = 1
"""Moves with the schema; an index of another one is made anew."""
_MARK: Final = "mark.json"
_META: Final = "meta.json"
"""Where tantivy lists the parts of an index."""

_OF_USE: Final = ("lessons-recalled", "outcome-recorded")
"""Events that name lessons and leave alone what is searched of them: there is one of each for every task."""

_HEAP: Final = 64_000_000
_WORDS: Final = "stems"
_TIED: Final = 8


def installed() -> bool:
    """Return whether tantivy can be imported, without importing it."""
    from importlib.util import find_spec

    return find_spec("tantivy") is not None


def wanted(setting: str | None, lessons: int) -> bool:
    """Return whether a store of so many lessons in use is to be searched by tantivy."""
    choice = setting or os.environ.get(ENVIRONMENT) or "auto"
    return choice != "fts5" and (choice == "tantivy" or lessons > LARGE) and installed()


@functools.cache
def _module() -> Any:
    return importlib.import_module("tantivy")


@functools.cache
def _analyzer() -> Any:
    module = _module()
    builder = module.TextAnalyzerBuilder(module.Tokenizer.simple())
    for step in (module.Filter.lowercase(), module.Filter.ascii_fold(), module.Filter.stemmer("english")):
        builder = builder.filter(step)
    return builder.build()


def _schema() -> Any:
    builder = _module().SchemaBuilder()
    builder.add_integer_field("place", fast=True)
    builder.add_text_field("lesson", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("words", tokenizer_name=_WORDS, index_option="position")
    for field in ("scope", "sieve"):
        builder.add_text_field(field, tokenizer_name="whitespace", index_option="freq")
    return builder.build()


class _Mark(NamedTuple):
    """The event that an index stands at, and how many lessons it then held."""

    at: Head
    documents: int


class TantivyIndex:
    """The index in the folder beside one store.

    Args:
        folder: its own; made when it is first needed.
        texts: reads what is to be indexed.
    """

    def __init__(self, folder: Path, texts: Texts) -> None:
        self._folder = folder
        self.texts = texts
        self._index: Any = None
        self._mark: Head | None = None

    # -- searching -----------------------------------------------------------------------------------------------------

    def search(self, query: Sought, limit: int, transaction: Transaction) -> Sequence[tuple[str, float]] | None:
        """Return lessons and scores as the index in the file does; `None` where it must answer."""
        if not query.words and not query.scopes:
            return ()
        if not self.follow(transaction):
            return None
        try:
            asked = _query(self._index.schema, query)
            if asked is None:
                return ()
            searcher = self._index.searcher()
            # What ties at the limit is looked at a little further: of equals, the elder stay.
            hits = searcher.search(asked, limit + _TIED, count=False).hits
            places = searcher.fast_field_values("place", [address for _, address in hits])
        except (OSError, ValueError) as error:
            self._failed(error)
            return None
        best = sorted((-float(score), int(place)) for (score, _), place in zip(hits, places, strict=True))[:limit]
        names = transaction.rows.index.names([place for _, place in best])
        # Another process may have moved on: what this transaction does not know yet is left out.
        return [(name, -score) for score, name in sorted((score, names[place]) for score, place in best if place in names)]

    def follow(self, transaction: Transaction) -> bool:
        """Bring the index to the state of the transaction; return false where that cannot be now."""
        try:
            self._catch_up(transaction)
        except (OSError, ValueError) as error:
            self._failed(error)
            return False
        return True

    def _failed(self, error: OSError | ValueError) -> None:
        # Another process is at it; everything else that tantivy complains of is damage to what is only a copy.
        if isinstance(error, ValueError) and "lock" not in str(error).lower():
            self.forget()

    def stands_at(self) -> Head | None:
        """Return the event that the index stands at; `None` where there is no index, or nobody knows."""
        mark = self._read_mark()
        return mark.at if mark else None

    def documents(self) -> int:
        """Return how many lessons the index held when it was last brought up to date; 0 where there is none."""
        mark = self._read_mark()
        return mark.documents if mark else 0

    # -- keeping up ----------------------------------------------------------------------------------------------------

    def _catch_up(self, transaction: Transaction) -> None:
        """Bring the index to the state of the transaction; `OSError` or `ValueError` where that cannot be."""
        head = transaction.head()
        if self._mark == head:
            return
        mark = self._read_mark()
        if mark is None:
            # Another process may have thrown it away.
            self._index = None
        self._open(mark)
        at = mark.at if mark else None
        if at is not None and at.seq > head.seq:
            raise BlockingIOError("the index belongs to a later state of the store")
        if at != head:
            changed = changed_since(transaction, at)
            if changed is None or changed:
                self._write(self.texts(changed), anew=changed is None)
                self._index.reload()
            self._write_mark(_Mark(head, self._index.searcher().num_docs))
        self._index.reload()
        self._mark = head

    def _open(self, mark: _Mark | None) -> None:
        if self._index is not None:
            return
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        module = _module()
        index = module.Index(_schema(), path=str(self._folder))
        if mark is not None and index.searcher().num_docs != mark.documents:
            raise ValueError("parts of the index are gone")
        index.register_tokenizer(_WORDS, _analyzer())
        index.register_tokenizer("whitespace", module.TextAnalyzerBuilder(module.Tokenizer.whitespace()).build())
        self._index = index

    def _read_mark(self) -> _Mark | None:
        """Return the event that the index stands at; `None` where there is no index, or nobody knows."""
        try:
            if not (self._folder / _META).exists():
                return None
            mark = json.loads((self._folder / _MARK).read_text(encoding="utf-8"))
            return _Mark(Head(int(mark["seq"]), str(mark["hash"])), int(mark["documents"])) if mark["format"] == _FORMAT else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _write_mark(self, mark: _Mark) -> None:
        draft = self._folder / f"{_MARK}.{os.getpid()}.tmp"
        document = {"format": _FORMAT, **mark.at._asdict(), "documents": mark.documents}
        draft.write_text(json.dumps(document), encoding="utf-8")
        draft.replace(self._folder / _MARK)

    def _write(self, texts: Iterable[Sequence[Any]], *, anew: bool) -> None:
        """Write texts in place of those of the same lessons, or in place of all; a lesson without a text is taken out."""
        module = _module()
        writer = self._index.writer(heap_size=_HEAP, num_threads=1)
        if anew:
            writer.delete_all_documents()
        for name, place, words, scope, sieve in texts:
            if not anew:
                writer.delete_documents_by_term("lesson", name)
            if place is not None:
                writer.add_document(module.Document(lesson=name, place=place, words=words, scope=scope, sieve=sieve))
        writer.commit()
        # It takes the writer's lock with it.
        writer.wait_merging_threads()

    def forget(self) -> None:
        """Remove the index; the next search makes it anew."""
        import shutil

        self._index = self._mark = None
        shutil.rmtree(self._folder, ignore_errors=True)


def changed_since(transaction: Transaction, mark: Head | None) -> set[str] | None:
    """Return the lessons that events since the mark speak of; `None` where all are to be read anew."""
    if mark is None or mark[0] < 1:
        return None
    marked = transaction.by_seq(mark[0] - 1, 1)
    if not marked or marked[0].hash != mark[1]:
        return None
    changed: set[str] = set()
    after = mark[0]
    while events := transaction.by_seq(after, 512):
        if any(event.type == REDACTED for event in events):
            return None
        for event in events:
            if event.type in _OF_USE:
                continue
            # What was shown and what became of it is most of what happens; it needs nothing that folds events.
            from .projections import lesson_ids

            data = event.data() or {}
            changed.update(lesson_ids(event.type, data))
            if event.type == "flag-resolved":
                changed.update((transaction.rows.get("flags", data["flag_id"]) or {}).get("lesson_ids", ()))
        after = events[-1].seq
    return changed


def _query(schema: Any, query: Sought) -> Any:
    """Return the query in tantivy's terms; `None` where no word of it is one."""
    module = _module()
    wanted = [_phrase(schema, tokens) for word in query.words if (tokens := _analyzer().analyze(word))]
    wanted += [module.Query.term_query(schema, "scope", token) for token in query.scopes]
    if not wanted:
        return None
    parts = [(module.Occur.Must, _any(wanted))]
    for group in query.sieves:
        held = _any([module.Query.term_query(schema, "sieve", token) for token in group])
        parts.append((module.Occur.Must, module.Query.const_score_query(held, 0.0)))
    parts.append((module.Occur.MustNot, module.Query.term_query(schema, "sieve", FLAGGED)))
    return module.Query.boolean_query(parts)


def _any(queries: Sequence[Any]) -> Any:
    module = _module()
    return module.Query.boolean_query([(module.Occur.Should, query) for query in queries])


def _phrase(schema: Any, tokens: list[str]) -> Any:
    query = _module().Query
    return query.term_query(schema, "words", tokens[0]) if len(tokens) == 1 else query.phrase_query(schema, "words", tokens)
