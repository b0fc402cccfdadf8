"""Bringing a database to this layout: what it holds, who has logged in, and migrating an older one in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .._sql import migrations, queries
from ..errors import Place, StoreError
from ._address import Address
from ._pool import Connection

__all__ = ["FIRST_TENANT", "LAYOUT", "belongs", "layout_of", "prepare"]

LAYOUT: Final = migrations("postgresql")[-1][0]
"""The layout that this code reads and writes; older ones are migrated, newer ones refused."""

FIRST_TENANT: Final = "main"
"""The tenant of whoever makes the store."""

_OLDEST: Final = 140_000
_SQL: Final = queries("postgresql/server")


def layout_of(connection: Connection, address: Address) -> int:
    """Return the layout of the database, 0 where it holds no store; another program's schema and a newer layout are refused."""
    there, schema, encoding, version, _ = connection.execute(_SQL["found"]).fetchone() or (False, False, "", 0, False)
    place = Place(address.place)
    if version < _OLDEST or encoding != "UTF8":
        message = f"a store needs PostgreSQL 14 or later and a database in UTF8, not {version // 10_000} and {encoding}"
        raise StoreError("store-unsupported", message, place)
    if not there:
        if schema:
            raise StoreError("store-foreign", "the schema `reflect_gate` of this database belongs to another program", place)
        return 0
    found = connection.execute(_SQL["layout"]).fetchone()
    layout = int(found[0]) if found else 0
    if layout > LAYOUT:
        message = f"a newer version of this program made the store: it has layout {layout}, and this version knows {LAYOUT}"
        raise StoreError("store-newer", message, place)
    return layout


def belongs(connection: Connection, address: Address) -> str:
    """Return the tenant of the role that logged in; `store-denied` where it has none."""
    role, tenant = connection.execute(_SQL["belongs"]).fetchone() or ("", None)
    if tenant is None:
        message = f"the role `{role}` belongs to no tenant; the owner says so with `SELECT reflect_gate.assign('{role}', …)`"
        raise StoreError("store-denied", message, Place(address.place))
    return str(tenant)


def prepare(
    connection: Connection,
    address: Address,
    *,
    create: bool,
    read_only: bool,
    settle: Callable[[Connection], None],
) -> None:
    """Bring the database to this layout: make a new store, migrate an older one, in one transaction.

    Args:
        connection: to the database.
        address: what errors call it.
        create: make a store where there is none; else `store-missing`.
        read_only: change nothing; an older layout is `store-read-only` then.
        settle: fills the projections of the connection's tenant from its events; called for each tenant after a migration.
    """
    layout = layout_of(connection, address)
    if layout == LAYOUT:
        return
    place = Place(address.place)
    if layout == 0 and (read_only or not create):
        raise StoreError("store-missing", "there is no store yet; `reflect-gate store init` makes one", place)
    if read_only:
        message = f"the store has the older layout {layout} and must be opened by its owner once, as by `reflect-gate store init`"
        raise StoreError("store-read-only", message, place)
    with connection.transaction():
        connection.execute(_SQL["turn_migrating"])
        connection.execute(_SQL["without_limits"])
        # Another process may have done it while this one waited.
        layout = layout_of(connection, address)
        if layout < LAYOUT:
            _migrate(connection, layout)
            if layout == 0:
                connection.execute(_SQL["assign_me"], (FIRST_TENANT,))
            else:
                _settle_all(connection, settle)


def _migrate(connection: Connection, layout: int) -> None:
    for number, script in migrations("postgresql"):
        if number > layout:
            connection.execute(script.encode())
    connection.execute(_SQL["set_layout"], (LAYOUT,))


def _settle_all(connection: Connection, settle: Callable[[Connection], None]) -> None:
    """Fill the projections of every tenant, as each of them in turn: the owner alone can say which one it is."""
    found = connection.execute(_SQL["belongs"]).fetchone()
    mine = found[1] if found else None
    for (tenant,) in connection.execute(_SQL["tenants"]).fetchall():
        connection.execute(_SQL["assign_me"], (tenant,))
        settle(connection)
    if mine is None:
        connection.execute(_SQL["unassign_me"])
    else:
        connection.execute(_SQL["assign_me"], (mine,))
