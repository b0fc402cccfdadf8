"""Where a verb reads from: a file, or stdin for `-`."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..errors import ReflectGateError

__all__ = ["STDIN", "open_input", "size_of"]

STDIN = "<stdin>"


@contextmanager
def open_input(path: str) -> Iterator[tuple[BinaryIO, str]]:
    """Yield the stream of `path` and the name that errors call it; `cannot-read` where it cannot be opened."""
    if path == "-":
        yield sys.stdin.buffer, STDIN
        return
    try:
        stream = Path(path).open("rb")  # noqa: SIM115 - closed below; opened here so that only opening is answered for
    except OSError as error:
        raise ReflectGateError("cannot-read", f"cannot read `{path}`: {(error.strerror or '').lower()}") from None
    with stream:
        yield stream, path


def size_of(stream: BinaryIO) -> int:
    """Return how many bytes `stream` holds, 0 where that is unknown (a pipe, a terminal)."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
