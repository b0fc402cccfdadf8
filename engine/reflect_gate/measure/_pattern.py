"""RE2 patterns that are compiled when they are first used: a process that judges one request needs few of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Protocol

__all__ = ["Match", "Pattern"]


class Match(Protocol):
    """What is used of a match."""

    def group(self, name: int | str = 0, /) -> Any: ...
    def groupdict(self) -> dict[str, str | None]: ...
    def start(self) -> int: ...
    def end(self) -> int: ...


class Pattern:
    """A pattern with the methods of `re`; linear in the text, whatever the pattern."""

    def __init__(self, *alternatives: str, ignore_case: bool = False) -> None:
        self.source = ("(?i)" if ignore_case else "") + "|".join(alternatives)

    @cached_property
    def _compiled(self) -> Any:
        import re2

        return re2.compile(self.source)

    def search(self, text: str, position: int = 0) -> Match | None:
        """Return the first match from `position` on."""
        found: Match | None = self._compiled.search(text, position)
        return found

    def fullmatch(self, text: str) -> Match | None:
        """Return the match of the whole text."""
        found: Match | None = self._compiled.fullmatch(text)
        return found

    def finditer(self, text: str) -> Iterator[Match]:
        """Yield the matches that do not overlap."""
        yield from self._compiled.finditer(text)

    def findall(self, text: str) -> list[Any]:
        """Return the groups of every match, or the matches where there is no group."""
        return list(self._compiled.findall(text))

    def sub(self, replacement: str | Callable[[Match], str], text: str) -> str:
        """Return the text with every match replaced."""
        return str(self._compiled.sub(replacement, text))
