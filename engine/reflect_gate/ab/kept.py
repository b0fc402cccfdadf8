"""Verdicts kept in a folder, a file for each chunk, so that a run that was ended goes on where it was.

A chunk's name follows from all that its verdicts follow from: the version of the program, the resolved bundle, the engines, and
the requests. What cannot be read, or is not what it should be, is judged again.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from .. import __version__
from .._canonical import canonical_bytes, digest
from ..corpus.score import Verdict
from ..errors import ReflectGateError

__all__ = ["CHUNK", "Kept", "key_of", "row_of", "verdict_of"]

T = TypeVar("T")

CHUNK: Final = 64
"""Requests of one chunk: what is lost at most, for each worker, when a run is ended."""

_FORM: Final = 1


def key_of(bundle: tuple[str, str, bool], requests: Sequence[object], *what: object) -> str:
    """Return the name of a chunk; `bundle` is its digest, its engine and whether engines are cross-checked.

    `what` is whatever else its rows follow from, as plain data; nothing for verdicts.
    """
    return digest([_FORM, __version__, list(bundle), list(requests), *what])


class Kept:
    """A folder of chunks; without a folder nothing is kept."""

    def __init__(self, folder: str | None) -> None:
        self._folder = None if folder is None else Path(folder)
        if self._folder is not None:
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                message = f"cannot keep anything in `{folder}`: {(error.strerror or '').lower()}"
                raise ReflectGateError("cannot-write", message) from None

    def get(self, key: str, size: int) -> list[Verdict] | None:
        """Return the `size` verdicts of a chunk, `None` where they are not kept whole."""
        return self.rows(key, size, verdict_of)

    def put(self, key: str, verdicts: Sequence[Verdict | None]) -> None:
        """Keep a chunk of verdicts as `put_rows` does."""
        self.put_rows(key, [None if one is None else row_of(one) for one in verdicts])

    def rows(self, key: str, size: int, read: Callable[[Any], T | None]) -> list[T] | None:
        """Return the `size` rows of a chunk as `read` makes them of plain data, `None` where they are not kept whole."""
        if self._folder is None:
            return None
        try:
            found = json.loads((self._folder / f"{key}.json").read_bytes())
        except (OSError, ValueError):
            return None
        if not isinstance(found, list) or len(found) != size:
            return None
        made = [read(row) for row in found]
        return [one for one in made if one is not None] if None not in made else None

    def put_rows(self, key: str, rows: Sequence[Any]) -> None:
        """Keep a chunk, whole or not at all; not one with a request that could not be judged. A full disk is no error."""
        if self._folder is None or None in rows:
            return
        path = self._folder / f"{key}.json"
        draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        with contextlib.suppress(OSError):
            draft.write_bytes(canonical_bytes(rows))
            draft.replace(path)


def row_of(verdict: Verdict) -> list[Any]:
    """Return a verdict as plain data."""
    return [verdict.id, verdict.task, verdict.status, verdict.reason, sorted(map(list, verdict.against))]


def verdict_of(row: Any) -> Verdict | None:
    """Return the verdict that `row_of` made plain, `None` where it is none."""
    match row:
        case [str(name), str(task), "admitted" | "undecided" | "refused" as status, str() | None as reason, [*against]]:
            pairs = frozenset((str(stage), str(why)) for stage, why in against if isinstance(stage, str))
            return Verdict(name, task, status, reason, pairs)
        case _:
            return None
