"""What a text must hold for a pattern to match it: a few literals, found once when a bundle is compiled.

A process that judges one request would spend most of its time building the automaton of all lexicons. With the atoms at hand it
asks which literals occur at all, and compiles only the patterns that can match. An atom set is a necessary condition and nothing
more: the pattern itself still decides. Whatever cannot be read gives no atoms, and its pattern is always tried.

The text is the lowered normal form that `measure.lexicon` matches on: its ASCII letters are small. A letter beyond ASCII has two
cases that the text keeps, so no literal is certain of it, but one thing is: a text of ASCII alone holds no such letter.
"""

from __future__ import annotations

import functools

__all__ = ["ATOM_LIMIT", "BEYOND", "atoms", "searched"]

ATOM_LIMIT = 160
"""Alternatives beyond which a set of literals tells too little to be worth asking for."""

BEYOND = "\x80"
"""The literal that stands for any character beyond ASCII; `searched` texts hold it where they hold one."""

SETS = 4
"""How many sets are kept of one pattern, the most telling first."""

_Need = frozenset[str]
_SPECIAL = frozenset("\\.[]()|?*+{}^$")


class _UnreadableError(Exception):
    """The pattern uses something that this reader does not know."""


def searched(text: str) -> str:
    """Return the text in which the literals of atoms are looked for."""
    return text if text.isascii() else text + BEYOND


@functools.lru_cache(maxsize=4096)  # The bundles of a policies file share nearly all of their patterns.
def atoms(pattern: str) -> tuple[tuple[str, ...], ...]:
    """Return sets of literals, sorted: every text that `pattern` matches holds one of each; no sets where nothing is certain."""
    reader = _Reader(pattern)
    try:
        needs = reader.alternatives()
        if reader.place != len(pattern):
            return ()
    except (_UnreadableError, IndexError, RecursionError):
        return ()
    telling = sorted(set(needs), key=_weight, reverse=True)[:SETS]
    return tuple(tuple(sorted(need)) for need in telling)


def _weight(need: _Need) -> tuple[int, int, list[str]]:
    """How much a set tells: its shortest literal first, then how few there are."""
    return min(map(_length, need)), -len(need), sorted(need)


def _length(literal: str) -> int:
    """How long a literal is; few texts of the trade hold letters beyond ASCII, so that these tell as much as a word."""
    return 6 if literal == BEYOND else len(literal)


def _character(found: str) -> tuple[str, list[_Need]]:
    """Return the literal that a character is, or what a text needs for it."""
    if found.isascii():
        return found.lower(), []
    if found.lower() == found.upper():
        return found, []
    # The long s and the sign of the kelvin match letters of ASCII.
    return "", [] if found.casefold().isascii() else [frozenset({BEYOND})]


class _Reader:
    """Reads RE2 syntax left to right; each method returns the sets of literals that its part needs."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.place = 0

    def _next(self) -> str:
        return self.pattern[self.place : self.place + 1]

    def alternatives(self) -> list[_Need]:
        """Read `a|b|c`; a text needs what one of them needs."""
        ways = [self._sequence()]
        while self._next() == "|":
            self.place += 1
            ways.append(self._sequence())
        if len(ways) == 1:
            return ways[0]
        if not all(ways):
            return []
        joined = frozenset().union(*[max(needs, key=_weight) for needs in ways])
        return [joined] if len(joined) <= ATOM_LIMIT else []

    def _sequence(self) -> list[_Need]:
        """Read parts up to `|` or `)`; a text needs what every part needs."""
        needs: list[_Need] = []
        run = ""
        while self._next() not in ("", "|", ")"):
            literal, inner = self._part()
            least = self._repeats()
            if literal and least == (1, 1):
                run += literal
                continue
            if literal and least[0]:
                run += literal
            needs += [frozenset({run})] if run else []
            run = ""
            if least[0]:
                needs += inner
        return needs + ([frozenset({run})] if run else [])

    def _part(self) -> tuple[str, list[_Need]]:
        """Read one part: a literal character, or what a group needs."""
        found = self._next()
        self.place += 1
        if found == "(":
            return "", self._group()
        if found == "[":
            self._skip_class()
            return "", []
        if found == "\\":
            return self._escape(), []
        if found in ".^$":
            return "", []
        if found in _SPECIAL:
            raise _UnreadableError
        return _character(found)

    def _group(self) -> list[_Need]:
        if self._next() == "?":
            colon = self.pattern.find(":", self.place)
            if not set(self.pattern[self.place + 1 : colon]) <= set("ims"):
                raise _UnreadableError
            self.place = colon + 1
        needs = self.alternatives()
        if self._next() != ")":
            raise _UnreadableError
        self.place += 1
        return needs

    def _skip_class(self) -> None:
        if self._next() == "^":
            self.place += 1
        first = True
        while first or self._next() != "]":
            if not self._next() or self.pattern.startswith("[:", self.place):
                raise _UnreadableError
            self.place += 2 if self._next() == "\\" else 1
            first = False
        self.place += 1

    def _escape(self) -> str:
        """Read what follows a backslash: a class or boundary tells nothing, an escaped mark is itself."""
        found = self.pattern[self.place]
        self.place += 1
        if found in "bBdDsSwWAznrt":
            return ""
        if found.isalnum() or not found.isascii():
            raise _UnreadableError
        return found

    def _repeats(self) -> tuple[int, int]:
        """Read a quantifier; return the least count, and 1 as the most only where there was none."""
        found = self._next()
        if found not in ("?", "*", "+", "{"):
            return 1, 1
        least = 1 if found == "+" else 0
        if found == "{":
            end = self.pattern.find("}", self.place)
            bounds = self.pattern[self.place + 1 : end] if end > 0 else ""
            if not bounds[:1].isdigit():
                raise _UnreadableError
            least = min(int(bounds.split(",")[0]), 1)
            self.place = end
        self.place += 1
        if self._next() == "?":
            self.place += 1
        return least, 2
