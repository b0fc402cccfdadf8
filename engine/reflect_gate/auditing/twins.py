"""Which earlier entries an entry is compared with: a store of n entries is not n² comparisons.

Entries that share terms are found by their rarest terms first, so that a copy is among the few that are compared; a term that
stands in more than `_COMMON` entries tells nothing.

What has the same words and another number is no copy: of `port 8080` and `port 9090` one is wrong. Numbers that only point
somewhere (dates, lines, issues, commits, the number of a lesson) say nothing of the thing itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from ..facts import Fact
from ..measure._pattern import Pattern
from ..measure.similarity import similarity
from ..measure.stance import Agreement, stance
from ..measure.text import LIMIT, encodable, fold, terms
from .entries import Entry
from .markdown import said_of

__all__ = ["twins"]

_COMMON: Final = 512
_TERMS: Final = 48
_LEAST_SHARED: Final = 2
_READ: Final = 8_192

_POINTER: Final = Pattern(
    r"\b\d{4}[-./]\d{1,2}[-./]\d{1,2}(?:[Tt ]\d{1,2}:\d\d(?::\d\d)?)?|\b\d{1,2}[-./]\d{1,2}[-./]\d{4}\b"
    r"|#\d+|\b[A-Z]{2,10}-\d{1,7}\b|(?i:\b(?:lines?|lesson|issue|bug|incident|pr|pull request|commit) +\d+)"
    r"|\.(?:pyi?|[cm]?[jt]sx?|rs|go|java|kt|rb|c|h|cc|cpp|cs|php|sh|sql|ya?ml|toml|json|md):\d+|\b[0-9a-f]{7,40}\b"
)
_NUMBER: Final = Pattern(r"\d+(?:\.\d+)*")


def _words(entry: Entry) -> str:
    """Return the words of an entry in order, without the mark that makes it an entry."""
    return " ".join(fold(said_of(entry.text[:LIMIT])).split()) + entry.text[LIMIT:]


class _Index:
    """The terms of the entries so far."""

    def __init__(self, sets: Sequence[frozenset[str]]) -> None:
        self._often = Counter(term for found in sets for term in found)
        self._holding: dict[str, list[int]] = defaultdict(list)

    def near(self, found: frozenset[str], most: int) -> list[int]:
        """Return the earlier entries that share most with an entry, its rarest terms first."""
        shared: Counter[int] = Counter()
        for term in sorted(found, key=lambda term: (self._often[term], term))[:_TERMS]:
            if self._often[term] <= _COMMON:
                for place in self._holding[term]:
                    shared[place] += 1
        enough = [(-count, place) for place, count in shared.items() if count >= min(_LEAST_SHARED, len(found))]
        return [place for _, place in sorted(enough)[:most]]

    def add(self, place: int, found: frozenset[str]) -> None:
        """Take an entry in."""
        for term in found:
            if self._often[term] <= _COMMON:
                self._holding[term].append(place)


def _stated(text: str) -> frozenset[str]:
    """Return the numbers that a text states, without those that only point somewhere."""
    bare, at, text = [], 0, encodable(text)
    for found in _POINTER.finditer(text):
        # Seven digits and more are a commit only with a letter among them.
        if not found.group().isdigit():
            bare.append(text[at : found.start()])
            at = found.end()
    return frozenset(found.group() for found in _NUMBER.finditer(" ".join((*bare, text[at:]))))


def _numbers(earlier: str, text: str, said: Agreement) -> Agreement:
    """Return how two entries that are otherwise alike stand in their numbers: opposed where each has one of its own."""
    one, other = _stated(earlier), _stated(text)
    return "conflict" if one - other and other - one else said


def twins(entries: Sequence[Entry], most: int, alike_from: int = 100) -> Iterator[Fact]:
    """Yield a `twin` fact of each entry and each of at most `most` earlier ones that share terms with it.

    `alike_from` is the likeness, in per cent, from which an entry makes the statement of another.
    """
    texts = [said_of(entry.prose[:_READ]) for entry in entries]
    sets = [terms(text) for text in texts]
    index, first = _Index(sets), dict[str, int]()
    for place, (entry, found) in enumerate(zip(entries, sets, strict=True)):
        same = first.setdefault(_words(entry), place)
        if same != place:
            yield ("twin", entry.id, entries[same].id, True, 100, 0, "none", "none")
        else:
            text = texts[place]
            for other in index.near(found, most):
                earlier = texts[other]
                alike, said = similarity(earlier, text), stance(earlier, text)
                added = -(-100 * len(found - sets[other]) // max(1, len(found)))
                numbers = _numbers(earlier, text, said.numbers) if alike >= alike_from else said.numbers
                yield ("twin", entry.id, entries[other].id, False, alike, added, said.polarity, numbers)
            index.add(place, found)
