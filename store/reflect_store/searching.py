"""Searching for lessons: what is asked (`SearchQuery`), what is found (`Found`), and what of a lesson is searched (`Text`).

A lesson in use is searched by the words of its statement, scope and tags, and by the typed terms of its scope (`lang:python`),
each one token. A lesson that is bound to other repositories or languages than the ones that are asked for is not found.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ._hashing import sha256
from ._reading import loads
from .protocol import Row, Rows, Transaction
from .tables import TableName

if TYPE_CHECKING:
    import threading

__all__ = [
    "FLAGGED",
    "IN_USE",
    "Found",
    "SearchQuery",
    "Sought",
    "Text",
    "any_of",
    "index_row",
    "run",
    "scope_token",
    "sought",
    "stems",
    "text_of",
]

IN_USE: Final = ("active", "flagged")
"""Lessons of these standings are in the index; a search finds the active ones alone."""

KEYS: Final = ("task", "path", "error", "repo", "lang")
"""Keys of typed scope terms, as the gate's grammar has them."""

BINDING: Final = ("repo", "lang")
"""A task has one of each, so a lesson bound to another one cannot apply to it."""

FLAGGED: Final = "flagged"
"""The token of lessons that are kept from being shown: flagged away, or red-flagged."""

MOST_WORDS: Final = 64
MOST_SCOPES: Final = 64
MOST_LETTERS: Final = 128

# As text, which `re` compiles when it is first searched for.
_TERM: Final = r'\w+:"[^"]*"|\S+'
_WORD: Final = r"\w+"


class SearchQuery(NamedTuple):
    """What is searched for.

    Args:
        words: plain words of any form; the index compares their stems.
        scopes: canonical scope terms that hold for the task, the folders above a path too.
        signature: lessons that the ledger joins to it come first, however well they match.
        limit: lessons at most.
    """

    words: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    signature: str | None = None
    limit: int = 50


class Found(NamedTuple):
    """A lesson that was found: its BM25 score (higher is better, 0 where only the signature led to it) and its row.

    `exact` says that the ledger joins it to the signature that was asked for; `held` is the row as it is kept, canonical JSON.
    """

    lesson_id: str
    score: float
    held: bytes
    exact: bool = False

    @property
    def row(self) -> Row:
        """A fresh copy of the lesson's row, read when it is asked for: most of what is found is not looked at further."""
        return cast("Row", loads(self.held))


class Text(NamedTuple):
    """What is searched of one lesson: words, and tokens of its scope; `sieve` are tokens that only let through or hold back."""

    lesson_id: str
    time: str
    words: str
    scope: str
    sieve: str


class Sought(NamedTuple):
    """A query in tokens: at least one of `words` and `scopes` must be met, and one of each group of `sieves`."""

    words: tuple[str, ...]
    scopes: tuple[str, ...]
    sieves: tuple[tuple[str, ...], ...]


@functools.lru_cache(maxsize=4_096)
def scope_token(term: str) -> str:
    """Return the one token that stands for a scope term: digits at its end, so that no stemmer takes it for a word."""
    digest = sha256(term.casefold().encode("utf-8", "replace"))
    return f"s{int.from_bytes(digest[:8], 'big'):020}"


def any_of(key: str) -> str:
    """Return the token of lessons that are bound to no value of `key`."""
    return f"any{key}"


def _terms(scope: str) -> tuple[list[str], list[str]]:
    """Return the typed terms and the free words of a scope."""
    typed: list[str] = []
    free: list[str] = []
    for term in re.findall(_TERM, scope.casefold()):
        (typed if term.partition(":")[0] in KEYS and ":" in term else free).append(term)
    return typed, free


def _bound(typed: Iterable[str], key: str) -> list[str]:
    return [scope_token(term) for term in typed if term.startswith(f"{key}:")]


