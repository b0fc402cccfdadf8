"""The SQL of the store, read from its files: named statements, and migrations by number."""

from __future__ import annotations

import functools
import os
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from .tables import TABLES, TableName

__all__ = ["latest", "migrations", "queries", "row_statement", "statements"]

_HERE: Final = Path(__file__).parent
"""Beside the modules, as every wheel is unpacked; a loader of resources would cost a start more than the queries do."""

_NAMED: Final = "\n-- name: "


@functools.cache
def queries(name: str) -> Mapping[str, str]:
    """Return the statements of `queries/<name>.sql` by their names."""
    text = (_HERE / "queries" / f"{name}.sql").read_text(encoding="utf-8")
    parts = [part.partition("\n") for part in f"\n{text}".split(_NAMED)[1:]]
    return {name: _code(body).strip().removesuffix(";") for name, _, body in parts}


@functools.cache
def row_statement(queries_of: str, mark: str, name: str, table: TableName, where: tuple[str, ...] = ()) -> str:
    """Return a statement over the rows of a table, whose columns are filled in.

    Args:
        queries_of: as `queries`.
        mark: what stands for a value in the dialect.
        name: the name of the statement.
        table: the table.
        where: the columns that are compared; the first is the one that a statement with one column is about.
    """
    columns = TABLES[table].columns
    return queries(queries_of)[name].format(
        table=table,
        columns="".join(f", {column}" for column in columns),
        marks=f", {mark}" * len(columns),
        sets="".join(f", {column} = excluded.{column}" for column in columns),
        where="".join(f" AND {column} = {mark}" for column in where),
        column="".join(where[:1]),
    )


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
