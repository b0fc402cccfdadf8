"""Canonical JSON: sorted keys, UTF-8, no insignificant space; the only form that is hashed or compared by bytes."""

from __future__ import annotations

import hashlib

import orjson

__all__ = ["canonical_bytes", "digest"]


def canonical_bytes(value: object) -> bytes:
    """Return `value` as canonical JSON; `TypeError` where it holds anything that JSON cannot."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical form, 64 hexadecimal digits."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()
