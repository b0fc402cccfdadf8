"""Where a verb reads from: a file, or stdin for `-`."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

from ..config import Limits
from ..errors import ReflectGateError, Source, raise_all
from ._output import note

__all__ = ["STDIN", "open_input", "read_rows", "size_of"]

T = TypeVar("T")

STDIN = "<stdin>"


@contextmanager
def open_input(path: str) -> Iterator[tuple[BinaryIO, str]]:
    """Yield the stream of `path` and the name that errors call it; `cannot-read` where it cannot be opened."""
    if path == "-":
        # Somebody who forgot to name the file would wait for the program, and it for them.
        if sys.stdin.isatty():
            note("reading from the terminal: name a file, or end with Ctrl-D", {"reading": "terminal"})
        yield sys.stdin.buffer, STDIN
        return
    try:
        stream = Path(path).open("rb")  # noqa: SIM115 - closed below; opened here so that only opening is answered for
    except OSError as error:
        raise ReflectGateError("cannot-read", f"cannot read `{path}`: {(error.strerror or '').lower()}") from None
    with stream:
        yield stream, path


def read_rows(path: str, read: Callable[[object, Source], T]) -> list[T]:
    """Return what `read` makes of each line of a file of JSON objects; raises every error of every line at once."""
    from ..documents import read_ndjson

    found: list[T] = []
    errors: list[ReflectGateError] = []
    with open_input(path) as (stream, name):
        for number, row in read_ndjson(stream, name, Limits()):
            try:
                if isinstance(row, ReflectGateError):
                    raise row
                found.append(read(row, Source(name, number)))
            except ReflectGateError as error:
                errors.append(error)
    raise_all(errors)
    return found


def size_of(stream: BinaryIO) -> int:
    """Return how many bytes `stream` holds, 0 where that is unknown (a pipe, a terminal)."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
