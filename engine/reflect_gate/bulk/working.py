"""The one function that workers run: a chunk in, its finished part out; run twice, it does nothing the second time."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from reflect_store.errors import StoreError

from .._canonical import digest
from ..errors import ReflectGateError
from .chunks import Chunk, content_digest, read_column
from .judging import Judge
from .parcel import receive
from .parts import kept_digest, write_part

__all__ = ["Done", "Task", "work"]

_FORM: Final = 1


class Task(NamedTuple):
    """A chunk of the input below `root`, to be judged by what was shipped below `out` under `shipped`."""

    root: str
    chunk: Chunk
    out: str
    shipped: str


class Done(NamedTuple):
    """The digest of the lines of a finished chunk, and whether it was finished before."""

    digest: str
    kept: bool


def work(task: Task) -> Done:
    """Judge a chunk, unless its part is finished; the part follows from the rows and from what was shipped alone.

    Raises:
        ReflectGateError: of files and of what was shipped; errors of rows stand in the part.
    """
    try:
        return _work(task)
    except ReflectGateError as error:
        # A plain error crosses from process to process; one that stands for several does not.
        first = error.errors[0]
        raise ReflectGateError(first.code, first.message, first.source) from None
    except StoreError as error:
        raise ReflectGateError(error.code, error.message) from None


def _work(task: Task) -> Done:
    judge, identity = _received(task.out, task.shipped)
    chunk = task.chunk
    rows = read_column(Path(task.root), chunk)
    key = digest([_FORM, identity, chunk.file, chunk.first, content_digest(rows)])
    path = Path(task.out) / chunk.part
    kept = kept_digest(path, chunk, key)
    if kept is not None:
        return Done(kept, kept=True)
    lines = [judge.line(row, chunk.file, number) for number, row in enumerate(rows, chunk.first)]
    return Done(write_part(path, chunk, key, lines), kept=False)


class _Received(threading.local):
    """What this thread was shipped last; a store that one thread opened is not used by another."""

    found: tuple[tuple[str, str], tuple[Judge, Mapping[str, Any]]] | None = None


_received_last = _Received()


def _received(out: str, shipped: str) -> tuple[Judge, Mapping[str, Any]]:
    last = _received_last.found
    if last is None or last[0] != (out, shipped):
        last = _received_last.found = ((out, shipped), receive(Path(out), shipped))
    return last[1]
