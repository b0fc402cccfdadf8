"""A file system and clocks in memory: calls are logged, may be failed, and what a power cut may leave can be enumerated.

What POSIX promises, and no more: data of a file is durable after a sync of the file, names in a folder after one of the folder.
Until then any subset of the changed names may have reached the disk, and any part of the data, or zeros in its place.
"""

from __future__ import annotations

import errno
import itertools
from collections.abc import Callable, Iterator, Mapping
from threading import Condition
from typing import Any, Final, NamedTuple, TypeAlias

__all__ = ["ROOT", "FakeClock", "FaultFs", "Files", "ModelFs", "crash_states", "guaranteed"]

ROOT: Final = "/home/queue"
Files: TypeAlias = Mapping[str, bytes]
_MOST_PENDING: Final = 14


class FakeClock:
    """Clocks that move when someone waits, or when the test says so."""

    def __init__(self, wall: float = 1.8e9) -> None:
        self.told: list[Callable[[float], None]] = []
        """Who else goes by this calendar, as a server does."""
        self.now = wall
        self.steady = 1000.0

    @property
    def now(self) -> float:
        """The calendar's seconds."""
        return self._now

    @now.setter
    def now(self, seconds: float) -> None:
        self._now = seconds
        for tell in self.told:
            tell(seconds)

    def wall(self) -> float:
        """Return the calendar's seconds."""
        return self.now

    def monotonic(self) -> float:
        """Return the steady seconds."""
        return self.steady

    def sleep(self, seconds: float) -> None:
        """Let both clocks move on."""
        self.now += seconds
        # A wait for nothing must end as well.
        self.steady += max(seconds, 1e-6)

    def wait(self, _: Condition, seconds: float) -> None:
        """Let both clocks move on."""
        self.sleep(seconds)


class _Handle(NamedTuple):
    path: str
    inode: int


