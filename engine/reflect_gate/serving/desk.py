"""What a thread of the server works at: the policies that all share, and a store that is its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from ..cli._errors import store_errors
from ..config import store_path
from ..errors import ReflectGateError
from .policies import WatchedPolicies

if TYPE_CHECKING:
    from reflect_store import EventStore

    from ..policy import Bundle

__all__ = ["Desk"]


class Desk:
    """Belongs to one thread; `turn` is what those who write to one store share."""

    def __init__(self, policies: WatchedPolicies, turn: threading.Lock | None = None) -> None:
        self._policies = policies
        self._turn = turn or threading.Lock()
        self._store: EventStore | None = None
        self._file: tuple[int, int] | None = None

    @property
    def bundle(self) -> Bundle:
        """The bundle in force; `PolicyBrokenError` while it does not load."""
        return self._policies.bundle()

    @contextmanager
    def store(self) -> Iterator[EventStore]:
        """Yield the store in force, open; after an error of the store it is opened anew."""
        with store_errors():
            try:
                yield self._opened()
            except ReflectGateError:
                raise
            except BaseException:
                self.close()
                raise

    @contextmanager
    def writing(self) -> Iterator[EventStore]:
        """Yield the store for a decision that is to be committed.

        In a file, decisions are made one after another: those that are made at once move each other's view, and are made again.
        A server of stores has room for several, of which most of the time is the way there.
        """
        with self._turn if isinstance(store_path(), Path) else nullcontext(), self.store() as store:
            yield store

    def _opened(self) -> EventStore:
        place = store_path()
        # A file that was moved away or restored is another one, and what is written to the old one would be lost.
        file = _identity(place)
        if self._store is None or file != self._file:
            self.close()
            self._store, self._file = _open(place), file
        return self._store

    def close(self) -> None:
        """Let the store go."""
        if self._store is not None:
            self._store.close()
        self._store = None


def _identity(place: Path | str) -> tuple[int, int] | None:
    if isinstance(place, str):
        return None
    try:
        status = place.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _open(place: Path | str) -> EventStore:
    from reflect_store import StoreError, open_store

    try:
        return open_store(place)
    except StoreError as error:
        if error.code != "store-read-only":
            raise
    return open_store(place, read_only=True)
