"""The received response, on disk before anybody reads it: one file a termination, so that none is asked about twice (R-L2).

Before the call a slot is taken: the file `<key>.open` is locked and given room, so that a full or read-only disk is found out
before money is spent, and a second process that reflects on the same termination is turned away. The response is written there,
synced, renamed to `<key>.json`, and the folder synced; only then does the slot give it out. A crash before that leaves no
response, and one after it leaves a response that is used without another call.

A file is one line of JSON (what was asked, when, how long the body is, its SHA-256) and then the body as it came. A file that
does not hold to that still says that a response was received: it is given out as `Lost`, never asked for again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import orjson

from ..config import home_dir
from .call import Received, plain_decimal
from .errors import ModelError
from .settings import Price

__all__ = ["Entry", "Journal", "Lost", "Slot", "open_journal"]

_FORM: Final = 1
_ROOM: Final = 65_536
_MAX_FILE: Final = 4 * 1_048_576
_BINARY: Final = getattr(os, "O_BINARY", 0)


class Lost(NamedTuple):
    """A response was received and what is left of it cannot be read; `reason` says why."""

    reason: str


Entry: TypeAlias = Received | Lost


def open_journal(folder: Path | None = None) -> Journal:
    """Return the journal in `folder`, which need not exist; by default `journal` in the home folder."""
    return Journal(folder or home_dir() / "journal")


class Journal:
    """The responses that were received, by failure id."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, failure_id: str) -> Path:
        """Return the file of a termination's response."""
        return self.folder / f"{_key(failure_id)}.json"

    def received(self, failure_id: str) -> Entry | None:
        """Return the response of a termination, `None` where none was received; `journal-io` where the disk does not say."""
        try:
            with self.path(failure_id).open("rb") as stream:
                data = stream.read(_MAX_FILE + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _io("read", self.path(failure_id), error) from None
        return _decode(data, failure_id)

    @contextlib.contextmanager
    def slot(self, failure_id: str) -> Iterator[Slot | Entry]:
        """Take the termination's slot: a `Slot` to keep the response in, or the response where one was received meanwhile.

        Raises:
            ModelError: `journal-busy` where another process asks about the same termination, `journal-io` where the journal
                cannot be written; no call was made then.
        """
        opened = self.path(failure_id).with_suffix(".open")
        try:
            _make(self.folder)
            handle = _locked(opened)
        except OSError as error:
            raise _io("write", opened, error) from None
        try:
            known = self.received(failure_id)
            if known is not None:
                yield known
                return
            slot = Slot(handle, opened, self.path(failure_id), failure_id)
            slot.reserve()
            yield slot
            handle = slot.handle
        finally:
            # A response that was kept has left the name `.open`; otherwise there is none, and the name must not stay either.
            if handle >= 0:
                with contextlib.suppress(OSError):
                    opened.unlink()
                os.close(handle)

    def forget(self, failure_id: str) -> None:
        """Drop a response once its outcome is stored and its job is done; nothing happens where there is none."""
        self.path(failure_id).unlink(missing_ok=True)

    def keys(self) -> list[str]:
        """Return the keys of all responses, sorted."""
        return sorted(path.stem for path in self.folder.glob("*.json"))


class Slot:
    """Room for one response, locked against other processes."""

    def __init__(self, handle: int, opened: Path, path: Path, failure_id: str) -> None:
        self.handle = handle
        self._opened = opened
        self._path = path
        self._failure_id = failure_id

    def reserve(self) -> None:
        """Write as much as a response usually needs, so that a full disk shows before the call."""
        try:
            _write(self.handle, bytes(_ROOM))
        except OSError as error:
            raise _io("write", self._opened, error) from None

    def keep(self, received: Received) -> None:
        """Make a response durable.

        Raises:
            ModelError: `journal-lost`, permanent: a response was received, so nobody may ask again by himself.
        """
        try:
            _write(self.handle, _encode(received, self._failure_id))
            if sys.platform == "win32":
                # An open file cannot be renamed there.
                os.close(self.handle)
                self.handle = -1
            self._opened.replace(self._path)
            _sync_folder(self._path.parent)
        except OSError as error:
            # What is there says at least that a response was received; renaming needs no room on the disk.
            with contextlib.suppress(OSError):
                self._opened.replace(self._path)
            message = f"a response was received and could not be kept in `{self._path}`: {error.strerror}"
            raise ModelError("journal-lost", message) from None
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1


def _make(folder: Path) -> None:
    """Make a folder and those above it that are missing, for the user alone, durably."""
    if folder.is_dir():
        return
    _make(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    _sync_folder(folder.parent)


def _key(failure_id: str) -> str:
    return hashlib.sha256(failure_id.encode()).hexdigest()[:32]


def _io(what: str, path: Path, error: OSError) -> ModelError:
    return ModelError("journal-io", f"cannot {what} `{path}`: {error.strerror}", transient=True)


def _locked(path: Path) -> int:
    """Return the descriptor of `path`, locked; the file that has the name now, not one that was renamed meanwhile."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | _BINARY, 0o600)
        try:
            _lock(handle, path)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.stat()):
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int, path: Path) -> None:
    """Lock a file until it is closed, or raise `journal-busy` at once."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        message = f"another process is asking about the same termination, as `{path.name}` shows"
        raise ModelError("journal-busy", message, transient=True) from None


def _write(handle: int, data: bytes) -> None:
    """Make `data` the durable content of an open file; the descriptor is never synced a second time after a failure."""
    os.lseek(handle, 0, os.SEEK_SET)
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]
    os.ftruncate(handle, len(data))
    os.fsync(handle)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# -- the file -------------------------------------------------------------------------------------------------------------------


def _encode(received: Received, failure_id: str) -> bytes:
    price = received.price
    head = {
        "journal": _FORM,
        "failure_id": failure_id,
        "status": received.status,
        "content_type": received.content_type,
        "cut": received.cut,
        "latency_ms": received.latency_ms,
        "model": received.model,
        "base_url": received.base_url,
        "request_digest": received.request_digest,
        "deviations": received.deviations,
        "price": {name: plain_decimal(getattr(price, name)) for name in ("input", "cached", "output")} if price else None,
        "bytes": len(received.body),
        "sha256": hashlib.sha256(received.body).hexdigest(),
    }
    return orjson.dumps(head, option=orjson.OPT_APPEND_NEWLINE) + received.body


def _decode(data: bytes, failure_id: str) -> Entry:
    line, _, body = data.partition(b"\n")
    try:
        head = orjson.loads(line)
        if head["journal"] != _FORM:
            return Lost("it is of another version")
        if head["failure_id"] != failure_id:
            return Lost("it is another termination's")
        if head["bytes"] != len(body) or head["sha256"] != hashlib.sha256(body).hexdigest():
            return Lost("its body is damaged")
        return _received(head, body)
    except (ValueError, KeyError, TypeError, InvalidOperation):
        return Lost("its first line is damaged")


def _received(head: Mapping[str, Any], body: bytes) -> Received:
    price = head["price"]
    return Received(
        body,
        int(head["status"]),
        str(head["content_type"]),
        bool(head["cut"]),
        int(head["latency_ms"]),
        str(head["model"]),
        str(head["base_url"]),
        str(head["request_digest"]),
        tuple(map(str, head["deviations"])),
        Price(Decimal(price["input"]), Decimal(price["cached"]), Decimal(price["output"])) if price else None,
    )
