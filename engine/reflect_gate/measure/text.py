"""Texts as the measures see them: normal forms with their way back to the original, words, content terms, language.

A text is read up to `LIMIT` characters. The normal form is Unicode NFKC; comparisons are made on its case-folded form. NFKC is
applied cluster by cluster (a character with the marks that follow it), so that every position of the normal form has one origin.

A word is a run of letters, digits, marks and underscores; apostrophes are taken out first (`doesn't` is the word `doesnt`).
A content term is the stem (Snowball, English) of a word, or of each part of a `snake_case` or `camelCase` word, that is not a
stop word, has two characters or more, and is no plain number.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any, Literal, NamedTuple

from ._english import ACTION_VERBS, STOP_WORDS, TELLING_WORDS

__all__ = [
    "LIMIT",
    "Analysis",
    "Normal",
    "analyse",
    "encodable",
    "fold",
    "language",
    "normalise",
    "placed_words",
    "split_words",
    "terms",
    "terms_of_words",
    "terms_once",
    "words",
]

LIMIT = 65_536
"""Characters of one text that are read."""

_WORD_LIMIT = 64
_STEM_RANGE = range(3, 33)
_CACHED_TEXT = 8_192
_KEPT_WORDS = 65_536


class Normal(NamedTuple):
    """The NFKC form of a text. `origins[i]` is where character `i` began in the original; `None` where both are the same text."""

    text: str
    origins: Sequence[int] | None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original that became `text[start:end]` (`start < end`), widened to whole clusters."""
        if self.origins is None:
            return start, end
        origins = self.origins
        first, stop = origins[start], origins[end]
        last = origins[end - 1]
        while stop == last:
            end += 1
            stop = origins[end]
        return first, stop


def encodable(text: str) -> str:
    """Return at most `LIMIT` characters, lone surrogates (which no encoder takes) replaced one for one."""
    bounded = text[:LIMIT]
    if bounded.isascii():
        return bounded
    try:
        bounded.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in bounded)
    return bounded


