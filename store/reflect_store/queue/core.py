"""The parts of a file queue and the steps over them that its operations are made of."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from ..errors import Place, StoreError
from .clock import Clock
from .counters import Counters
from .folder import Folder, Folders, explain
from .fs import Fs
from .job import is_id
from .ledger import Ledger
from .lock import Leases, Mutex
from .policy import QueueSettings
from .record import MOST_BYTES, CorruptError, NewerError, Reason, Record, decode, encode, short
from .schedule import Entry, Schedule

__all__ = ["Core"]


class Core:
    """What every operation needs. All but the first few methods are called with `mutex` held, and let `OSError` through."""

    def __init__(self, root: str, settings: QueueSettings, fs: Fs, clock: Clock) -> None:
        self.root = root
        self.settings = settings
        self.clock = clock
        self.counters = Counters()
        self.schedule = Schedule()
        self.held: dict[str, Callable[[], None]] = {}
        """Jobs that this queue gave out, and what takes each back."""
        self.change = threading.Condition()
        """Is notified of what this process changes."""
        self._closed = False
        self.folders = Folders(root, fs)
        self.folders.make()
        self.leases = Leases(self.folders)
        self.ledger = Ledger(self.folders)
        self.mutex = Mutex(self.folders, clock, settings.lock_timeout)
        self.loaded: int | None = None
        """The generation of `wal/` that the schedule knows; None before the first replay."""
        self._noted: int | None = None
        self._names: set[str] = set()
        self._generation: int | None = None
        self._left: set[str] = set()

    # -- at any time ---------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Release every handle; closing twice is harmless."""
        self._closed = True
        self.tell()
        self.ledger.close()
        self.folders.close()
        self.mutex.close()

    def check_open(self) -> None:
        """Raise `queue-closed` after `close`."""
        if self._closed:
            raise StoreError("queue-closed", "the queue was closed", Place(self.root))

    def tell(self) -> None:
        """Wake whoever waits for a job."""
        with self.change:
            self.change.notify_all()

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """Turn an error of the system into one of the queue."""
        try:
            yield
        except OSError as error:
            raise explain(error, self.root) from error

    # -- which records there are ---------------------------------------------------------------------------------------

    def known(self) -> set[str]:
        """Return the names of the records in `wal/`; the folder is read only if someone else changed it."""
        generation = self.mutex.generation
        if generation != self._generation:
            self._names = set(self.folders.ids("wal"))
            self._generation = generation
        return self._names

    def look_again(self) -> None:
        """Forget which records there are."""
        self._generation = None
        self._left.clear()

    @contextlib.contextmanager
    def changing(self, *, even_if_untold: bool = False) -> Iterator[set[str]]:
        """Tell the other processes of a change, and yield the names of the records for the caller to change alike.

        Args:
            even_if_untold: go on where the others cannot be told, as on a full disk: a record that is gone does no harm.
        """
        names = self.known()
        before = self._generation
        try:
            generation: int | None = self.mutex.advance()
        except OSError:
            if not even_if_untold:
                raise
            generation = None
        self._generation = None
        yield names
        # Not reached after an error: then it is unknown what is there.
        self._generation = generation
        if self.loaded == before and generation is not None:
            # The caller knows what it did, and keeps the schedule in step.
            self.loaded = generation
        if self._noted == before and generation is not None:
            self._noted = generation

    # -- records -------------------------------------------------------------------------------------------------------

    def load(self, folder: Folder, name: str) -> Record | None:
        """Return a record, None where there is none that can be used: what is damaged is set aside, what is newer stays."""
        try:
            data = self.folders.read(folder, name, MOST_BYTES)
        except OSError:
            self._leave(folder, name)
            return None
        if data is None:
            if folder == "wal":
                # Someone removed it by hand.
                self._names.discard(name)
            return None
        try:
            record = decode(data)
        except NewerError:
            self._leave(folder, name)
            return None
        except CorruptError:
            record = None
        if record is None or record.id != name:
            self._set_aside(folder, name, data)
            return None
        return record

    def left(self, id_: str) -> bool:
        """Return whether a record in `wal/` was found to be none that can be used, and stays there."""
        return f"wal/{id_}" in self._left

    def _leave(self, folder: Folder, name: str) -> None:
        if f"{folder}/{name}" not in self._left:
            self._left.add(f"{folder}/{name}")
            self.counters.unreadable += 1

    def _set_aside(self, folder: Folder, name: str, data: bytes) -> None:
        try:
            with self.changing() as names:
                self.folders.set_aside(folder, name, data, whole=len(data) <= MOST_BYTES)
                if folder == "wal":
                    names.discard(name)
        except (OSError, StoreError):
            # A full disk: it stays where it is, and is no job there either.
            self._leave(folder, name)
        else:
            self.counters.wal_corruption += 1

    def save(self, record: Record) -> None:
        """Write the record of a job that waits."""
        data = encode(record)
        with self.changing() as names:
            self.folders.write("wal", record.id, data)
            names.add(record.id)

    def remove(self, id_: str) -> None:
        """Remove the record of a job; it may come back with a power cut, and then `settled_already` knows it."""
        with self.changing(even_if_untold=True) as names:
            self.folders.remove("wal", id_)
            names.discard(id_)

    def bury(self, record: Record, error: object, reason: Reason) -> None:
        """Make a job a dead letter: first written and synced there, then removed here."""
        dead = record._replace(error=short(error), reason=reason, died=self.clock.wall())
        self.folders.write("dlq", record.id, encode(dead))
        # Until the record is gone too, whoever finds it lets the dead letter win.
        with contextlib.suppress(OSError):
            self.remove(record.id)

    def park(self, record: Record) -> None:
        """Move a job that waited for too long to `expired/`."""
        self.folders.write("expired", record.id, encode(record))
        self.remove(record.id)
        self.counters.stale_discarded += 1

    def settled_already(self, id_: str) -> str | None:
        """Return why a record is only left over, `dead` or `done`, and None where its job is to be run."""
        if self.folders.exists("dlq", id_):
            return "dead"
        return "done" if is_id(id_) and id_ in self.ledger else None

    def probably_done(self, id_: str) -> bool:
        """Return whether a job without a record is known to be done; the ledger is read only if someone changed something.

        Where this misses one, as after a change that could not be told, its record is found to be left over when it is claimed.
        """
        generation = self.mutex.generation
        if generation == self._noted:
            return self.ledger.noted(id_)
        found = id_ in self.ledger
        self._noted = generation
        return found

    # -- when ----------------------------------------------------------------------------------------------------------

    def entry(self, record: Record) -> Entry:
        """Return the entry of a record that was just read: due by the calendar, but never later than the longest delay."""
        wait = min(max(record.next - self.clock.wall(), 0.0), self.settings.longest)
        return Entry(self.clock.monotonic() + wait, record.created, record.attempts, (record.next, record.attempts))

    def later(self, id_: str, entry: Entry, seconds: float) -> None:
        """Look at a job again in so many seconds."""
        self.schedule.add(id_, entry._replace(due=self.clock.monotonic() + seconds))
