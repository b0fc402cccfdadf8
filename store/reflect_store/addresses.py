"""Places of stores as text: what is the address of a server, and how it may be shown. Quick to import, as a report needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_address", "shown"]


def is_address(place: Path | str) -> bool:
    """Return whether a place is the address of a server instead of a file."""
    return isinstance(place, str) and place.startswith(("postgresql://", "postgres://"))


def shown(place: Path | str) -> str:
    """Return a place as people and logs may see it: an address without its password and options."""
    if not is_address(place):
        return str(place)
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(str(place))
    except ValueError:
        return "postgresql://"
    user, at, host = parts.netloc.rpartition("@")
    if "@" in f"{parts.path}{parts.query}{parts.fragment}":
        # A password with a `/`, `?` or `#` that is not written as `%2F` and so on: what comes before it would be shown.
        return "postgresql://"
    return f"postgresql://{user.partition(':')[0]}{at}{host}{parts.path}"
