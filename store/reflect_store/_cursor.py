"""Cursors of pages: the place of a row in the order of time, event and key, as one word."""

from __future__ import annotations

import base64
import binascii

from .errors import StoreError

__all__ = ["cursor_of", "position"]


def cursor_of(time: str, event: str, key: str) -> str:
    """Return the cursor of a row."""
    return base64.urlsafe_b64encode(f"{time}\0{event}\0{key}".encode()).decode()


def position(cursor: str) -> tuple[str, str, str]:
    """Return the place that a cursor names; `store-unknown` where it is none of ours."""
    try:
        time, event, key = base64.urlsafe_b64decode(cursor.encode()).decode().split("\0")
    except (ValueError, binascii.Error):
        raise StoreError("store-unknown", f"no cursor: `{cursor}`") from None
    return time, event, key
