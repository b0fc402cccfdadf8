r"""Lexicons found in texts: one automaton tells which patterns occur, and only those are searched for their places.

In the first few texts of a process the literals that each pattern needs stand in for the automaton, which takes longer to
build than one request takes to judge; both find the same.

A pattern is RE2, matched without regard to case on the NFKC form of a text; at either end that is a word character it is bound to
a word boundary (`\b(?:…)\b`). Places are given in the original text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from ..errors import ReflectGateError
from ..policy.atoms import searched
from ._english import STOP_WORDS
from ._sieve import Sieve, has_gap
from .text import Normal, normalise, placed_words

__all__ = ["MATCH_LIMIT", "SPAN_LIMIT", "LexiconHit", "LexiconSet", "Span", "wrapped"]

MATCH_LIMIT = 4_096
"""Matches of one pattern in one text that are placed; beyond it the rest of the text counts as matched."""

SPAN_LIMIT = 64
"""Spans of one lexicon in one text that are reported; counts and coverage are over all of them."""

_MEMORY = 256 << 20

_FIRST = 8
"""Calls that look for atoms before the automaton of all patterns is worth building: one request never builds it."""


class _Group(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def patterns(self) -> Sequence[str]: ...
    @property
    def atoms(self) -> Sequence[Sequence[Sequence[str]]]: ...


class _Lexicon(Protocol):
    @property
    def groups(self) -> Iterable[_Group]: ...


class Span(NamedTuple):
    """A place in the original text, `text[start:end]`, and the group whose pattern matches there."""

    start: int
    end: int
    group: str


@dataclass(frozen=True, slots=True)
class LexiconHit:
    """A lexicon found in one text field: `count` matches that do not overlap, `coverage` in hundredths, the first spans."""

    lexicon: str
    target: str
    count: int
    coverage: int
    spans: tuple[Span, ...]

    def spans_json(self) -> list[dict[str, Any]]:
        """Return the spans as the decision shows them."""
        return [
            {"target": self.target, "lexicon": self.lexicon, "group": span.group, "start": span.start, "end": span.end}
            for span in self.spans
        ]


class _Pattern:
    """One pattern of a group; compiled on its own when it may occur. A text that holds it holds one of each of its `atoms`."""

    def __init__(self, lexicon: str, group: str, written: str, atoms: Sequence[Sequence[str]]) -> None:
        self.lexicon = lexicon
        self.group = group
        self.atoms = atoms
        self._written = written

    @cached_property
    def source(self) -> str:
        """The pattern as it is matched; most are never asked for it by one request."""
        return wrapped(self._written)

    def possible(self, text: str) -> bool:
        """Return whether a lowered `atoms.searched` text may hold a match."""
        for need in self.atoms:
            for atom in need:
                if atom in text:
                    break
            else:
                return False
        return True

    @cached_property
    def _compiled(self) -> Any:
        import re2

        try:
            return re2.compile(self.source, _options())
        except re2.error as error:
            raise ReflectGateError("measure-lexicon", f"a lexicon pattern is not RE2: {error}") from error

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the places of the matches that do not overlap; the last one runs to the end where there are too many."""
        for number, match in enumerate(self._compiled.finditer(text)):
            start, end = match.span()
            if number == MATCH_LIMIT:
                yield start, len(text)
                return
            if end > start:
                yield start, end


def _options() -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    return options


