"""Texts that a lexicon pattern matches, made from the pattern itself: bounded, and told whether they are all there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

__all__ = ["LIMIT", "Samples", "samples"]

LIMIT: Final = 512
"""Texts made of one pattern; beyond it the rest is left out."""

_CLASSES: Final = {"w": "a", "d": "1", "s": " ", "W": " ", "D": "a", "S": "a", "n": "\n", "t": "\t", "r": "\r"}
_NOTHING: Final = frozenset("bBAz")
_REPEATS: Final = 2


class Samples(NamedTuple):
    """Texts, in the order of the pattern's alternatives; `whole` where the pattern matches no others but for case."""

    texts: tuple[str, ...]
    whole: bool


class _UnreadableError(Exception):
    """The pattern uses something that this reader does not know."""


def samples(pattern: str) -> Samples:
    """Return texts of `pattern` (RE2 syntax); none where it cannot be read."""
    reader = _Reader(pattern)
    try:
        texts = reader.alternatives()
        if reader.place != len(pattern):
            return Samples((), False)
    except (_UnreadableError, IndexError, RecursionError, ValueError):
        return Samples((), False)
    return Samples(tuple(dict.fromkeys(texts)), reader.whole)


class _Reader:
    """Reads a pattern left to right; each method returns texts of its part."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.place = 0
        self.whole = True

    def _next(self) -> str:
        return self.pattern[self.place : self.place + 1]

    def _kept(self, texts: Sequence[str]) -> list[str]:
        if len(texts) > LIMIT:
            self.whole = False
        return list(texts[:LIMIT])

    def alternatives(self) -> list[str]:
        found = self._sequence()
        while self._next() == "|":
            self.place += 1
            found += self._sequence()
        return self._kept(found)

    def _sequence(self) -> list[str]:
        found = [""]
        while self._next() not in ("", "|", ")"):
            part = self._repeated(self._part())
            if len(found) * len(part) > LIMIT:
                self.whole = False
            # Each choice of the part is kept at least once, however many texts came before.
            head = found[: max(1, LIMIT // len(part))]
            found = [before + after for before in head for after in part][:LIMIT]
        return found

    def _part(self) -> list[str]:
        found = self._next()
        self.place += 1
        if found == "(":
            return self._group()
        if found == "[":
            return self._set()
        if found == "\\":
            return self._escape()
        if found == ".":
            self.whole = False
            return ["a"]
        if found in "^$":
            return [""]
        if found in "*+?{":
            raise _UnreadableError
        return [found]

    def _group(self) -> list[str]:
        if self._next() == "?":
            colon = self.pattern.index(":", self.place)
            if not set(self.pattern[self.place + 1 : colon]) <= set("ims"):
                raise _UnreadableError
            self.place = colon + 1
        found = self.alternatives()
        if self._next() != ")":
            raise _UnreadableError
        self.place += 1
        return found

    def _set(self) -> list[str]:
        """Read a class: its members one by one, the ends of a range, one other character of what is excluded."""
        negated = self._next() == "^"
        self.place += negated
        members: list[str] = []
        first = True
        while first or self._next() != "]":
            if not self._next() or self.pattern.startswith("[:", self.place):
                raise _UnreadableError
            members += self._member()
            first = False
        self.place += 1
        if negated:
            self.whole = False
            return [next(char for char in "ax1 -" if char not in members)]
        return list(dict.fromkeys(members))

    def _member(self) -> list[str]:
        found = self._next()
        self.place += 1
        if found == "\\":
            return self._escape()
        after = self.pattern[self.place + 1 : self.place + 2]
        if self._next() == "-" and after not in ("]", ""):
            self.place += 2
            if after == "\\":
                raise _UnreadableError
            span = ord(after) - ord(found)
            self.whole = self.whole and span < 2
            return [found, after]
        return [found]

    def _escape(self) -> list[str]:
        found = self.pattern[self.place]
        self.place += 1
        if found in _NOTHING:
            return [""]
        if found in _CLASSES:
            self.whole = self.whole and found in "ntr"
            return [_CLASSES[found]]
        if found == "x":
            return [self._hexadecimal()]
        if found.isalnum():
            raise _UnreadableError
        return [found]

    def _hexadecimal(self) -> str:
        if self._next() == "{":
            end = self.pattern.index("}", self.place)
            digits, self.place = self.pattern[self.place + 1 : end], end + 1
        else:
            digits, self.place = self.pattern[self.place : self.place + 2], self.place + 2
        return chr(int(digits, 16))

    def _repeated(self, texts: list[str]) -> list[str]:
        """Read a quantifier: the least count of it, and one or two more where it allows them."""
        found = self._next()
        if found not in ("?", "*", "+", "{") or not found:
            return texts
        least, most = {"?": (0, 1), "*": (0, None), "+": (1, None)}.get(found, (0, None))
        self.place += 1
        if found == "{":
            end = self.pattern.index("}", self.place)
            low, comma, high = self.pattern[self.place : end].partition(",")
            least, most = int(low), (int(high) if high else None) if comma else int(low)
            self.place = end + 1
        if self._next() == "?":
            self.place += 1
        top = least + 1 if most is None else min(most, least + _REPEATS)
        self.whole = self.whole and top == most
        return self._kept([text for count in range(least, top + 1) for text in _powers(texts, count)])


def _powers(texts: Sequence[str], count: int) -> list[str]:
    found = [""]
    for _ in range(count):
        found = [before + after for before in found for after in texts][: LIMIT + 1]
    return found
