"""A queue in a folder, as one side of a move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .core import Core
from .files import FileQueue
from .folder import Folder
from .job import is_id
from .moving import Shelf
from .record import Record, encode

__all__ = ["FolderSide"]

_FOLDERS: Final[Mapping[Shelf, Folder]] = {"waiting": "wal", "moving": "dlq", "dead": "dlq", "expired": "expired"}
_KNOWN: Final[tuple[Folder, ...]] = ("wal", "dlq")


class FolderSide:
    """The folder of a queue; see `moving.Side`."""

    def __init__(self, queue: FileQueue) -> None:
        self._core: Core = queue.core

    def ids(self, shelf: Shelf) -> list[str]:
        """Return which jobs lie there, the oldest first."""
        core, found = self._core, []
        with core.told(), core.mutex:
            for id_ in core.folders.ids(_FOLDERS[shelf]):
                record = core.load(_FOLDERS[shelf], id_)
                if record is not None and _belongs(record, shelf):
                    found.append((record.created, id_))
        return [id_ for _, id_ in sorted(found)]

    def hide(self, id_: str) -> bool:
        """Make a job a dead letter that nobody may put back: written and synced there first, removed here afterwards."""
        core = self._core
        with core.told(), core.mutex:
            lease = core.leases.take(id_)
            if lease is None:
                return False
            try:
                record = core.load("wal", id_)
                if record is None:
                    return False
                if core.settled_already(id_) is None:
                    core.folders.write("dlq", id_, encode(record._replace(reason="moving", died=core.clock.wall())))
                    hidden = True
                else:
                    hidden = False
                core.remove(id_)
                # Were its record to come back with a power cut after the letter is gone, it would run here.
                core.folders.sync("wal")
                core.schedule.remove(id_)
                return hidden
            finally:
                core.leases.drop(lease)

    def record(self, shelf: Shelf, id_: str) -> Record | None:
        """Return a record as it is to be taken in."""
        core = self._core
        with core.told(), core.mutex:
            record = core.load(_FOLDERS[shelf], id_)
        if record is None or not _belongs(record, shelf):
            return None
        return record._replace(reason=None, died=None) if shelf == "moving" else record

    def take_in(self, shelf: Shelf, record: Record) -> None:
        """Take a record in, unless the job is known."""
        core, id_ = self._core, record.id
        with core.told(), core.mutex:
            core.folders.fresh()
            for place in _KNOWN:
                if core.folders.exists(place, id_):
                    core.folders.sync(place)
                    return
            if id_ in core.ledger:
                return
            if shelf == "waiting":
                core.save(record)
                core.schedule.add(id_, core.entry(record))
            else:
                core.folders.write(_FOLDERS[shelf], id_, encode(record))
        core.tell()

    def forget(self, shelf: Shelf, id_: str) -> None:
        """Remove a record, durably."""
        core = self._core
        with core.told(), core.mutex:
            # The record of which a letter was made may still come back, unless its removal is durable.
            core.folders.sync("wal")
            core.folders.remove(_FOLDERS[shelf], id_)
            core.folders.sync(_FOLDERS[shelf])

    def done(self) -> Mapping[str, float]:
        """Return what the ledger holds."""
        core = self._core
        with core.told(), core.mutex:
            return {id_: float(time) for id_, time in core.ledger.all().items()}

    def learn(self, done: Mapping[str, float]) -> int:
        """Add to the ledger."""
        core = self._core
        times = {id_: int(time) for id_, time in done.items() if is_id(id_)}
        with core.told(), core.mutex, core.changing():
            return core.ledger.add_all(times)


def _belongs(record: Record, shelf: Shelf) -> bool:
    return shelf in {"waiting", "expired"} or (record.reason == "moving") == (shelf == "moving")