def text_of(row: Row) -> Text | None:
    """Return what is searched of the lesson of `row`; nothing where it is out of use."""
    if row["standing"] not in IN_USE:
        return None
    lesson = row["lesson"]
    typed, free = _terms(lesson["scope"])
    sieve = [token for key in BINDING for token in _bound(typed, key) or [any_of(key)]]
    sieve += [FLAGGED] if row["standing"] == "flagged" or row["envelope"]["red_flag"] else []
    words = _clean(" ".join([lesson["statement"], *free, *row["envelope"].get("tags", ())]))
    return Text(row["id"], row["time"], words, " ".join(map(scope_token, typed)), " ".join(sieve))


def _clean(text: str) -> str:
    """Return words alone: what an index would split at anyway, and what a file could not hold."""
    return text if text.isalnum() else " ".join(re.findall(_WORD, text))


@functools.cache
def _stemmers() -> threading.local:
    """Return what keeps a stemmer for each thread: it has state while it works."""
    # A search alone needs no stems, and no threads.
    import threading

    return threading.local()


def _stemmer() -> Callable[[list[str]], list[str]]:
    kept = _stemmers()
    try:
        stem_words: Callable[[list[str]], list[str]] = kept.stem_words
    except AttributeError:
        import Stemmer

        stem_words = kept.stem_words = Stemmer.Stemmer("porter").stemWords
    return stem_words


def stems(text: str) -> list[str]:
    """Return the stems of the longest words of a text, which are the rare ones as a rule; equals by letter."""
    words = sorted(set(re.findall(_WORD, text.casefold())), key=lambda word: (-len(word), word))[:MOST_WORDS]
    return list(dict.fromkeys(_stemmer()([word[:MOST_LETTERS] for word in words])))


def index_row(rows: Rows, table: TableName, key: str, row: Row | None) -> None:
    """Bring the search index in step with a row that was written, or removed where `row` is `None`."""
    if table != "lessons":
        return
    text = None if row is None else text_of(row)
    if text is None:
        rows.index.drop(key)
    else:
        rows.index.put(text)


def sought(query: SearchQuery) -> Sought:
    """Return the tokens of a query; no character of it has any meaning but its own."""
    terms = [_terms(scope) for scope in query.scopes[: 4 * MOST_SCOPES]]
    typed = list(dict.fromkeys(term for known, _ in terms for term in known))[:MOST_SCOPES]
    given = [*query.words, *(word for _, free in terms for word in free)]
    words = (_clean(word[:MOST_LETTERS].casefold()) for word in given)
    sieves = [(*held, any_of(key)) for key in BINDING if (held := _bound(typed, key))]
    # Nearly every lesson shares the language: that keeps others out, and finds by itself only where nothing else is asked.
    telling = [term for term in typed if not term.startswith("lang:")]
    found = tuple(dict.fromkeys(word for word in words if word))[:MOST_WORDS]
    scopes = telling if telling or found else typed
    return Sought(found, tuple(map(scope_token, scopes)), tuple(sieves))


def run(transaction: Transaction, query: SearchQuery) -> list[Found]:
    """Return the lessons in use that match, the best first, ties by id; those of the signature before all others."""
    rows = transaction.rows
    scores = dict(rows.index.search(sought(query), query.limit))
    exact: list[str] = []
    if query.signature is not None:
        joined = rows.select("edges", {"signature": query.signature}, None, query.limit, newest=False).rows
        exact = sorted(row["lesson_id"] for row in joined)
    found = rows.held("lessons", dict.fromkeys([*exact, *scores]))
    joined_to = (Found(name, scores.get(name, 0.0), found[name], True) for name in exact if name in found)
    # The index finds active lessons alone; the ledger also joins those that are flagged.
    first = [entry for entry in joined_to if entry.row["standing"] == "active"]
    known = set(exact)
    rest = [Found(name, score, found[name]) for name, score in scores.items() if name in found and name not in known]
    return (first + rest)[: query.limit]
