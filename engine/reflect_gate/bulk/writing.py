"""Files that appear whole or not at all, under whichever process writes them, and stay after a loss of power."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from ..errors import ReflectGateError

__all__ = ["drafted", "drafts_below", "write_whole"]

_DRAFT: Final = ".draft"
_DRAFTS: Final = re.compile(r"\..+\.[0-9]+\.[0-9a-f]{8}" + re.escape(_DRAFT))
"""How an unfinished file is called; one that a killed process left is removed when a run ends well."""


@contextmanager
def drafted(path: Path) -> Iterator[IO[bytes]]:
    """Yield a stream whose bytes become `path` when all is written; `cannot-write` where they cannot."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}{_DRAFT}")
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


def drafts_below(folder: Path) -> Iterator[Path]:
    """Yield what unfinished writing left in a folder and in those below, and no file of anybody else."""
    return (path for path in folder.rglob(f".*{_DRAFT}") if _DRAFTS.fullmatch(path.name))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    with drafted(path) as stream:
        stream.write(data)