class ModelFs:
    """The file system. `log` holds what matters to durability; locks, leases and counters do not outlive a machine."""

    def __init__(self, files: Files | None = None) -> None:
        self.log: list[tuple[Any, ...]] = []
        self.data: dict[int, bytearray] = {}
        self.live: dict[str, int] = {}
        self.handles: dict[int, _Handle] = {}
        self.locks: dict[int, int] = {}
        self.folders: set[str] = {"/", "/home"}
        self._next = itertools.count(3)
        for path, content in (files or {}).items():
            self._add_folders(path.rpartition("/")[0])
            inode = self._inode(path)
            self.data[inode] += content
            self._log("write", path, inode, content)
            self._log("sync", path, inode)
            self._log("sync_folder", path.rpartition("/")[0])

    def _add_folders(self, path: str) -> None:
        while path and path not in self.folders:
            self.folders.add(path)
            path = path.rpartition("/")[0]

    def _log(self, what: str, path: str, *more: object) -> None:
        if "/lease" not in path and not path.endswith("/lock"):
            self.log.append((what, path, *more))

    def _inode(self, path: str) -> int:
        if path.rpartition("/")[0] not in self.folders:
            raise FileNotFoundError(errno.ENOENT, "no such folder", path)
        inode = next(self._next)
        self.data[inode] = bytearray()
        self.live[path] = inode
        self._log("link", path, inode)
        return inode

    def _open(self, path: str, inode: int) -> int:
        handle = next(self._next)
        self.handles[handle] = _Handle(path, inode)
        return handle

    def _there(self, path: str) -> int:
        if path not in self.live:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return self.live[path]

    def make_folder(self, path: str) -> None:
        """Make a folder, durably."""
        self._add_folders(path)

    def open_folder(self, path: str) -> int:
        """Open a folder."""
        if path.removesuffix("/.") not in self.folders:
            raise FileNotFoundError(errno.ENOENT, "no such folder", path)
        return self._open(path.removesuffix("/."), 0)

    def sync_folder(self, handle: int) -> None:
        """Make the names durable."""
        self._log("sync_folder", self.handles[handle].path)

    def create(self, path: str) -> int:
        """Make a file."""
        if path in self.live:
            raise FileExistsError(errno.EEXIST, "file exists", path)
        return self._open(path, self._inode(path))

    def append(self, path: str) -> int:
        """Open a file to write at its end."""
        return self._open(path, self.live[path] if path in self.live else self._inode(path))

    def write(self, handle: int, data: memoryview) -> int:
        """Write, never more than 300 bytes at once."""
        path, inode = self.handles[handle]
        part = bytes(data[:300])
        self.data[inode] += part
        self._log("write", path, inode, part)
        return len(part)

    def sync(self, handle: int) -> None:
        """Make the data durable."""
        self._log("sync", *self.handles[handle])

    def close(self, handle: int) -> None:
        """Forget the handle and its lock."""
        inode = self.handles.pop(handle).inode
        if self.locks.get(inode) == handle:
            del self.locks[inode]

    def read(self, path: str, most: int) -> bytes:
        """Return the content."""
        return bytes(self.data[self._there(path)][: most + 1])

    def read_at(self, handle: int, offset: int, size: int) -> bytes:
        """Return a part of the content."""
        return bytes(self.data[self.handles[handle].inode][offset : offset + size])

    def write_at(self, handle: int, offset: int, data: bytes) -> None:
        """Replace a part of the content."""
        self.data[self.handles[handle].inode][offset : offset + len(data)] = data

    def rename(self, path: str, new: str) -> None:
        """Rename within a folder in one step; between folders, the two names reach the disk apart."""
        inode = self.live.pop(path) if path in self.live else self._there(path)
        self.live[new] = inode
        if path.rpartition("/")[0] == new.rpartition("/")[0]:
            self._log("rename", path, new, inode)
        else:
            self._log("link", new, inode)
            self._log("unlink", path)

    def unlink(self, path: str) -> None:
        """Remove a name."""
        self._there(path)
        del self.live[path]
        self._log("unlink", path)

    def names(self, path: str) -> list[str]:
        """Return the names in a folder."""
        if path not in self.folders:
            raise FileNotFoundError(errno.ENOENT, "no such folder", path)
        return [name.rpartition("/")[2] for name in self.live if name.rpartition("/")[0] == path]

    def exists(self, path: str) -> bool:
        """Return whether the name is there."""
        return path in self.live

    def open_lock(self, path: str) -> int:
        """Open a file to lock it."""
        return self.append(path)

    def try_lock(self, handle: int) -> bool:
        """Lock."""
        return self.locks.setdefault(self.handles[handle].inode, handle) == handle

    def unlock(self, handle: int) -> None:
        """Unlock."""
        if self.locks.get(self.handles[handle].inode) == handle:
            del self.locks[self.handles[handle].inode]

    def same(self, handle: int, path: str) -> bool:
        """Return whether the name still is that of the file."""
        return self.live.get(path) == self.handles[handle].inode

    def mark(self, what: str) -> None:
        """Note in the log that the user of the file system was told something."""
        self.log.append(("mark", what))

    def files(self) -> dict[str, bytes]:
        """Return all content, as a process sees it that is started after all others died."""
        return {path: bytes(self.data[inode]) for path, inode in self.live.items()}

    def die(self) -> None:
        """Forget all handles and locks, as when the process dies."""
        self.handles.clear()
        self.locks.clear()