def _extends(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" or "\u1160" <= character <= "\u11ff"


def normalise(text: str) -> Normal:
    """Return the NFKC form of at most `LIMIT` characters with the origin of each; linear."""
    if text.isascii():
        return Normal(text[:LIMIT], None)
    plain = encodable(text)
    if unicodedata.is_normalized("NFKC", plain):
        return Normal(plain, None)
    pieces: list[str] = []
    origins: list[int] = []
    start = 0
    for end in range(1, len(plain) + 1):
        if end < len(plain) and _extends(plain[end]):
            continue
        piece = unicodedata.normalize("NFKC", plain[start:end])
        pieces.append(piece)
        origins.extend([start] * len(piece))
        start = end
    origins.append(len(plain))
    return Normal("".join(pieces), origins)


def fold(text: str) -> str:
    """Return the case-folded NFKC form of at most `LIMIT` characters."""
    return text[:LIMIT].lower() if text.isascii() else normalise(text).text.casefold()


# -- words -----------------------------------------------------------------------------------------------------------------------


class _WordTable(dict[int, "int | None"]):
    """Keeps the characters of words, drops apostrophes and turns everything else into a space."""

    def __missing__(self, code: int) -> int:
        kept = unicodedata.category(chr(code))[0] in "LNM"
        return code if kept else 32


_TABLE = _WordTable({code: code if chr(code).isalnum() or chr(code) == "_" else 32 for code in range(128)})
_APOSTROPHES = "'\u2019\u02bc"
_PLACED = _WordTable({**_TABLE, **{ord(mark): ord(mark) for mark in _APOSTROPHES}})
_TABLE.update({ord(mark): None for mark in _APOSTROPHES})


def split_words(text: str) -> list[str]:
    """Return the words of the NFKC form in order, their case kept."""
    plain = text[:LIMIT] if text.isascii() else normalise(text).text
    return plain.translate(_TABLE).split()


def placed_words(normal: str) -> Iterator[tuple[int, int, str]]:
    """Yield `(start, end, word)` of the words of a normal form; the place holds the apostrophes that the word has lost."""
    position = 0
    for piece in normal.translate(_PLACED).split():
        start = normal.index(piece, position)
        position = start + len(piece)
        word = piece.translate(_TABLE)
        if word:
            yield start, position, word


def words(text: str) -> list[str]:
    """Return the case-folded words in order."""
    return fold(text).translate(_TABLE).split()


# -- content terms ---------------------------------------------------------------------------------------------------------------


@cache
def _stemmer() -> Any:
    """Return the Snowball stemmer for English."""
    import Stemmer

    # `_stem` keeps what was stemmed; the stemmer needs no memory of its own.
    return Stemmer.Stemmer("english", 0)


@cache
def _stem_word() -> Callable[[str], str]:
    stem: Callable[[str], str] = _stemmer().stemWord
    return stem


@lru_cache(maxsize=32_768)
def _stem(word: str) -> str:
    return _stem_word()(word) if len(word) in _STEM_RANGE and word.isascii() and word.isalpha() else word


def _parts(word: str) -> list[str]:
    """Return the parts of a snake_case or camelCase word, the word itself where it has one part."""
    spaced: list[str] = []
    previous = ""
    for character in word.replace("_", " "):
        if character.isupper() and previous.islower():
            spaced.append(" ")
        spaced.append(character)
        previous = character
    return "".join(spaced).casefold().split()


class _TermTable(dict[str, tuple[str, ...]]):
    """The content terms of single words, kept for the next text; a lookup that hits runs no Python."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(self) >= _KEPT_WORDS:
            self.clear()
        found = self[word] = _terms_of(word)
        return found


def _terms_of(word: str) -> tuple[str, ...]:
    if len(word) > _WORD_LIMIT:
        return (word[:_WORD_LIMIT].casefold(),)
    whole = word.islower() and "_" not in word
    parts = (word,) if whole else _parts(word)
    return tuple(_stem(part) for part in parts if len(part) > 1 and part not in STOP_WORDS and not part.isdigit())


class Analysis(NamedTuple):
    """A text's words in order (case kept) and its distinct content terms."""

    words: tuple[str, ...]
    terms: frozenset[str]


_TERMS = _TermTable()


def _terms(found: Iterable[str]) -> frozenset[str]:
    return frozenset(chain.from_iterable(map(_TERMS.__getitem__, found)))


def _analyse(text: str) -> Analysis:
    found = split_words(text)
    return Analysis(tuple(found), _terms(found))


_analyse_cached = lru_cache(maxsize=512)(_analyse)


def analyse(text: str) -> Analysis:
    """Return words and content terms; results for short texts are kept for the next measure of the same text."""
    return _analyse_cached(text) if len(text) <= _CACHED_TEXT else _analyse(text)


def terms(text: str) -> frozenset[str]:
    """Return the distinct content terms of a text."""
    return analyse(text).terms


def terms_once(text: str) -> frozenset[str]:
    """Return the distinct content terms of a text that no other measure reads, so that nothing is kept of it."""
    return _terms(split_words(text))


def terms_of_words(known: Iterable[str]) -> frozenset[str]:
    """Return the distinct content terms of words of small ASCII letters, all at once: every start reads hundreds of them."""
    return frozenset(_stemmer().stemWords([word for word in known if len(word) in _STEM_RANGE and word not in STOP_WORDS]))


# -- language --------------------------------------------------------------------------------------------------------------------

_KNOWN_WORDS = TELLING_WORDS | ACTION_VERBS
_MIN_ASCII, _MIN_FUNCTION, _MIN_KNOWN = 90, 15, 40


def language(text: str) -> Literal["english", "unmeasurable"]:
    """Return whether a text reads as English.

    English has at least 90 % ASCII among its letters, and of its words either 15 % are English words of grammar that its
    neighbours do not share, or 40 % are those and verbs of action. A text without a letter is unmeasurable.
    """
    found = [word.casefold() for word in analyse(text).words]
    if not _ascii_letters(text):
        return "unmeasurable"
    functional = sum(1 for word in found if word in TELLING_WORDS)
    known = sum(1 for word in found if word in _KNOWN_WORDS)
    readable = functional * 100 >= _MIN_FUNCTION * len(found) or known * 100 >= _MIN_KNOWN * len(found)
    return "english" if readable else "unmeasurable"


def _ascii_letters(text: str) -> bool:
    """Return whether a text has letters, and enough of them are ASCII."""
    if text.isascii():
        return text.upper() != text.lower()
    letters = [character for character in normalise(text).text if character.isalpha()]
    return bool(letters) and sum(map(str.isascii, letters)) * 100 >= _MIN_ASCII * len(letters)
