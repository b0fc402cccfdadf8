"""Cursors of pages: the place of a row in the order of time, event and key, as one word."""

from __future__ import annotations

import binascii
from typing import Final

from .errors import StoreError

__all__ = ["FIRST", "LAST", "cursor_of", "position"]

FIRST: Final = ("", "", "")
"""The place before every row."""

LAST: Final = ("\U0010ffff", "", "")
"""The place after every row: above every time that there can be."""

_URL: Final = bytes.maketrans(b"+/", b"-_")
_PLAIN: Final = bytes.maketrans(b"-_", b"+/")


def cursor_of(time: str, event: str, key: str) -> str:
    """Return the cursor of a row."""
    text = binascii.b2a_base64(f"{time}\0{event}\0{key}".encode(), newline=False)
    return text.translate(_URL).decode()


def position(cursor: str) -> tuple[str, str, str]:
    """Return the place that a cursor names; `store-unknown` where it is none of ours."""
    try:
        time, event, key = binascii.a2b_base64(cursor.encode().translate(_PLAIN)).decode().split("\0")
    except (ValueError, binascii.Error):
        raise StoreError("store-unknown", f"no cursor: `{cursor}`") from None
    return time, event, key
