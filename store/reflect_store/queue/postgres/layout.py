"""Making the tables of a queue, and bringing those of an older version up to date, in one transaction."""

from __future__ import annotations

from typing import Final

from ..._sql import migrations
from ...errors import StoreError
from ...postgres._pool import Connection
from .link import SQL, Link, rows

__all__ = ["LAYOUT", "prepare"]

LAYOUT: Final = migrations("postgresql_queue")[-1][0]
"""The layout that this code reads and writes."""

_OLDEST: Final = 140_000


def prepare(link: Link) -> None:
    """Make the tables where there are none, migrate older ones, refuse newer ones.

    Raises:
        StoreError: `queue-denied` where there is something to make and the role may not, `queue-newer`, `queue-foreign`, or
            what the server says.
    """
    try:
        number, _ = link.ask("layout")[0]
    except StoreError as error:
        if error.code != "queue-gone":
            raise
        number = 0
    if number == LAYOUT:
        return
    if number > LAYOUT:
        message = f"a newer version of this program made the queue: it has layout {number}, and this version knows {LAYOUT}"
        raise StoreError("queue-newer", message, link.place)
    with link.transaction() as connection:
        rows(connection, "turn_migrating")
        _make_or_migrate(link, connection)


def _make_or_migrate(link: Link, connection: Connection) -> None:
    from .engine import latest, steps, tables

    there, schema, encoding, version = rows(connection, "found")[0]
    if version < _OLDEST or encoding != "UTF8":
        message = f"a queue needs PostgreSQL 14 or later and a database in UTF8, not {version // 10_000} and {encoding}"
        raise StoreError("queue-unsupported", message, link.place)
    if schema and not there:
        message = "the schema `reflect_gate_queue` of this database belongs to another program"
        raise StoreError("queue-foreign", message, link.place)
    number, engine = rows(connection, "layout")[0] if there else (0, "")
    # Another process may have done it while this one waited.
    if number >= LAYOUT:
        return
    if not there:
        rows(connection, "make_schema")
    rows(connection, "in_schema")
    for script in steps(engine) if there else (tables(),):
        connection.execute(script.encode())
    for step, script in migrations("postgresql_queue"):
        if step > number:
            connection.execute(script.encode())
    connection.execute(SQL["set_layout"], (LAYOUT, latest()))
    rows(connection, "bind")
    rows(connection, "grant")