_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def _lowered(text: str) -> str:
    """Return a normal form with its ASCII letters small; every position stays."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def wrapped(pattern: str) -> str:
    """Return a pattern bound to word boundaries at each end that is a word character, to be matched on `_lowered` text.

    Matching a small ASCII pattern with regard to case on such a text is matching it without on the text itself, and halves the
    time that the automaton takes to build; other patterns disregard case themselves.
    """
    start = r"\b" if pattern[:1].isalnum() or pattern[:1] == "_" else ""
    end = r"\b" if pattern[-1:].isalnum() or pattern[-1:] == "_" else ""
    case = "" if pattern.isascii() and pattern == pattern.lower() else "(?i)"
    return f"{case}{start}(?:{pattern}){end}"


class LexiconSet:
    """All lexicons of a bundle (name → lexicon with `groups` of `patterns`); built once, then safe to share between threads."""

    def __init__(self, lexicons: Mapping[str, _Lexicon]) -> None:
        self._patterns = [
            _Pattern(name, group.id, pattern, needed)
            for name, lexicon in sorted(lexicons.items())
            for group in lexicon.groups
            for pattern, needed in zip(group.patterns, group.atoms or ((),) * len(group.patterns), strict=True)
        ]
        self._calls = 0

    @cached_property
    def _joined(self) -> list[_Pattern]:
        return [pattern for pattern in self._patterns if not has_gap(pattern)]

    @cached_property
    def _sieve(self) -> Sieve:
        """The patterns with gaps, which are kept out of the automaton."""
        return Sieve([pattern for pattern in self._patterns if has_gap(pattern)], _options())

    @cached_property
    def _automaton(self) -> tuple[Any, int]:
        """The automaton of the patterns without gaps, and the number of one that every text holds: without it, it gave up."""
        import re2

        built = re2.Set.SearchSet(_options())
        try:
            for pattern in self._joined:
                built.Add(pattern.source)
            sentinel: int = built.Add(r"\z")
            built.Compile()
        except re2.error as error:
            raise ReflectGateError("measure-lexicon", f"a lexicon pattern is not RE2: {error}") from error
        return built, sentinel

    def _occurring(self, text: str, possible: Sequence[_Pattern] | None) -> Sequence[_Pattern]:
        """Return, in order, at least the patterns that a lowered text holds, of those that are `possible` where that is known."""
        ready = searched(text)
        if possible is not None:
            return [pattern for pattern in possible if pattern.possible(ready)]
        automaton, sentinel = self._automaton
        found = automaton.Match(text)
        if sentinel not in found:
            raise ReflectGateError("measure-lexicon", f"the lexicons need more than {_MEMORY} bytes for one text")
        joined = [self._joined[number] for number in sorted(found) if number != sentinel]
        return joined + self._sieve.possible(ready)

    def hits(self, texts: Mapping[str, str]) -> tuple[LexiconHit, ...]:
        """Return every lexicon found in every text (target → text), by target in the given order, then by lexicon.

        Measure `lexicon` 1.0.0. `count` is the number of matches that do not overlap (earliest first, of equal starts the
        longest); `coverage` is the share of the text's content words (words that are no stop words; all words where there are
        none) that touch a match, in hundredths rounded up. Raises `measure-lexicon` when the automaton ran out of memory. Linear.
        """
        self._calls += 1
        normals = {target: normalise(text) for target, text in texts.items() if text}
        possible = None
        if self._calls <= _FIRST:
            every = searched("\n".join([_lowered(normal.text) for normal in normals.values()]))
            possible = [pattern for pattern in self._patterns if pattern.possible(every)]
        return tuple(hit for target, normal in normals.items() for hit in self._hits(target, normal, possible))

    def _hits(self, target: str, normal: Normal, possible: Sequence[_Pattern] | None) -> Iterator[LexiconHit]:
        lowered = _lowered(normal.text)
        by_lexicon: dict[str, list[tuple[int, int, str]]] = {}
        for pattern in self._occurring(lowered, possible):
            placed = [(start, end, pattern.group) for start, end in pattern.spans(lowered)]
            if placed:
                by_lexicon.setdefault(pattern.lexicon, []).extend(placed)
        if by_lexicon:
            words = _content_words(normal.text)
            for name, raw in sorted(by_lexicon.items()):
                yield _hit(name, target, raw, normal, words)


def _content_words(normal: str) -> list[tuple[int, int]]:
    """Return the places of the content words of a normal form, of all its words where none has content."""
    every = list(placed_words(normal))
    content = [(start, end) for start, end, word in every if word.casefold() not in STOP_WORDS]
    return content or [(start, end) for start, end, _ in every]


def _hit(
    name: str, target: str, raw: Sequence[tuple[int, int, str]], normal: Normal, words: Sequence[tuple[int, int]]
) -> LexiconHit:
    """Return the hit of one lexicon from its matches `(start, end, group)`."""
    kept: list[Span] = []
    covering: list[tuple[int, int]] = []
    for start, end, group in sorted(raw, key=lambda match: (match[0], -match[1], match[2])):
        if covering and start < covering[-1][1]:
            covering[-1] = (covering[-1][0], max(end, covering[-1][1]))
        else:
            covering.append((start, end))
        if not kept or start >= kept[-1].end:
            kept.append(Span(start, end, group))
    share = -(-_covered(words, covering) * 100 // len(words)) if words else 100
    spans = tuple(Span(*normal.span(span.start, span.end), span.group) for span in kept[:SPAN_LIMIT])
    return LexiconHit(name, target, len(kept), share, spans)


def _covered(words: Sequence[tuple[int, int]], covering: Sequence[tuple[int, int]]) -> int:
    """Return how many of `words` touch one of `covering`; both ordered, one pass."""
    count = place = 0
    for start, end in words:
        while place < len(covering) and covering[place][1] <= start:
            place += 1
        count += place < len(covering) and covering[place][0] < end
    return count
