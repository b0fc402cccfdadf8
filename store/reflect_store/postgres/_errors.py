"""What PostgreSQL says, in the words of the store."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg

from ..errors import Place, StoreError
from ._address import Address

__all__ = ["Passing", "told_connecting", "translated"]

# What the driver warns of, a lost connection, is raised as well, in the words below; without this a program that set up no
# logging would print it beside them.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class Passing(StoreError):  # noqa: N818 - a `StoreError` by its base
    """What may well go if the same is tried again: the connection was lost, or two transactions were in each other's way."""


_LOST: Final = "the connection to the server was lost; whether the last change was kept is seen by making it again"
_REFUSED: Final = ("store-corrupt", "the store refuses a change of what was recorded")

_KINDS: Final = {
    "25006": ("store-read-only", "the server can only be read: a standby, or a session that may not write"),
    "25P03": ("store-busy", "the transaction stood still for too long and was ended"),
    "40001": ("store-busy", "another transaction was in the way"),
    "40P01": ("store-busy", "another transaction was in the way"),
    "42501": ("store-denied", "the role may not do this"),
    "42P01": ("store-missing", "there is no store in this database; `reflect-gate store init` makes one"),
    "3F000": ("store-missing", "there is no store in this database; `reflect-gate store init` makes one"),
    "53100": ("store-full", "the server's disk is full; what was acknowledged is kept"),
    "53300": ("store-busy", "the server has no connection left"),
    "54000": ("store-payload", "a value is longer than the server can look up"),
    "55P03": ("store-busy", "another writer holds the store and did not let go in time"),
    "57014": ("store-busy", "the statement took longer than it may"),
    "57P01": ("store-unreachable", _LOST),
    "57P02": ("store-unreachable", _LOST),
    "57P03": ("store-unreachable", "the server takes no connections now"),
    "P0001": _REFUSED,
    "XX001": ("store-corrupt", "the server found its data damaged; leave it as it is and restore a backup"),
    "XX002": ("store-corrupt", "the server found an index damaged; `REINDEX` makes it anew"),
}
_CLASSES: Final = {
    "08": ("store-unreachable", _LOST),
    "22": ("store-payload", "a value that the server cannot keep"),
    "23": _REFUSED,
    "53": ("store-full", "the server has no room left"),
}
_PASSING: Final = frozenset({"40001", "40P01", "57P01", "57P02", "57P03"})

# libpq tells why a connection was refused in words alone, and in English where the server's messages are.
_CONNECTING: Final = (
    ("password", "store-denied", "the server does not accept the role or its password"),
    ("authentication failed", "store-denied", "the server does not accept the role or its password"),
    ("pg_hba.conf", "store-denied", "the server does not let this role in from here"),
    ('role "', "store-denied", "the server does not know the role"),
    ('database "', "store-missing", "there is no such database on the server"),
    ("SSL", "store-unreachable", "no encrypted connection can be made as it is asked for"),
    ("certificate", "store-unreachable", "no encrypted connection can be made as it is asked for"),
    ("too many c", "store-busy", "the server has no connection left"),
    ("remaining connection slots", "store-busy", "the server has no connection left"),
)


def _detail(error: psycopg.Error, address: Address) -> str:
    first = str(error).strip().partition("\n")[0].rstrip(".")
    return address.without_password(first[:1].lower() + first[1:])


def _is_lost(error: psycopg.Error) -> bool:
    """Return whether an error means that the connection is gone."""
    state = error.sqlstate or ""
    return isinstance(error, psycopg.OperationalError) and (state in ("57P01", "57P02", "57P03", "") or state.startswith("08"))


def _told(error: psycopg.Error, address: Address) -> StoreError:
    state = error.sqlstate or ""
    lost = _is_lost(error)
    known = ("store-unreachable", _LOST) if lost else _KINDS.get(state) or _CLASSES.get(state[:2])
    if known is None:
        # Without a state it is the client that refuses a value, as a NUL in a text.
        client = isinstance(error, psycopg.DataError)
        known = ("store-payload", "a value that the server cannot keep") if client else ("store-io", "the store cannot be used")
    kind = Passing if lost or state in _PASSING else StoreError
    detail = _detail(error, address)
    return kind(known[0], f"{known[1]} ({detail})" if detail else known[1], Place(address.place))


def told_connecting(error: psycopg.Error, address: Address) -> StoreError:
    """Return the store's error for a connection that could not be made."""
    text = str(error)
    place, detail = Place(address.place), _detail(error, address)
    for sign, code, message in _CONNECTING:
        if sign in text:
            kind = Passing if code == "store-busy" else StoreError
            return kind(code, f"{message} ({detail})", place)
    return Passing("store-unreachable", f"the server cannot be reached ({detail})", place)


@contextmanager
def translated(address: Address) -> Iterator[None]:
    """Raise errors of PostgreSQL within as errors of the store."""
    try:
        yield
    except psycopg.Error as error:
        raise _told(error, address) from None
    except UnicodeDecodeError:
        raise StoreError("store-corrupt", "a text of the database is no UTF-8", Place(address.place)) from None
