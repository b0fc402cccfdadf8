"""What the forms of corpora share in reading a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .._canonical import digest
from ..errors import ReflectGateError, Source

__all__ = ["CONFIDENCE_NOT_STATED", "ITEM_TEXT_LIMIT", "needed", "project", "spending", "text"]

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


_RUN: Final = ("source", "model", "strategy", "run")
_DIGITS: Final = 16


def project(row: Mapping[str, object], task: str, language: str = "") -> dict[str, str]:
    """Return where a row's failure happened, without what it does not tell.

    One run over one task is one session: what its trials carry along they repeat, and another run has seen nothing of it.
    """
    session = digest([*(text(row, key) for key in _RUN), task])[:_DIGITS] if text(row, "run").strip() else ""
    told = (("language", language), ("task", task), ("session", session))
    return {key: value for key, value in told if value}


def spending(row: Mapping[str, object]) -> dict[str, float]:
    """Return what the one call cost, in dollars and in tokens, as far as the log kept it."""
    known = ((key, row.get(key)) for key in ("cost", "tokens"))
    return {key: value for key, value in known if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0}
