"""The SQL of the store, read from its files: named statements, and migrations by number."""

from __future__ import annotations

import functools
import os
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

__all__ = ["latest", "migrations", "queries", "statements"]

_HERE: Final = Path(__file__).parent
"""Beside the modules, as every wheel is unpacked; a loader of resources would cost a start more than the queries do."""

_NAMED: Final = "\n-- name: "


@functools.cache
def queries(name: str) -> Mapping[str, str]:
    """Return the statements of `queries/<name>.sql` by their names."""
    text = (_HERE / "queries" / f"{name}.sql").read_text(encoding="utf-8")
    parts = [part.partition("\n") for part in f"\n{text}".split(_NAMED)[1:]]
    return {name: _code(body).strip().removesuffix(";") for name, _, body in parts}


def _code(body: str) -> str:
    return "\n".join(line for line in body.split("\n") if not line.startswith("--"))


def latest(dialect: str) -> int:
    """Return the number of the last migration of `migrations/<dialect>`."""
    names = os.listdir(_HERE / "migrations" / dialect)  # noqa: PTH208 - at every start
    return max(int(name.partition("_")[0]) for name in names if name.endswith(".sql"))


@functools.cache
def migrations(dialect: str) -> tuple[tuple[int, str], ...]:
    """Return number and text of each migration of `migrations/<dialect>`, in order; number n leads from layout n - 1 to n."""
    folder = _HERE / "migrations" / dialect
    found = sorted((entry.name, entry) for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple((int(name.partition("_")[0]), entry.read_text(encoding="utf-8")) for name, entry in found)


def statements(script: str) -> Iterator[str]:
    """Yield the statements of an SQLite script; `executescript` would commit the transaction that they run in."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
