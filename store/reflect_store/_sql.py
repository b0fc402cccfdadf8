"""The SQL of the store, read from its files: named statements, and migrations by number."""

from __future__ import annotations

import functools
import re
import sqlite3
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Final

__all__ = ["migrations", "queries", "statements"]

_NAME: Final = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT: Final = re.compile(r"^--.*\n?", re.MULTILINE)


@functools.cache
def queries(name: str) -> Mapping[str, str]:
    """Return the statements of `queries/<name>.sql` by their names."""
    text = resources.files(__package__).joinpath("queries", f"{name}.sql").read_text(encoding="utf-8")
    parts = _NAME.split(text)[1:]
    return {key: _COMMENT.sub("", body).strip().removesuffix(";") for key, body in zip(parts[::2], parts[1::2], strict=True)}


@functools.cache
def migrations(dialect: str) -> tuple[tuple[int, str], ...]:
    """Return number and text of each migration of `migrations/<dialect>`, in order; number n leads from layout n - 1 to n."""
    folder = resources.files(__package__).joinpath("migrations", dialect)
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
