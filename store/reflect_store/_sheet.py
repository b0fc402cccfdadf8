"""The rows as one event sees and changes them, and the changes that come of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .events import Event
from .protocol import Get, Row
from .tables import KEY_SEPARATOR, TableName

__all__ = ["Change", "Sheet", "key_of"]


class Change(NamedTuple):
    """A row to be written, or removed where `row` is `None`."""

    table: TableName
    key: str
    row: Row | None


class Sheet:
    """The rows as one event sees and changes them."""

    def __init__(self, event: Event, get: Get) -> None:
        self.made: Mapping[str, str] = {"event": event.id, "time": event.time}
        self._get = get
        self._changes: dict[tuple[TableName, str], Row | None] = {}

    def get(self, table: TableName, key: str) -> Row | None:
        if (table, key) in self._changes:
            return self._changes[table, key]
        return self._get(table, key)

    def put(self, table: TableName, key: str, row: Row) -> None:
        self._changes[table, key] = row

    def first(self, table: TableName, key: str, row: Row) -> bool:
        """Write a new row unless one has its key; return whether it was written."""
        if self.get(table, key) is not None:
            return False
        self.put(table, key, {**row, **self.made})
        return True

    def drop(self, table: TableName, key: str) -> None:
        self._changes[table, key] = None

    def changes(self) -> list[Change]:
        return [Change(table, key, row) for (table, key), row in self._changes.items()]


def key_of(*parts: str) -> str:
    """Return the key of a row that several ids name."""
    return KEY_SEPARATOR.join(parts)
