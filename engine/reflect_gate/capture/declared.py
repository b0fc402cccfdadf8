"""What the policies file says of capture and queue; the environment goes over it, and the defaults stand under it (R-q11).

A hook reads this at the end of every turn, so a file that does not speak of it costs one read, and what one says is kept in the
cache folder under the digest of its bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ..config import cache_dir, choose_policies
from ..errors import ReflectGateError, Source
from .settings import VARIABLES, Settings, parse, read_settings

__all__ = ["Kept", "Origin", "OriginKind", "declared_settings", "kept", "origins"]

OriginKind: TypeAlias = Literal["default", "policies", "environment"]
Kept: TypeAlias = Mapping[str, tuple[str, Source]]
"""For each field that the file gives, its text and where that stands."""

_WORDS: Final = (b"capture", b"queue")
_FORM: Final = 1
_MOST: Final = 65_536


class Origin(NamedTuple):
    """A setting in force: its field, its value, the variable that would set it, and where it was said."""

    field: str
    value: Any
    variable: str
    kind: OriginKind
    source: str


def declared_settings(policies: str | Path | None = None) -> Settings:
    """Return the defaults with what the policies file gives over them.

    Raises:
        ReflectGateError: the file cannot be read, or what it says of capture or queue is not valid.
    """
    return Settings()._replace(**{field: parse(field, *said) for field, said in kept(policies).items()})


def kept(policies: str | Path | None = None) -> Kept:
    """Return what the policies file gives; nothing where it does not speak of capture or queue."""
    path = choose_policies(policies).path
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ReflectGateError("cannot-read", f"cannot read `{path}`: {(error.strerror or '').lower()}") from None
    if not any(word in data for word in _WORDS):
        return {}
    entry = _entry(data)
    found = _fetched(entry)
    if found is None:
        found = _read(data, str(path))
        _keep(entry, found)
    return {field: (text, Source(str(path), line, column)) for field, (text, line, column) in found.items()}


def _read(data: bytes, file: str) -> dict[str, tuple[str, int, int]]:
    from ..policy.load_capture import load_capture
    from ..policy.problems import Problems
    from ..policy.source import MapNode, parse_document

    problems = Problems()
    root = parse_document(data, file, problems)
    # What else the file says is checked by whoever judges by it: a broken rule must not lose a failure.
    entries = {entry.key.text: entry.value for entry in root.entries} if isinstance(root, MapNode) else {}
    found = load_capture(entries.get, problems)
    problems.stop_if_any()
    return {field: (said.text, said.source.line, said.source.column) for field, said in found.items()}


# -- the cache -------------------------------------------------------------------------------------------------------------


def _entry(data: bytes) -> Path:
    made_by = json.dumps([_FORM, *VARIABLES]).encode()
    return cache_dir() / "settings" / hashlib.sha256(made_by + data).hexdigest()


def _fetched(entry: Path) -> dict[str, tuple[str, int, int]] | None:
    """Return what an entry holds, `None` where there is none that is the user's own and whole."""
    try:
        if not _own(entry.parent.lstat(), stat.S_ISDIR) or not _own(entry.lstat(), stat.S_ISREG):
            return None
        with entry.open("rb") as stream:
            found = json.loads(stream.read(_MOST))
        return {field: (str(text), int(line), int(column)) for field, (text, line, column) in found.items() if field in VARIABLES}
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def _own(status: os.stat_result, kind: Any) -> bool:
    if not kind(status.st_mode):
        return False
    return sys.platform == "win32" or (status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _keep(entry: Path, found: Mapping[str, tuple[str, int, int]]) -> None:
    temporary = entry.with_name(f".{entry.name[:16]}.{os.getpid()}")
    with contextlib.suppress(OSError):
        entry.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:  # noqa: PTH123
            json.dump(found, stream)
        temporary.replace(entry)


# -- where each comes from -------------------------------------------------------------------------------------------------


def origins(policies: str | Path | None = None, environ: Mapping[str, str] | None = None) -> list[Origin]:
    """Return every setting in force with where it was said.

    Raises:
        ReflectGateError: as `declared_settings` and `read_settings`.
    """
    given = os.environ if environ is None else environ
    said = kept(policies)
    base = Settings()._replace(**{field: parse(field, *each) for field, each in said.items()})
    settings = read_settings(given, base)
    found = []
    for field, variable in VARIABLES.items():
        kind: OriginKind = "environment" if given.get(variable, "").strip() else "policies" if field in said else "default"
        source = {"environment": variable, "policies": str(said[field][1]) if field in said else "", "default": "default"}[kind]
        found.append(Origin(field, getattr(settings, field), variable, kind, source))
    return found
