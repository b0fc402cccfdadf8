"""What a hook says: one JSON document in ASCII, or nothing at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["MOST_CHARACTERS", "SILENCE", "encode", "fits"]

SILENCE: Final = b""
"""Zero bytes: `{}` is invalid for some versions of some harnesses, and a line break is a text."""

MOST_CHARACTERS: Final = 2_000
"""Characters of a context; harnesses put more than 10,000 (the lowest cap) into a file that the model does not see."""


def fits(text: str) -> bool:
    """Return whether a context may be said: it says something, and not too much; half a lesson is never said."""
    return bool(text.strip()) and len(text) < MOST_CHARACTERS


def encode(document: Mapping[str, Any]) -> bytes:
    """Return a document as bytes that every code page reads alike; half a surrogate pair becomes a question mark."""
    import json

    return json.dumps(_sound(document), ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def _sound(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {str(key): _sound(inner) for key, inner in value.items()}
    return value
