"""The folders of a queue and the few ways in which a file in them changes, each safe to be cut short anywhere."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import Final, Literal, TypeAlias

from ..errors import Place, StoreError
from .fs import Fs

__all__ = ["FOLDERS", "LEDGER", "SUFFIX", "Folder", "Folders", "explain", "write_whole"]

Folder: TypeAlias = Literal["wal", "dlq", "quarantine", "expired", "lease"]

FOLDERS: Final[tuple[Folder, ...]] = ("wal", "dlq", "quarantine", "expired", "lease")
SUFFIX: Final = ".wal"
LEDGER: Final = "done.log"
_UNFINISHED: Final = ".tmp"

_CODES: Final = {
    errno.ENOSPC: ("queue-full-disk", "the disk of the queue is full"),
    getattr(errno, "EDQUOT", -1): ("queue-full-disk", "the disk of the queue is full"),
    errno.EROFS: ("queue-read-only", "the queue cannot be written"),
    errno.EACCES: ("queue-read-only", "the queue cannot be written"),
    errno.EPERM: ("queue-read-only", "the queue cannot be written"),
    errno.ENOENT: ("queue-gone", "the folder of the queue is gone"),
    errno.ENOTDIR: ("queue-gone", "the folder of the queue is gone"),
    getattr(errno, "ESTALE", -2): ("queue-gone", "the folder of the queue is gone"),
}


def explain(error: OSError, root: str) -> StoreError:
    """Return the error of the queue for one of the system."""
    code, what = _CODES.get(error.errno or 0, ("queue-io", "the queue cannot be used"))
    return StoreError(code, f"{what}: {(error.strerror or str(error)).lower()}", Place(root))


def write_whole(fs: Fs, handle: int, data: bytes) -> None:
    """Write all of the data, however little a call takes of it."""
    left = memoryview(data)
    while left:
        written = fs.write(handle, left)
        if written <= 0:
            raise OSError(errno.EIO, "nothing was written")
        left = left[written:]


class Folders:
    """The folders under one root. All that changes something is called while the lock of the queue is held.

    A sync of a folder that fails is never tried again: the system may have dropped what it could not write, and would say that
    all is well. From then on `latch` holds the error, and nothing that needs a sync of a folder succeeds.
    """

    def __init__(self, root: str, fs: Fs) -> None:
        self.root = root
        self.fs = fs
        self.latch: OSError | None = None
        self._handles: dict[str, int] = {}

    def make(self) -> None:
        """Make what is missing; the folders themselves are durable on return."""
        self.fs.make_folder(self.root)
        for folder in FOLDERS:
            self.fs.make_folder(f"{self.root}{os.sep}{folder}")
        if not self.fs.exists(self.path(LEDGER)):
            self.fs.close(self.fs.append(self.path(LEDGER)))
        # Another process may have made them and died before they were durable.
        with contextlib.suppress(PermissionError):
            # A folder that others made may lie where this user cannot look.
            self._sync_path(os.path.dirname(os.path.abspath(self.root)))
        self._sync_path(self.root)

    def _sync_path(self, path: str) -> None:
        handle = self.fs.open_folder(path)
        try:
            self.fs.sync_folder(handle)
        finally:
            self.fs.close(handle)

    def close(self) -> None:
        """Release every handle."""
        while self._handles:
            _, handle = self._handles.popitem()
            with contextlib.suppress(OSError):
                self.fs.close(handle)

    def path(self, folder: str, name: str = "") -> str:
        """Return the path of a folder, or of a name in it."""
        return os.sep.join((self.root, folder, name)) if name else f"{self.root}{os.sep}{folder}"

    def ids(self, folder: Folder) -> list[str]:
        """Return the names of the records in a folder, without suffix, sorted; other files are none of the queue's business."""
        names = self.fs.names(self.path(folder))
        return sorted(name[: -len(SUFFIX)] for name in names if name.endswith(SUFFIX) and not name.startswith("."))

    def exists(self, folder: Folder, name: str) -> bool:
        """Return whether a record of that name is there."""
        return self.fs.exists(self.path(folder, name + SUFFIX))

    def write(self, folder: Folder, name: str, data: bytes) -> None:
        """Write a record, in place of an earlier one; it is durable on return, and never seen in part."""
        self.fresh()
        self.write_file(self.path(folder, name + SUFFIX), self.path(folder, f".{name}{_UNFINISHED}"), data)
        self.sync(folder)

    def write_file(self, path: str, beside: str, data: bytes) -> None:
        """Write a file under another name, sync it, and rename it; the folder is not synced."""
        try:
            handle = self._create(beside)
            try:
                write_whole(self.fs, handle, data)
                self.fs.sync(handle)
            finally:
                self.fs.close(handle)
            self.fs.rename(beside, path)
        except BaseException:
            # A file whose sync failed is of no use: the next attempt writes a new one.
            with contextlib.suppress(OSError):
                self.fs.unlink(beside)
            raise

    def _create(self, path: str) -> int:
        try:
            return self.fs.create(path)
        except FileExistsError:
            # Whoever began it died: the lock is ours.
            self.fs.unlink(path)
            return self.fs.create(path)

    def fresh(self) -> None:
        """Raise the error of an earlier sync, if one failed."""
        if self.latch is not None:
            raise StoreError(
                "queue-latched",
                f"a folder could not be synced ({(self.latch.strerror or '').lower()}); nothing is taken in until a restart",
                Place(self.root),
            )

    def sync(self, folder: Folder | Literal["."]) -> None:
        """Make the names in a folder, or in the root, durable."""
        self.fresh()
        handle = self._handles.get(folder)
        if handle is None:
            handle = self._handles[folder] = self.fs.open_folder(self.path(folder))
        try:
            self.fs.sync_folder(handle)
        except OSError as error:
            self.latch = error
            raise

    def read(self, folder: Folder, name: str, most: int) -> bytes | None:
        """Return the bytes of a record, None where there is none."""
        try:
            return self.fs.read(self.path(folder, name + SUFFIX), most)
        except FileNotFoundError:
            return None

    def remove(self, folder: Folder, name: str) -> None:
        """Remove a record, if it is there; not durable before the folder is synced."""
        with contextlib.suppress(FileNotFoundError):
            self.fs.unlink(self.path(folder, name + SUFFIX))

    def set_aside(self, folder: Folder, name: str, data: bytes, *, whole: bool) -> str:
        """Move a file to quarantine and return its name there: written and synced first, removed afterwards.

        Args:
            folder: where it is.
            name: its name without suffix.
            data: what was read of it.
            whole: whether that is all; a file that is too great to be a record is renamed instead.
        """
        number, new = 0, name
        while self.exists("quarantine", new):
            if whole and self.read("quarantine", new, len(data)) == data:
                # An earlier move was cut short between its two steps.
                self.sync("quarantine")
                self.remove(folder, name)
                return new
            number += 1
            new = f"{name}.{number}"
        if whole:
            self.write("quarantine", new, data)
            self.remove(folder, name)
        else:
            self.fs.rename(self.path(folder, name + SUFFIX), self.path("quarantine", new + SUFFIX))
            self.sync("quarantine")
        return new

    def sweep(self) -> int:
        """Remove what writers that died had begun, and return how many files that were; called with the lock held."""
        swept = 0
        for folder in FOLDERS:
            for name in self.fs.names(self.path(folder)):
                if name.startswith(".") and name.endswith(_UNFINISHED):
                    with contextlib.suppress(OSError):
                        self.fs.unlink(self.path(folder, name))
                        swept += 1
        return swept
