"""The grammar of scopes: what a lesson says that it applies to.

    scope = term {whitespace term}
    term  = key ":" value | word            key = repo | lang | path | error | task
    value = characters without whitespace, or characters between double quotes

A scope is the conjunction of its terms, so adding a term narrows it and removing one broadens it; the empty scope is anything.
`lang:` values are compared by one name (`py` is `python`), `repo:` values without scheme, host and `.git`, `path:` values by
whole segments (`path:src` covers `path:src/a.py`), everything else by its case-folded NFKC form. Free words qualify a scope but
bound nothing by themselves: their breadth is `any`. At most `TERM_LIMIT` terms of `VALUE_LIMIT` characters are kept; dropping
makes a scope broader, so it needs more evidence.

A *place* is the scope of what is known of a task or of where a failure happened: typed terms alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from ._english import STOP_WORDS
from .text import LIMIT, normalise

__all__ = ["BREADTHS", "KEYS", "TERM_LIMIT", "VALUE_LIMIT", "Fit", "FitValue", "Relation", "Scope", "Term", "fits", "implied"]

Relation: TypeAlias = Literal["equal", "covers", "covered", "overlapping", "disjoint"]
FitValue: TypeAlias = Literal["holds", "unknown", "fails"]

KEYS = ("task", "path", "error", "repo", "lang")
"""Keys of typed terms, the narrowest first; the canonical form keeps this order, then free words."""

_ORDER = {key: place for place, key in enumerate(KEYS)}

BREADTHS = {"task": "task", "path": "file", "error": "error", "repo": "repo", "lang": "lang"}
"""Breadth by key."""

TERM_LIMIT = 64
VALUE_LIMIT = 256

_LANGUAGES = {
    "py": "python",
    "python3": "python",
    "js": "javascript",
    "ts": "typescript",
    "golang": "go",
    "rs": "rust",
    "rb": "ruby",
    "c++": "cpp",
    "c#": "csharp",
    "sh": "shell",
    "bash": "shell",
}


class Term(NamedTuple):
    """One condition of a scope: `key` is one of `KEYS`, or empty for a free word; `value` is its normal form."""

    key: str
    value: str

    def __str__(self) -> str:
        if not self.key:
            return self.value
        bare = self.value and not any(character.isspace() for character in self.value)
        return f"{self.key}:{self.value}" if bare else f'{self.key}:"{self.value}"'

    def covers(self, other: Term) -> bool:
        """Return whether everything that `other` holds for, this term holds for."""
        if self.key != other.key:
            return False
        return self.value == other.value or (self.key == "path" and other.value.startswith(self.value.rstrip("/") + "/"))


def _folded(raw: str) -> str:
    """Return a normal form that normalising again leaves alone, with single spaces."""
    for _ in range(4):
        folded = " ".join(normalise(raw).text.casefold().split())
        if folded == raw:
            break
        raw = folded
    return raw


def _repository(value: str) -> str:
    """Return a repository without scheme, user, host and `.git`: `acme/shop` for each of its URLs."""
    bare = value.rstrip("/").removesuffix(".git")
    if "://" in bare:
        return bare.partition("://")[2].partition("/")[2] or bare
    if "@" in bare and ":" in bare.partition("@")[2]:
        return bare.partition("@")[2].partition(":")[2].strip("/") or bare
    return bare or value


def _value(key: str, raw: str) -> str:
    value = " ".join(raw.split())[:VALUE_LIMIT].rstrip()
    if key == "repo":
        return _repository(value)
    if key == "lang":
        return _LANGUAGES.get(value, value)
    if key == "path":
        segments = [part.strip() for part in value.replace("\\", "/").split("/")]
        rooted = "/" if value.startswith(("/", "\\")) else ""
        return rooted + "/".join(part for part in segments if part not in {"", "."})
    return value


def _tokens(text: str) -> Iterator[str]:
    """Yield the tokens; a quote opens a value directly after `:` only, and an open quote ends with the text."""
    if '"' not in text:
        yield from text.split()
        return
    held: list[str] = []
    quoted = False
    for character in text:
        if character == '"':
            if quoted:
                yield "".join(held)
                held.clear()
            quoted = not quoted and held[-1:] == [":"]
        elif character.isspace() and not quoted:
            yield "".join(held)
            held.clear()
        else:
            held.append(character)
    yield "".join(held)


# The terms of a store's lessons are few, and each is in many of them.
@lru_cache(maxsize=4_096)
def _term(token: str) -> Term | None:
    key, colon, raw = token.partition(":")
    known = key.casefold()
    if colon and known in KEYS:
        value = _value(known, raw)
        return Term(known, value) if value else None
    value = _value("", token)
    return Term("", value) if value else None


class Fit(NamedTuple):
    """Whether a scope holds for a place: every typed term does, one cannot be told, or one does not; and the terms that do."""

    fit: FitValue
    matched: tuple[Term, ...]


class Scope(NamedTuple):
    """A parsed scope; `terms` are distinct and in canonical order."""

    terms: tuple[Term, ...]

    @classmethod
    def parse(cls, text: str) -> Scope:
        """Return the scope that a text says; any text is one. Measure `scope` 1.1.0, linear."""
        found = [_term(token) for token in _tokens(_folded(text[:LIMIT])) if token]
        return cls.of(term for term in found if term is not None)

    @classmethod
    def place(cls, known: Iterable[tuple[str, str]]) -> Scope:
        """Return the place that `(key of KEYS, value as written)` pairs tell; blank values tell nothing."""
        values = ((key, _value(key, _folded(raw[:LIMIT]).replace('"', " "))) for key, raw in known)
        return cls.of(Term(key, value) for key, value in values if value)

    @classmethod
    def of(cls, terms: Iterable[Term]) -> Scope:
        """Return the scope of terms in normal form, the first `TERM_LIMIT` of them."""
        distinct = list(dict.fromkeys(terms))[:TERM_LIMIT]
        typed = sorted([(_ORDER[term.key], term.value, term) for term in distinct if term.key])
        return cls((*[term for _, _, term in typed], *[term for term in distinct if not term.key]))

    def __str__(self) -> str:
        return " ".join(str(term) for term in self.terms)

    @property
    def breadth(self) -> str:
        """Return how much the scope covers; its narrowest term decides, and free words alone bound nothing."""
        return next((BREADTHS[term.key] for term in self.terms if term.key), "any")

    def covers(self, other: Scope) -> bool:
        """Return whether all of `other` is in this scope: a term there implies each term here; stop words are not asked for."""
        wanted = (term for term in self.terms if term.key or term.value not in STOP_WORDS)
        return all(any(term.covers(given) for given in other.terms) for term in wanted)

    @property
    def typed(self) -> tuple[Term, ...]:
        """Return the terms that bound the scope."""
        return tuple(term for term in self.terms if term.key)

    def relation(self, other: Scope) -> Relation:
        """Return how this scope stands to `other`.

        A failure has one task, place, error class, repository and language: two scopes that name one of them differently are
        disjoint. Free words keep no two scopes apart.
        """
        covers, covered = self.covers(other), other.covers(self)
        if covers or covered:
            return "equal" if covers and covered else "covers" if covers else "covered"
        return "disjoint" if any(_apart(key, self.terms, other.terms) for key in KEYS) else "overlapping"

    def fit(self, place: Scope) -> Fit:
        """Return whether the scope holds for a place, by its typed terms; it holds exactly where they cover the place.

        A term of a key that the place says nothing of cannot be told, nor one that is narrower than what the place says.
        """
        return fits(place)(self)

    def narrowed(self, term: Term) -> Scope:
        """Return the scope with `term` added; the same scope where it is there already or the limit is reached."""
        return self.of((*self.terms, term))

    def broadened(self, term: Term) -> Scope:
        """Return the scope without `term`."""
        return self.of(kept for kept in self.terms if kept != term)


def _apart(key: str, mine: Iterable[Term], theirs: Iterable[Term]) -> bool:
    """Return whether both name `key`, and no term of one covers a term of the other."""
    left = [term for term in mine if term.key == key]
    right = [term for term in theirs if term.key == key]
    return bool(left and right) and not any(a.covers(b) or b.covers(a) for a in left for b in right)


def fits(place: Scope) -> Callable[[Scope], Fit]:
    """Return `Scope.fit` for one place, to be asked of many scopes."""
    held: dict[str, list[Term]] = {}
    for known in place.terms:
        held.setdefault(known.key, []).append(known)

    def fit(scope: Scope) -> Fit:
        found: FitValue = "holds"
        matched = []
        for term in scope.terms:
            given = held.get(term.key, ())
            if not term.key:
                continue
            if term in given or (term.key == "path" and any(map(term.covers, given))):
                matched.append(term)
            elif not given or (term.key == "path" and any(other.covers(term) for other in given)):
                found = "unknown" if found == "holds" else found
            else:
                found = "fails"
        return Fit(found, tuple(matched))

    return fit


def implied(place: Scope) -> tuple[str, ...]:
    """Return every canonical typed term that holds for a place, the folders above its paths too, in canonical order.

    A scope whose typed terms are all among them holds for the place, and no other does.
    """
    terms: list[Term] = []
    for term in place.typed:
        terms.append(term)
        if term.key == "path":
            parts = term.value.split("/")
            terms += [Term("path", "/".join(parts[:length]) or "/") for length in range(1, len(parts))]
    return tuple(dict.fromkeys(str(term) for term in sorted(terms, key=lambda term: (KEYS.index(term.key), term.value))))
