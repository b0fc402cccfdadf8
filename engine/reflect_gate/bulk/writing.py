"""Files that appear whole or not at all, under whichever process writes them, and stay after a loss of power."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..errors import ReflectGateError

__all__ = ["DRAFT", "drafted", "write_whole"]

DRAFT = ".draft"
"""How the name of an unfinished file ends; one that a killed process left is removed when a run ends well."""


@contextmanager
def drafted(path: Path) -> Iterator[IO[bytes]]:
    """Yield a stream whose bytes become `path` when all is written; `cannot-write` where they cannot."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}{DRAFT}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except OSError as error:
        raise ReflectGateError("cannot-write", f"cannot write `{path}`: {(error.strerror or str(error)).lower()}") from None
    finally:
        draft.unlink(missing_ok=True)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    with drafted(path) as stream:
        stream.write(data)
