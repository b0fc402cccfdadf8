"""What a queue asks of a file system, and the one of this machine.

A call does one thing and raises `OSError`, so that a test can fail each of them, or keep a model of what a power cut leaves.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from typing import Final, Protocol

__all__ = ["Fs", "LocalFs"]

_BINARY: Final[int] = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
# A name in the folder may be a link that leads out of it, or a pipe that never answers.
_CAREFUL: Final[int] = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_DIRECTORY: Final[int] = getattr(os, "O_DIRECTORY", 0)
_NO_FOLDER: Final = -1
_CHUNK: Final = 1024 * 1024


class Fs(Protocol):
    """A file system. Files are made with mode 0600 and folders with 0700; handles are small integers."""

    def make_folder(self, path: str) -> None:
        """Make the folder and those above it, unless they are there."""
        ...

    def open_folder(self, path: str) -> int:
        """Return a handle for `sync_folder`."""
        ...

    def sync_folder(self, handle: int) -> None:
        """Make the names in the folder durable."""
        ...

    def create(self, path: str) -> int:
        """Open a new file for writing; it must not be there."""
        ...

    def append(self, path: str) -> int:
        """Open a file to read it and to write at its end; it is made where it is absent."""
        ...

    def write(self, handle: int, data: memoryview) -> int:
        """Write some of the data and return how many bytes."""
        ...

    def sync(self, handle: int) -> None:
        """Make what was written to the file durable."""
        ...

    def close(self, handle: int) -> None:
        """Release the handle, also when it raises."""
        ...

    def read(self, path: str, most: int) -> bytes:
        """Return the whole of a regular file, or `most` + 1 bytes of a greater one."""
        ...

    def read_at(self, handle: int, offset: int, size: int) -> bytes:
        """Return some of the bytes from the offset on, none only at the end of the file."""
        ...

    def write_at(self, handle: int, offset: int, data: bytes) -> None:
        """Replace a few bytes; nothing makes them durable."""
        ...

    def rename(self, path: str, new: str) -> None:
        """Give the file another name, in place of what has that name."""
        ...

    def unlink(self, path: str) -> None:
        """Remove the name."""
        ...

    def names(self, path: str) -> list[str]:
        """Return the names in the folder, in any order."""
        ...

    def exists(self, path: str) -> bool:
        """Return whether there is something of that name."""
        ...

    def open_lock(self, path: str) -> int:
        """Open a file to lock it; it is made where it is absent."""
        ...

    def try_lock(self, handle: int) -> bool:
        """Lock the file for this handle alone, and return False where another one has it."""
        ...

    def unlock(self, handle: int) -> None:
        """Give the lock back; closing the last handle, or dying, does it too."""
        ...

    def same(self, handle: int, path: str) -> bool:
        """Return whether the path still names the file of the handle."""
        ...


class LocalFs:
    """The file system of this machine. Where the system cannot sync a folder (Windows), that step does nothing."""

    def make_folder(self, path: str) -> None:
        """Make the folder and those above it; the new names are durable on return."""
        if os.path.isdir(path):
            return
        above = os.path.dirname(os.path.abspath(path))
        if above != path:
            self.make_folder(above)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        handle = self.open_folder(above)
        try:
            self.sync_folder(handle)
        finally:
            self.close(handle)

    def open_folder(self, path: str) -> int:
        """Return a handle for `sync_folder`."""
        return os.open(path, os.O_RDONLY | _DIRECTORY | _BINARY) if _DIRECTORY else _NO_FOLDER

    def sync_folder(self, handle: int) -> None:
        """Make the names in the folder durable."""
        if handle != _NO_FOLDER:
            os.fsync(handle)

    def create(self, path: str) -> int:
        """Open a new file for writing."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)

    def append(self, path: str) -> int:
        """Open a file to read it and to write at its end."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY, 0o600)

    def write(self, handle: int, data: memoryview) -> int:
        """Write some of the data and return how many bytes."""
        return os.write(handle, data)

    def sync(self, handle: int) -> None:
        """Make what was written to the file durable."""
        os.fsync(handle)

    def close(self, handle: int) -> None:
        """Release the handle."""
        if handle != _NO_FOLDER:
            os.close(handle)

    def read(self, path: str, most: int) -> bytes:
        """Return the whole of a regular file, or `most` + 1 bytes of a greater one."""
        handle = os.open(path, os.O_RDONLY | _CAREFUL | _BINARY)
        try:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode):
                raise OSError(errno.EINVAL, "no regular file", path)
            # One byte more than it has, so that a file which still grows is seen to.
            return _read(handle, min(about.st_size, most) + 1)
        finally:
            os.close(handle)

    def read_at(self, handle: int, offset: int, size: int) -> bytes:
        """Return the bytes from the offset on."""
        if hasattr(os, "pread"):
            return os.pread(handle, size, offset)
        os.lseek(handle, offset, os.SEEK_SET)
        return _read(handle, size)

    def write_at(self, handle: int, offset: int, data: bytes) -> None:
        """Replace a few bytes."""
        if hasattr(os, "pwrite"):
            written = os.pwrite(handle, data, offset)
        else:
            os.lseek(handle, offset, os.SEEK_SET)
            written = os.write(handle, data)
        if written != len(data):
            raise OSError(errno.EIO, "short write")

    def rename(self, path: str, new: str) -> None:
        """Give the file another name."""
        os.replace(path, new)

    def unlink(self, path: str) -> None:
        """Remove the name."""
        os.unlink(path)

    def names(self, path: str) -> list[str]:
        """Return the names in the folder."""
        return os.listdir(path)

    def exists(self, path: str) -> bool:
        """Return whether there is something of that name."""
        return os.path.lexists(path)

    def open_lock(self, path: str) -> int:
        """Open a file to lock it."""
        return os.open(path, os.O_RDWR | os.O_CREAT | _BINARY, 0o600)

    def try_lock(self, handle: int) -> bool:
        """Lock the file for this handle alone, and return False where another one has it."""
        return _try_lock(handle)

    def unlock(self, handle: int) -> None:
        """Give the lock back."""
        _unlock(handle)

    def same(self, handle: int, path: str) -> bool:
        """Return whether the path still names the file of the handle."""
        try:
            return os.path.samestat(os.fstat(handle), os.stat(path))
        except FileNotFoundError:
            return False


def _read(handle: int, size: int) -> bytes:
    parts = []
    while size > 0:
        part = os.read(handle, min(size, _CHUNK))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


if sys.platform == "win32":
    import msvcrt

    # Locked bytes cannot be read by others there, so the lock lies beyond all content.
    _LOCKED: Final = 1 << 30

    def _try_lock(handle: int) -> bool:
        os.lseek(handle, _LOCKED, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _unlock(handle: int) -> None:
        os.lseek(handle, _LOCKED, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)
