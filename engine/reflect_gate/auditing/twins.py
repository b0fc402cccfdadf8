"""Which earlier entries an entry is compared with: a store of n entries is not n² comparisons.

Entries that share terms are found by their rarest terms first, so that a copy is among the few that are compared; a term that
stands in more than `_COMMON` entries tells nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from ..facts import Fact
from ..measure.similarity import similarity
from ..measure.stance import stance
from ..measure.text import LIMIT, fold, terms
from .entries import Entry
from .markdown import said_of

__all__ = ["twins"]

_COMMON: Final = 512
_TERMS: Final = 48
_LEAST_SHARED: Final = 2
_READ: Final = 8_192


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


def twins(entries: Sequence[Entry], most: int) -> Iterator[Fact]:
    """Yield a `twin` fact of each entry and each of at most `most` earlier ones that share terms with it."""
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
                yield ("twin", entry.id, entries[other].id, False, alike, added, said.polarity, said.numbers)
            index.add(place, found)
