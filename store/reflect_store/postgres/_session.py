"""Statements of one transaction: questions, and changes that travel with the next question instead of waiting for an answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Final

import psycopg

from ._pool import Connection

__all__ = ["Session"]

_MOST_WAITING: Final = 256


class Session:
    """One connection within one transaction; an error of a change is raised by the question that it travelled with.

    Args:
        connection: of one thread at a time.
        begin: the statement that begins the transaction, which travels with the first question; `None` where it was begun.
    """

    def __init__(self, connection: Connection, begin: str | None = None) -> None:
        self._connection = connection
        self._begun = begin is None
        self._waiting: list[tuple[str, Sequence[object]]] = [] if begin is None else [(begin, ())]

    def later(self, statement: str, values: Sequence[object] = ()) -> None:
        """Make a change, at the latest with the next question."""
        self._waiting.append((statement, values))
        if len(self._waiting) >= _MOST_WAITING:
            self.flush()

    def flush(self) -> None:
        """Make the changes that wait."""
        if self._waiting:
            self._send(None)

    def end(self, commit: str) -> None:
        """Make the changes that wait and end the transaction, if anything was asked or changed in it."""
        if self._begun or len(self._waiting) > 1:
            self.later(commit)
            self.flush()

    def ask(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of an answer."""
        return self._send((statement, values))

    def _send(self, question: tuple[str, Sequence[object]] | None) -> list[tuple[Any, ...]]:
        waiting, self._waiting = self._waiting, []
        self._begun = True
        together = len(waiting) + (question is not None) > 1 and psycopg.Pipeline.is_supported()
        cursor = self._connection.cursor(binary=True)
        with self._connection.pipeline() if together else nullcontext():
            for statement, values in waiting:
                self._connection.execute(statement, values)
            if question is not None:
                cursor.execute(*question)
        return cursor.fetchall() if question is not None else []
