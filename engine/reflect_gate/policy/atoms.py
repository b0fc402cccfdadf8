"""What a text must hold for a pattern to match it: a few literals, found once when a bundle is compiled.

A process that judges one request would spend most of its time building the automaton of all lexicons. With the atoms at hand it
asks which literals occur at all, and compiles only the patterns that can match. An atom set is a necessary condition and nothing
more: the pattern itself still decides. Whatever cannot be read gives no atoms, and its pattern is always tried.

The text is the lowered normal form that `measure.lexicon` matches on: its ASCII letters are small.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["ATOM_LIMIT", "atoms"]

ATOM_LIMIT = 48
"""Alternatives beyond which a set of literals tells too little to be worth asking for."""

_Need = frozenset[str]
_SPECIAL = frozenset("\\.[]()|?*+{}^$")
_NOTHING: _Need = frozenset()


class _UnreadableError(Exception):
    """The pattern uses something that this reader does not know."""


def atoms(pattern: str) -> tuple[str, ...]:
    """Return literals of which every text that `pattern` matches holds at least one, sorted; none where nothing is certain."""
    reader = _Reader(pattern)
    try:
        need = reader.alternatives()
        if reader.place != len(pattern):
            return ()
    except (_UnreadableError, IndexError, RecursionError):
        return ()
    return tuple(sorted(need))


def _weight(need: _Need) -> tuple[int, int]:
    """How much a set tells: its shortest literal first, then how few there are."""
    return min(map(len, need)), -len(need)


def _best(needs: Iterable[_Need]) -> _Need:
    return max((need for need in needs if need), key=_weight, default=_NOTHING)


class _Reader:
    """Reads RE2 syntax left to right; each method returns what its part needs, the empty set where it needs nothing."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.place = 0

    def _next(self) -> str:
        return self.pattern[self.place : self.place + 1]

    def alternatives(self) -> _Need:
        """Read `a|b|c`; a text needs what one of them needs."""
        needs = [self._sequence()]
        while self._next() == "|":
            self.place += 1
            needs.append(self._sequence())
        joined = frozenset().union(*needs)
        return joined if all(needs) and len(joined) <= ATOM_LIMIT else _NOTHING

    def _sequence(self) -> _Need:
        """Read parts up to `|` or `)`; a text needs what every part needs, so the most telling is kept."""
        needs: list[_Need] = []
        run = ""
        while self._next() not in ("", "|", ")"):
            literal, need = self._part()
            least = self._repeats()
            if literal and least == (1, 1):
                run += literal
                continue
            if literal and least[0]:
                run += literal
            needs.append(frozenset({run}) if run else _NOTHING)
            run = ""
            if need and least[0]:
                needs.append(need)
        needs.append(frozenset({run}) if run else _NOTHING)
        return _best(needs)

    def _part(self) -> tuple[str, _Need]:
        """Read one part: a literal character, or what a group needs."""
        found = self._next()
        self.place += 1
        if found == "(":
            return "", self._group()
        if found == "[":
            self._skip_class()
            return "", _NOTHING
        if found == "\\":
            return self._escape(), _NOTHING
        if found in ".^$":
            return "", _NOTHING
        if found in _SPECIAL:
            raise _UnreadableError
        lowered = found.lower() if found.isascii() else ""
        return lowered, _NOTHING

    def _group(self) -> _Need:
        if self._next() == "?":
            if not self.pattern.startswith("?:", self.place):
                raise _UnreadableError
            self.place += 2
        need = self.alternatives()
        if self._next() != ")":
            raise _UnreadableError
        self.place += 1
        return need

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
        if found in "bBdDsSwWAz":
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
