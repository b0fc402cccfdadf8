"""Canonical JSON: sorted keys, UTF-8, no insignificant space; the only form that is hashed or compared by bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._hashing import sha256

__all__ = ["canonical_bytes", "digest", "plain_digest"]


def canonical_bytes(value: object) -> bytes:
    """Return `value` as canonical JSON; `TypeError` where it holds anything that JSON cannot."""
    import orjson

    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical form, 64 hexadecimal digits."""
    return sha256(canonical_bytes(value)).hex()


def plain_digest(value: Sequence[Any]) -> str:
    """Return what `digest` returns of a list of texts, lists of them, and whole numbers; a hook then needs no orjson."""
    import json

    data = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return sha256(data.encode()).hex()
    except UnicodeEncodeError as error:
        raise TypeError(f"not canonical: {error}") from None
