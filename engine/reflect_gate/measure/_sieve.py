"""Patterns tried only in texts that hold what they need.

A pattern with gaps (`send .{0,60} to`) multiplies the states of an automaton that it shares with others: with a hundred such
patterns, each new text makes thousands of states. A set of plain literals has no such states. One tells which literals a text
holds, and only the patterns that need one of them are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

__all__ = ["Sieve", "has_gap"]

_GAP = r"\{\d*,(?:[3-9]|\d\d+)\}|\\S[+*]|\[\^[^\]]*\][+*]"


class _Pattern(Protocol):
    @property
    def source(self) -> str: ...
    @property
    def atoms(self) -> Sequence[Sequence[str]]: ...
    def possible(self, text: str) -> bool: ...


def has_gap(pattern: _Pattern) -> bool:
    """Return whether a pattern has a gap and says what a text must hold for it."""
    return bool(pattern.atoms) and bool(re.search(_GAP, pattern.source))


class Sieve:
    """The patterns of a set of lexicons that have gaps; built once, then safe to share between threads."""

    def __init__(self, patterns: Sequence[Any], options: Any) -> None:
        import re2

        self._patterns = tuple(patterns)
        # The first need of a pattern tells the most: few texts meet it.
        by_atom: dict[str, list[Any]] = {}
        for pattern in patterns:
            for atom in pattern.atoms[0]:
                by_atom.setdefault(atom, []).append(pattern)
        self._by_number = tuple(by_atom.values())
        self._set = re2.Set.SearchSet(options)
        for atom in by_atom:
            self._set.Add(re2.escape(atom))
        # Matches every text: its absence from an answer tells that the automaton gave up.
        self._sentinel: int = self._set.Add(r"\z")
        self._set.Compile()

    def possible(self, text: str) -> list[Any]:
        """Return the patterns that a lowered `atoms.searched` text may hold; each still has to be searched for."""
        found = self._set.Match(text)
        if self._sentinel not in found:
            return [pattern for pattern in self._patterns if pattern.possible(text)]
        candidates = dict.fromkeys(pattern for number in found if number != self._sentinel for pattern in self._by_number[number])
        return [pattern for pattern in candidates if pattern.possible(text)]
