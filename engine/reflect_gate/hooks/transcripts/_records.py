"""Reading a transcript record by record: a file that is being written, cut off, huge, missing, or something else altogether.

Lines and documents are bounded, and what does not parse is passed over: the last line of a live transcript is half a line.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Final

from ..event import Payload

__all__ = ["MOST_DOCUMENT", "MOST_LINE", "records"]

MOST_LINE: Final = 4 * 1_048_576
MOST_DOCUMENT: Final = 32 * 1_048_576
"""Bytes of one line, and of a file that is one JSON document; what is larger is passed over."""

_SNIFFED: Final = 5
_MOST_FILES: Final = 100_000


def records(path: str | Path, tail: int | None = None) -> Iterator[Payload]:
    """Yield the JSON objects of a transcript: its lines, the elements of its list, its one document, or the files of its folder.

    With `tail` only about so many of the last bytes of a file of lines are read. A JUnit report yields an object a test case.
    """
    place = Path(path)
    try:
        about = place.stat()
        if stat.S_ISDIR(about.st_mode):
            yield from _folder(place)
        elif stat.S_ISREG(about.st_mode):
            with place.open("rb") as stream:
                yield from _file(stream, about.st_size, tail)
    except OSError:
        # Not there yet, gone again, or not ours to read: the evidence is what the event itself says.
        return


def _folder(place: Path) -> Iterator[Payload]:
    names = sorted(islice((entry.name for entry in os.scandir(place) if entry.name.endswith(".json")), _MOST_FILES))
    for name in names:
        file = place / name
        if file.is_file() and file.stat().st_size <= MOST_LINE:
            yield from _document(file.read_bytes())


def _file(stream: IO[bytes], size: int, tail: int | None) -> Iterator[Payload]:
    head = stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    stream.seek(0)
    if head.startswith(b"<"):
        from .junit import testcases

        yield from testcases(stream)
    elif head and _has_lines(stream):
        stream.seek(max(0, size - tail) if tail else 0)
        if stream.tell():
            stream.readline(MOST_LINE)
        for line in _lines(stream):
            yield from _object(line)
    elif head and size <= MOST_DOCUMENT:
        stream.seek(0)
        yield from _document(stream.read(MOST_DOCUMENT))


def _has_lines(stream: IO[bytes]) -> bool:
    """Return whether one of the first lines is an object by itself, as no line of a document printed over several lines is."""
    return any(next(_object(line), None) is not None for line in islice(_lines(stream), _SNIFFED))


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    while line := stream.readline(MOST_LINE):
        if line.endswith(b"\n") or len(line) < MOST_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(MOST_LINE)


def _object(data: bytes) -> Iterator[Payload]:
    value = _parsed(data)
    if isinstance(value, dict):
        yield value


def _document(data: bytes) -> Iterator[Payload]:
    value = _parsed(data)
    for entry in value if isinstance(value, list) else [value]:
        if isinstance(entry, dict):
            yield entry


def _parsed(data: bytes) -> object:
    try:
        return json.loads(data.decode("utf-8", "replace").lstrip("\ufeff"), strict=False)
    except (ValueError, RecursionError):
        return None