class _Disk:
    """What of a log has surely reached the disk, and what may have."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.pending: list[tuple[Any, ...]] = []
        self.synced: dict[int, bytes] = {}
        self.written: dict[int, bytes] = {}
        self.dropped: set[int] = set()

    def take(self, op: tuple[Any, ...]) -> None:
        """Follow one call."""
        what, path = op[0], op[1]
        if what == "write":
            self.written[op[2]] = self.written.get(op[2], b"") + op[3]
        elif what == "sync":
            # After a failed sync, a later one says that all is well of pages that are not there any more.
            if op[2] not in self.dropped:
                self.synced[op[2]] = self.written.get(op[2], b"")
        elif what == "drop":
            self.dropped.add(op[2])
        elif what == "drop_folder":
            self.pending = [each for each in self.pending if _folder(each) != path]
        elif what == "sync_folder":
            for each in self.pending:
                if _folder(each) == path:
                    _apply(self.names, each)
            self.pending = [each for each in self.pending if _folder(each) != path]
        elif what in {"link", "rename", "unlink"}:
            self.pending.append(op)

    def content(self, inode: int) -> bytes:
        """Return what is surely in the file."""
        return self.synced.get(inode, b"")

    def contents(self, inode: int) -> list[bytes]:
        """Return all that may be in the file."""
        sure, whole = self.content(inode), self.written.get(inode, b"")
        rest = whole[len(sure) :]
        if not rest:
            return [whole]
        half = len(rest) // 2
        parts = (b"", rest[:half], bytes(len(rest)), bytes(half) + rest[half:], rest)
        return [sure + part for part in dict.fromkeys(parts)]

    def states(self) -> Iterator[dict[str, bytes]]:
        """Yield every content that a cut at this moment may leave."""
        assert len(self.pending) <= _MOST_PENDING, self.pending
        for chosen in itertools.product((False, True), repeat=len(self.pending)):
            names = dict(self.names)
            for apply, op in zip(chosen, self.pending, strict=True):
                if apply:
                    _apply(names, op)
            inodes = sorted(set(names.values()))
            for contents in itertools.product(*(self.contents(inode) for inode in inodes)):
                content = dict(zip(inodes, contents, strict=True))
                yield {path: content[inode] for path, inode in names.items()}


def _folder(op: tuple[Any, ...]) -> str:
    return str(op[1]).rpartition("/")[0]


def _apply(names: dict[str, int], op: tuple[Any, ...]) -> None:
    if op[0] == "link":
        names[op[1]] = op[2]
    elif op[0] == "rename":
        names.pop(op[1], None)
        names[op[2]] = op[3]
    else:
        names.pop(op[1], None)


def crash_states(log: list[tuple[Any, ...]], start: int = 0) -> Iterator[tuple[list[str], dict[str, bytes]]]:
    """Yield, for a cut after each call from `start` on, what was said by then and each content that may be left; none twice."""
    disk = _Disk()
    marks: list[str] = []
    seen: set[object] = set()
    for number, op in enumerate([("begin", ""), *log]):
        if op[0] == "mark":
            marks = [*marks, op[1]]
        else:
            disk.take(op)
        if number < start:
            continue
        for state in disk.states():
            key = (len(marks), tuple(sorted(state.items())))
            if key not in seen:
                seen.add(key)
                yield marks, state


def guaranteed(log: list[tuple[Any, ...]]) -> dict[str, bytes]:
    """Return the content that is there after a power cut at the end, if nothing but what was promised reached the disk."""
    disk = _Disk()
    for op in log:
        disk.take(op)
    return {path: disk.content(inode) for path, inode in disk.names.items()}


class FaultFs(ModelFs):
    """Fails the call with number `at` (from 1) with `error`, before or after it had its effect."""

    def __init__(self, files: Files | None = None) -> None:
        self.at = 0
        self.error = 0
        self.after = False
        self.calls = 0
        self.felt: str | None = None
        super().__init__(files)

    def arm(self, at: int, error: int, *, after: bool) -> None:
        """Fail a call from now on."""
        self.at, self.error, self.after, self.calls, self.felt = at, error, after, 0, None

    def disarm(self) -> None:
        """Fail no more."""
        self.at = 0

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name not in _CALLS:
            return value

        def call(*args: Any) -> Any:
            self.calls += 1
            if self.calls != self.at:
                return value(*args)
            self.felt = name
            self.at = 0
            if self.after or name == "close":
                result = value(*args)
                if name in _OPENING:
                    ModelFs.close(self, result)
            raise OSError(self.error, errno.errorcode[self.error].lower(), *args[:0])

        return call


_OPENING: Final = frozenset({"open_folder", "create", "append", "open_lock"})
_CALLS: Final = _OPENING | {
    "make_folder", "sync_folder", "write", "sync", "close", "read", "read_at", "write_at", "rename", "unlink", "names", "exists",
    "try_lock", "unlock", "same",
}  # fmt: skip
