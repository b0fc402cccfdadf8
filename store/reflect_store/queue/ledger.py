"""The ledger of jobs that are done, so that a record which comes back after a crash does not run again.

A file of lines, `<CRC-32 of the rest, 8 hexadecimal digits> <id> <seconds since 1970>`. A line is appended and synced before the
record is removed. What is no such line (a torn one) is passed over.
"""

from __future__ import annotations

import contextlib
import errno
import zlib
from collections.abc import Iterator, Mapping
from typing import Final

from .folder import LEDGER, Folders, write_whole
from .job import is_id

__all__ = ["Ledger", "line", "lines"]

_ALWAYS_KEPT: Final = 10_000
_CHUNK: Final = 1 << 20


def line(id_: str, time: int) -> bytes:
    """Return the line of a job that was done at that time."""
    rest = f"{id_} {time}".encode("ascii")
    return b"%08x %s\n" % (zlib.crc32(rest), rest)


def lines(data: bytes | bytearray) -> Iterator[tuple[str, int]]:
    """Yield id and time of each whole line."""
    for raw in data.split(b"\n"):
        check, _, rest = raw.partition(b" ")
        try:
            sound = len(check) == 8 and int(check, 16) == zlib.crc32(rest)
            id_, time = rest.decode("ascii").split(" ")
            when = int(time)
        except ValueError:
            continue
        if sound and is_id(id_):
            yield id_, when


class Ledger:
    """The ledger of a folder; used with the lock held. It is read when it is first asked, and then only what was added."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._fs = folders.fs
        self._path = folders.path(LEDGER)
        self._text = bytearray()
        self._handle: int | None = None
        self._suspect = False

    def __contains__(self, id_: str) -> bool:
        self._catch_up()
        return self.noted(id_)

    def noted(self, id_: str) -> bool:
        """Return whether the job is in what was read so far."""
        # Nearly always it is not there, and then no line needs to be read.
        return id_.encode("ascii") in self._text and id_ in dict(lines(self._text))

    def add(self, id_: str, now: float) -> None:
        """Say durably that a job is done; raises `OSError`."""
        self._catch_up()
        if self._suspect:
            # What a failed sync left in the file may never reach the disk, and another sync of it would not say so.
            self._rewrite({**dict(lines(self._text)), id_: int(now)})
            return
        handle = self._handle
        if handle is None:
            raise OSError(errno.EBADF, "the ledger is not open")
        torn = self._text and not self._text.endswith(b"\n")
        data = (b"\n" if torn else b"") + line(id_, int(now))
        try:
            write_whole(self._fs, handle, data)
            self._fs.sync(handle)
        except BaseException:
            self._suspect = True
            self._forget()
            raise
        self._text += data

    def add_all(self, times: Mapping[str, int]) -> int:
        """Say durably that jobs were done at those times, and return how many were not known; raises `OSError`."""
        self._catch_up()
        known = dict(lines(self._text))
        new = {id_: time for id_, time in times.items() if id_ not in known}
        if new:
            self._rewrite({**known, **new})
        return len(new)

    def all(self) -> dict[str, int]:
        """Return when each known job was done."""
        self._catch_up()
        return dict(lines(self._text))

    def compact(self, now: float, keep: float) -> int:
        """Drop the lines that are older than `keep` seconds if they are many, and return how many went.

        The latest 10,000 always stay: a calendar that jumps makes nothing forgotten that may still come back.
        """
        if not self._fs.exists(self._path):
            return 0
        self._catch_up()
        if len(self._text) < _ALWAYS_KEPT * len(line("0" * 16, int(now))):
            return 0
        latest = sorted(dict(lines(self._text)).items(), key=lambda item: item[1], reverse=True)
        kept = {id_: time for number, (id_, time) in enumerate(latest) if number < _ALWAYS_KEPT or now - time <= keep}
        gone = len(latest) - len(kept)
        if gone > len(kept):
            self._rewrite(kept)
            return gone
        return 0

    def close(self) -> None:
        """Release the file."""
        self._forget()

    def _forget(self) -> None:
        if self._handle is not None:
            handle, self._handle = self._handle, None
            with contextlib.suppress(OSError):
                self._fs.close(handle)

    def _rewrite(self, times: dict[str, int]) -> None:
        self._folders.fresh()
        self._forget()
        data = b"".join(line(id_, time) for id_, time in sorted(times.items(), key=lambda item: item[1]))
        self._folders.write_file(self._path, self._folders.path(f".{LEDGER}.tmp"), data)
        self._folders.sync(".")
        self._suspect = False

    def _catch_up(self) -> None:
        if self._handle is not None and not self._fs.same(self._handle, self._path):
            self._forget()
        if self._handle is None:
            new = not self._fs.exists(self._path)
            self._handle = self._fs.append(self._path)
            self._text.clear()
            if new:
                self._folders.sync(".")
        while part := self._fs.read_at(self._handle, len(self._text), _CHUNK):
            self._text += part
