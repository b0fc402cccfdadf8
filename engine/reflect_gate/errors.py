"""The one error of the project: a stable code, one line of text, and the place it came from.

Style (after cedar's guide): lower case, no full stop, the offending value in backticks, file:line:col where there
is a file, the nearest known name where one is misspelt, all errors of a file at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = ["ReflectGateError", "ReflectGateErrors", "Source", "did_you_mean", "raise_all"]


class Source(NamedTuple):
    """A place in a file: `line` and `column` count from 1; 0 means unknown. `pointer` is a JSON pointer within a document."""

    file: str
    line: int = 0
    column: int = 0
    pointer: str = ""

    def __str__(self) -> str:
        place = self.file
        if self.line:
            place += f":{self.line}"
            if self.column:
                place += f":{self.column}"
        if self.pointer:
            place += f" at {self.pointer}"
        return place


class ReflectGateError(Exception):
    """Anything that reflect-gate refuses to do; `code` is stable, `message` is one line, `source` is where it comes from."""

    def __init__(self, code: str, message: str, source: Source | None = None) -> None:
        super().__init__(code, message, source)
        self.code = code
        self.message = message
        self.source = source

    def __str__(self) -> str:
        place = f"{self.source}: " if self.source else ""
        return f"{place}{self.message} [{self.code}]"

    @property
    def errors(self) -> Sequence[ReflectGateError]:
        """Every error that this one stands for; itself unless it is a collection."""
        return (self,)


class ReflectGateErrors(ReflectGateError):
    """Several errors reported at once, in the order of their places; code and source are those of the first."""

    def __init__(self, errors: Iterable[ReflectGateError]) -> None:
        self._errors = tuple(sorted(errors, key=_order))
        first = self._errors[0]
        super().__init__(first.code, first.message, first.source)

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self._errors)

    @property
    def errors(self) -> Sequence[ReflectGateError]:
        """Every error of the collection, in the order of their places."""
        return self._errors


def _order(error: ReflectGateError) -> tuple[str, int, int, str, str]:
    source = error.source or Source("")
    return source.file, source.line, source.column, source.pointer, error.message


def raise_all(errors: Iterable[ReflectGateError]) -> None:
    """Raise `errors` as one exception; return when there are none."""
    found = [leaf for error in errors for leaf in error.errors]
    if len(found) == 1:
        raise found[0]
    if found:
        raise ReflectGateErrors(found)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `, did you mean `x`?` for the nearest of `known`, or the empty string when nothing is near."""
    import difflib

    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f", did you mean `{near[0]}`?" if near else ""
