"""The formats of transcripts, and reading one to the entries of evidence in it, in bounded memory."""

from __future__ import annotations

from collections import deque
from itertools import chain, islice
from pathlib import Path
from typing import Final, NamedTuple

from ..event import Payload
from . import atif, claude_code, codex, copilot, cursor, gemini, junit, mini_swe_agent, openhands, pytest_json, swe_agent
from ._evidence import Evidence, Format
from ._records import records

__all__ = ["FORMATS", "MOST_ENTRIES", "Transcript", "format_of", "read_transcript"]

FORMATS: Final[tuple[Format, ...]] = (
    junit.FORMAT,
    atif.FORMAT,
    pytest_json.FORMAT,
    codex.FORMAT,
    copilot.FORMAT,
    gemini.FORMAT,
    openhands.FORMAT,
    claude_code.FORMAT,
    cursor.FORMAT,
    swe_agent.FORMAT,
    mini_swe_agent.FORMAT,
)
"""In the order in which they are asked, those with marks of their own first."""

MOST_ENTRIES: Final = 2_000
"""Entries that are kept of a transcript: the last ones, since failures are looked for from the end."""

_SNIFFED: Final = 50


class Transcript(NamedTuple):
    """What a transcript told: in which format, the entries that were kept, and how many came before those."""

    format: str
    entries: tuple[Evidence, ...]
    forgotten: int = 0


def format_of(record: Payload) -> Format | None:
    """Return the format that one record shows."""
    return next((format_ for format_ in FORMATS if format_.claims(record)), None)


def read_transcript(path: str | Path, *, tail: int | None = None, most: int = MOST_ENTRIES) -> Transcript:
    """Return the last `most` entries of a transcript; none where it is missing, empty, or in no known format.

    `tail` reads only about so many of its last bytes, for a reader who is in a hurry.
    """
    found = records(path, tail)
    first = list(islice(found, _SNIFFED))
    format_ = next((known for record in first if (known := format_of(record)) is not None), None)
    if format_ is None:
        return Transcript("", ())
    kept: deque[Evidence] = deque(maxlen=most)
    count = 0
    for entry in format_.read(chain(first, found)):
        kept.append(entry)
        count += 1
    return Transcript(format_.name, tuple(kept), count - len(kept))
