"""Reading what a harness sends: bytes that may end without an end, in any encoding, of any shape; nothing here raises for them.

The pipe may stay open (no end of file), so reading stops when one JSON value is whole; the deadline over everything is the
caller's, who does this in a thread. What is too large is read away and ignored: a closed pipe would be an error of the harness.
"""

from __future__ import annotations

import os
from typing import Final

from .event import Payload

__all__ = ["MOST_BYTES", "payload_of", "read_bytes"]

MOST_BYTES: Final = 8 * 1_048_576
"""Bytes of a payload; a larger one is ignored."""

_CHUNK: Final = 65_536
_DRAINED: Final = 64 * 1_048_576
_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def read_bytes(descriptor: int, most: int = MOST_BYTES) -> bytes:
    """Return what stands on `descriptor`, up to its end or the end of the first JSON value; empty where there is too much."""
    data = bytearray()
    tried = 0
    while chunk := _some(descriptor):
        data += chunk
        if len(data) > most:
            _drain(descriptor, len(data))
            return b""
        # A value that is whole may not be followed by an end; trying costs, so all tries together read the input a few times.
        if tried <= 2 * most and data.rstrip()[-1:] == b"}":
            tried += len(data)
            if payload_of(bytes(data)) is not None:
                break
    return bytes(data)


def _some(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except (OSError, ValueError):
        return b""


def _drain(descriptor: int, read: int) -> None:
    while read < _DRAINED and (chunk := _some(descriptor)):
        read += len(chunk)


def payload_of(data: bytes) -> Payload | None:
    """Return the first JSON value of `data` where it is an object; what follows it, and what no decoder reads, is passed over."""
    # Its import is most of what a hook costs: not for one that is switched off.
    import json

    text = _text(data).lstrip()
    if not text.startswith("{"):
        return None
    try:
        value, _end = json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(data: bytes) -> str:
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(encoding, "replace")
    return data.decode("utf-8", "replace")
