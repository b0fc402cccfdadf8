"""Reading and writing other programs' files: whole or not at all, with a copy beside, and through no link that leads away."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..errors import ReflectGateError, Source

__all__ = ["MOST_BYTES", "backup_of", "bounded", "decoded", "digest", "encoded", "guarded", "made", "read", "swept", "write"]

MOST_BYTES: Final = 8 * 1_048_576


def guarded(file: Path, roots: Sequence[Path]) -> Path:
    """Return the file that a path leads to, links followed.

    Raises:
        ReflectGateError: `settings-outside` where that is in none of the folders `roots`: a checkout may bring links of its own.
    """
    real = file.resolve()
    if not any(real.is_relative_to(root.resolve()) for root in roots):
        raise ReflectGateError("settings-outside", f"leads to `{real}`, which is outside `{roots[0]}`", Source(str(file)))
    return real


def read(file: Path) -> bytes | None:
    """Return the bytes of a file, None where there is none.

    Raises:
        ReflectGateError: `cannot-read`, also for what is no regular file; `settings-size` for more than 8 MiB.
    """
    try:
        with open(file, "rb", opener=_at_once) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise ReflectGateError("cannot-read", "is no regular file", Source(str(file)))
            data = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ReflectGateError("cannot-read", f"cannot be read: {(error.strerror or '').lower()}", Source(str(file))) from None
    bounded(data, file)
    return data


def bounded(data: bytes, file: Path) -> None:
    """Raise `settings-size` for more bytes than a file may have."""
    if len(data) > MOST_BYTES:
        raise ReflectGateError("settings-size", f"has more than {MOST_BYTES} bytes", Source(str(file)))


def _at_once(path: str, flags: int) -> int:
    # A pipe would be waited for until somebody writes into it.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def decoded(data: bytes, file: Path) -> str:
    """Return the text of a file, a mark of byte order included; `settings-encoding` for what is no UTF-8."""
    try:
        return data.decode("utf-8")
    except ValueError:
        raise ReflectGateError("settings-encoding", "is no UTF-8", Source(str(file))) from None


def encoded(text: str) -> bytes:
    """Return the bytes of a text."""
    return text.encode("utf-8")


def digest(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes."""
    return hashlib.sha256(data).hexdigest()


def backup_of(file: Path, data: bytes) -> Path:
    """Return where the copy of a file's bytes is kept: beside it, named by what it holds, so that the same is kept once."""
    return file.with_name(f"{file.name}.reflect-gate-{digest(data)[:8]}.bak")


def made(folder: Path) -> list[Path]:
    """Make a folder and those above it; return the ones that were not there, the outermost first."""
    missing: list[Path] = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    missing.reverse()
    for each in missing:
        try:
            each.mkdir(exist_ok=True)
        except OSError as error:
            raise _unwritable(each, error) from None
    return missing


def swept(folders: Iterable[Path]) -> None:
    """Remove folders that are empty, the innermost first."""
    for folder in sorted(folders, key=lambda each: len(each.parts), reverse=True):
        with suppress(OSError):
            folder.rmdir()


def write(
    file: Path, before: bytes | None, after: bytes | None, *, executable: bool = False, as_private_as: Path | None = None
) -> None:
    """Replace a file, make it, or remove it (`after` None), and keep its mode; a copy has that of `as_private_as` from the start.

    Raises:
        ReflectGateError: `settings-changed` where somebody else has changed it since it was read; `cannot-write`.
    """
    if read(file) != before:
        raise ReflectGateError("settings-changed", "was changed by somebody else meanwhile: try again", Source(str(file)))
    try:
        if after is None:
            file.unlink(missing_ok=True)
            return
        _replace(file, after, executable=executable, like=as_private_as or file)
    except OSError as error:
        raise _unwritable(file, error) from None


def _replace(file: Path, data: bytes, *, executable: bool, like: Path) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".tmp", dir=file.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        mode = stat.S_IMODE(like.stat().st_mode) if like.exists() else 0o666 & ~_umask()
        draft.chmod(mode | (_executable(mode) if executable else 0))
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def _umask() -> int:
    # The only way to ask for it is to set it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _executable(mode: int) -> int:
    """Whoever may read it may run it."""
    return (mode & 0o444) >> 2


def _unwritable(file: Path, error: OSError) -> ReflectGateError:
    return ReflectGateError("cannot-write", f"cannot write `{file}`: {(error.strerror or '').lower()}")
