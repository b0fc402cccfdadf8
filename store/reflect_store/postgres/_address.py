"""The address of a store on a server: reading it, and saying it without the password."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ..errors import Place, StoreError

__all__ = ["Address", "read_address"]

_SHORTEST, _LONGEST = 2, 10
"""Seconds to wait for a connection."""

_DEFAULTS: Final = {
    "application_name": "reflect-gate",
    # A connection whose other end is gone is noticed within two minutes, on both sides of a silent network.
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "5",
    # Also where something was sent and never acknowledged, of which the signs of life take no notice; milliseconds.
    "tcp_user_timeout": "120000",
    "client_encoding": "utf8",
}


class Address(NamedTuple):
    """Where a server is: what libpq is given, and what people and logs are told."""

    parameters: dict[str, Any]
    place: str

    def without_password(self, text: str) -> str:
        """Return `text` with the password blotted out, wherever it stands."""
        password = str(self.parameters.get("password") or "")
        return text.replace(password, "********") if password else text


def _told(found: dict[str, Any]) -> str:
    user = f"{found['user']}@" if found.get("user") else ""
    port = f":{found['port']}" if found.get("port") else ""
    host, database = found.get("host") or "", found.get("dbname") or ""
    # A host that is a folder, where a server's socket lies, can stand at the end alone.
    options = {"host": host} if host.startswith("/") else {}
    options |= {name: found[name] for name in ("service",) if found.get(name)}
    more = "&".join(f"{name}={value}" for name, value in options.items())
    return f"postgresql://{user}{'' if options.get('host') else host}{port}/{database}{f'?{more}' if more else ''}"


def read_address(url: str, timeout: float) -> Address:
    """Return the address that `url` names; what it leaves out comes from libpq's own variables, service and password files.

    Args:
        url: `postgresql://…`.
        timeout: seconds that whoever asks is ready to wait.

    Raises:
        StoreError: `store-unknown` where it is no address; the error does not repeat it, since it may hold a password.
    """
    try:
        found = conninfo_to_dict(url)
    except psycopg.Error:
        message = "no address of a server: expected `postgresql://user@host:port/database?option=value`"
        raise StoreError("store-unknown", message, Place("postgresql://")) from None
    wait = {"connect_timeout": str(int(min(_LONGEST, max(_SHORTEST, timeout))))}
    return Address(_DEFAULTS | wait | found, _told(found))
