"""Judging the requests of a command line against a store, and committing where that was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ..config import store_path
from ._errors import store_errors

if TYPE_CHECKING:
    from reflect_store import EventStore

    from ..policy import Bundle

__all__ = ["Against", "StoreChoice"]


class Against:
    """An open store that requests are judged against."""

    def __init__(self, store: EventStore, *, apply: bool) -> None:
        self._store = store
        self._apply = apply

    def judge(self, request: Mapping[str, Any], bundle: Bundle, *, explain: bool) -> dict[str, Any]:
        """Return the document of the decision; what was written stands in it under `applied`."""
        from ..memory.applying import apply, consider

        with store_errors():
            if self._apply:
                done = apply(self._store, request, bundle, explain=explain)
                return done.to_json(self._store.backend.place)
            return consider(self._store, request, bundle, explain=explain).decision.to_json()


class StoreChoice(NamedTuple):
    """The store that the command line names (an empty name means the one in force); sent to worker processes as it is."""

    file: str
    apply: bool

    @contextmanager
    def opened(self) -> Iterator[Against]:
        """Yield the open store; one that requests are committed to is made where there is none."""
        from reflect_store import open_store

        path = store_path(self.file or None)
        with store_errors(), open_store(path, create=self.apply, read_only=not self.apply) as store:
            yield Against(store, apply=self.apply)

    def kept_open(self) -> Against:
        """Return the store opened for reading until the process ends, as a worker of a batch needs it."""
        from reflect_store import open_store

        with store_errors():
            return Against(open_store(store_path(self.file or None), read_only=True), apply=False)
