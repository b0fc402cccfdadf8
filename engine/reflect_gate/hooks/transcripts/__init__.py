"""Whose records are understood, and reading one: a transcript to the entries of evidence in it, in bounded memory.

Names are imported when they are asked for, so that a hook that only tells of its own event reads no format.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ._evidence import Evidence, Format
    from .reading import FORMATS, MOST_ENTRIES, Transcript, format_of, read_transcript

__all__ = ["FORMATS", "MOST_ENTRIES", "Evidence", "Format", "Transcript", "format_of", "read_transcript"]

_HOMES: Final = {
    "FORMATS": "reading",
    "MOST_ENTRIES": "reading",
    "Evidence": "_evidence",
    "Format": "_evidence",
    "Transcript": "reading",
    "format_of": "reading",
    "read_transcript": "reading",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    return getattr(importlib.import_module(f".{home}", __name__), name)
