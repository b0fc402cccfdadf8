"""What the forms of corpora share in reading a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..errors import ReflectGateError, Source

__all__ = ["CONFIDENCE_NOT_STATED", "ITEM_TEXT_LIMIT", "needed", "text"]

ITEM_TEXT_LIMIT: Final = 65_536

CONFIDENCE_NOT_STATED: Final = 0.5
"""The confidence of a reflection that carries no number."""


def text(row: Mapping[str, object], key: str) -> str:
    """Return the text of a field, empty where it is absent or null; `corpus-bad-row` where it is no text."""
    value = row.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        message = f"expected a text or null, found `{str(value)[:80]}`"
        raise ReflectGateError("corpus-bad-row", message, Source("row", pointer=f"/{key}"))
    return value


def needed(row: Mapping[str, object], key: str) -> str:
    """Return the text of a field; `corpus-bad-row` where it is missing or blank."""
    value = text(row, key)
    if not value.strip():
        raise ReflectGateError("corpus-bad-row", f"`{key}` is missing or blank", Source("row", pointer=f"/{key}"))
    return value
