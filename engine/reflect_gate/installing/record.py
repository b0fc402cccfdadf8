"""What an installation changed, so that it can be taken out to the byte: a file each, in `installed/` of the home folder.

Without it everything of ours is found all the same; what is lost is whether a file or an empty list had been there before.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from .._canonical import canonical_bytes
from ..config import home_dir
from ..errors import ReflectGateError
from .parts import Scope

__all__ = ["Kept", "Record", "recorded", "records"]

_FORM: Final = 1


class Kept(NamedTuple):
    """One file as it was left.

    `created` says that there was none before; `digest` is the SHA-256 of what was written; `original` the copy of what stood
    there before anything of ours did, empty where there is none; `backups` every copy; `empty` what `entries.empties` returned;
    `defaults` what the file needs beside the handlers and did not have.
    """

    created: bool = False
    digest: str = ""
    original: str = ""
    backups: tuple[str, ...] = ()
    empty: Mapping[str, str] = {}
    defaults: tuple[str, ...] = ()


class Record(NamedTuple):
    """One installation; `folders` are those that were made for it."""

    harness: str
    scope: Scope
    root: str
    files: Mapping[str, Kept] = {}
    folders: tuple[str, ...] = ()

    @property
    def file(self) -> Path:
        """Where it is kept."""
        name = hashlib.sha256(self.root.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return _folder() / f"{self.harness}-{self.scope}-{name}.json"

    def keep(self) -> None:
        """Write it; what cannot be written is no reason to install nothing, but is one not to change files of others."""
        files = {name: kept._asdict() for name, kept in self.files.items()}
        document = {"installed": _FORM, **self._asdict(), "files": files}
        try:
            # Each by itself: a folder that is made on the way to another one gets the usual mode.
            for folder in (home_dir(), self.file.parent):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = self.file.with_name(f"{self.file.name}.{os.getpid()}.tmp")
            with open(draft, "wb", opener=_private) as stream:
                stream.write(canonical_bytes(document))
                stream.flush()
                # The settings that it undoes are synced too: without it, nobody could tell whose lines are in them.
                os.fsync(stream.fileno())
            draft.replace(self.file)
        except OSError as error:
            raise ReflectGateError("cannot-write", f"cannot write `{self.file}`: {(error.strerror or '').lower()}") from None

    def forget(self) -> None:
        """Remove it."""
        with suppress(OSError):
            self.file.unlink(missing_ok=True)
            self.file.parent.rmdir()


def _folder() -> Path:
    return home_dir() / "installed"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def recorded(harness: str, scope: Scope, root: Path) -> Record | None:
    """Return what is known of an installation, None where nothing is, or nothing that can be read."""
    return _read(Record(harness, scope, str(root)).file)


def records() -> Iterator[Record]:
    """Yield every installation that is known."""
    for file in sorted(_folder().glob("*.json")):
        found = _read(file)
        if found is not None:
            yield found


def _read(file: Path) -> Record | None:
    try:
        document: dict[str, Any] = json.loads(file.read_bytes())
        if document.pop("installed") != _FORM:
            return None
        files = {name: _kept(kept) for name, kept in document.pop("files").items()}
        return Record(**{**document, "folders": tuple(document["folders"])}, files=files)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _kept(document: dict[str, Any]) -> Kept:
    return Kept(**{**document, "backups": tuple(document["backups"]), "defaults": tuple(document["defaults"])})
