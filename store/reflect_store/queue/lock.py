"""Who may change the folder (the mutex, held for a moment) and who works on a job (a lease, held as long as the work)."""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType
from typing import Final, NamedTuple

from ..errors import Place, StoreError
from .clock import Clock
from .folder import SUFFIX, Folders

__all__ = ["Lease", "Leases", "Mutex"]

_WORD: Final = 8
_WRAP: Final = 1 << 64
_FIRST_PAUSE: Final = 0.0005
_LONGEST_PAUSE: Final = 0.01


class Mutex:
    """One lock for all threads and processes that use a folder; it is given back by the system when a process dies.

    Its file also holds a number that everyone raises before a change, so that the others see that they must look again.
    """

    def __init__(self, folders: Folders, clock: Clock, patience: float) -> None:
        self._folders = folders
        self._fs = folders.fs
        self._clock = clock
        self._patience = patience
        self._path = folders.path("lock")
        self._thread = threading.RLock()
        self._depth = 0
        self._number: int | None = None
        self._handle: int | None = self._fs.open_lock(self._path)

    def __enter__(self) -> None:
        self._thread.acquire()
        try:
            if self._depth == 0:
                self._lock()
            self._depth += 1
        except BaseException:
            self._thread.release()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._depth -= 1
            if self._depth == 0:
                self._number = None
                if self._handle is not None:
                    self._unlock(self._handle)
        finally:
            self._thread.release()

    def _lock(self) -> None:
        handle = self._open()
        end = self._clock.monotonic() + self._patience
        pause = _FIRST_PAUSE
        while not self._fs.try_lock(handle):
            if self._clock.monotonic() >= end:
                raise StoreError("queue-busy", f"another process has had the queue for {self._patience:g} s", Place(self._path))
            self._clock.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        try:
            self.check_there()
        except BaseException:
            self._unlock(handle)
            raise

    def check_there(self) -> None:
        """Raise `queue-gone` where the folder was removed, also if another has taken its place."""
        with self._thread:
            if not self._fs.same(self._open(), self._path):
                raise StoreError("queue-gone", "the folder of the queue was removed", Place(self._folders.root))

    def _unlock(self, handle: int) -> None:
        try:
            self._fs.unlock(handle)
        except OSError:
            # Closing gives it back for certain; the next use opens the file again.
            self._handle = None
            with contextlib.suppress(OSError):
                self._fs.close(handle)

    def _open(self) -> int:
        if self._handle is None:
            self._handle = self._fs.open_lock(self._path)
        return self._handle

    @property
    def threads(self) -> threading.RLock:
        """The lock among the threads of this process alone."""
        return self._thread

    @property
    def generation(self) -> int:
        """How often something was changed; may be read without the lock, and then be old by the time it is known."""
        with self._thread:
            if self._number is not None:
                return self._number
            number = int.from_bytes(self._fs.read_at(self._open(), 0, _WORD), "big")
            if self._depth:
                # Nobody else can change it before the lock is given back.
                self._number = number
            return number

    def advance(self) -> int:
        """Say that something is about to change, and return the new generation; called with the lock held."""
        generation = (self.generation + 1) % _WRAP
        self._number = None
        self._fs.write_at(self._open(), 0, generation.to_bytes(_WORD, "big"))
        self._number = generation
        return generation

    def close(self) -> None:
        """Release the file."""
        with self._thread:
            if self._handle is not None:
                handle, self._handle = self._handle, None
                with contextlib.suppress(OSError):
                    self._fs.close(handle)


class Lease(NamedTuple):
    """The right to work on a job. `strikes` counts the holders before it that died with it."""

    id: str
    handle: int
    strikes: int


class Leases:
    """The leases of a folder: a locked file each. All but `Lease.handle` is used with the mutex held.

    A holder that is killed leaves the file without its lock. The count in it is one strike for each such holder; it is never
    synced, since only the death of a process counts, not that of the machine.
    """

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._fs = folders.fs

    def _path(self, id_: str) -> str:
        return self._folders.path("lease", id_ + SUFFIX)

    def take(self, id_: str) -> Lease | None:
        """Return the lease of a job, None where someone has it."""
        handle = self._fs.open_lock(self._path(id_))
        try:
            if not self._fs.try_lock(handle):
                self._close(handle)
                return None
            strikes = int.from_bytes(self._fs.read_at(handle, 0, 1), "big")
            # On a full disk the job is worked on all the same.
            with contextlib.suppress(OSError):
                self._fs.write_at(handle, 0, bytes((min(strikes + 1, 255),)))
        except BaseException:
            self._close(handle)
            raise
        return Lease(id_, handle, strikes)

    def drop(self, lease: Lease, *, keep_strikes: bool = False) -> None:
        """Give the lease back; its file goes too, unless its strikes are to be kept."""
        with contextlib.suppress(OSError):
            if keep_strikes:
                self._fs.write_at(lease.handle, 0, bytes((lease.strikes,)))
            else:
                self._fs.unlink(self._path(lease.id))
        # A child process that shares the handle must not keep the lock.
        with contextlib.suppress(OSError):
            self._fs.unlock(lease.handle)
        self._close(lease.handle)

    def busy(self, id_: str) -> bool:
        """Return whether someone works on the job."""
        if not self._folders.exists("lease", id_):
            return False
        lease = self.take(id_)
        if lease is None:
            return True
        self.drop(lease, keep_strikes=True)
        return False

    def sweep(self, known: frozenset[str]) -> None:
        """Remove what is left of leases of jobs that are no more."""
        for id_ in self._folders.ids("lease"):
            if id_ not in known:
                lease = self.take(id_)
                if lease is not None:
                    self.drop(lease)

    def _close(self, handle: int) -> None:
        with contextlib.suppress(OSError):
            self._fs.close(handle)
