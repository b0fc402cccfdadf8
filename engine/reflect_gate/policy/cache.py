"""Compiled bundles kept between processes, so that a start costs no YAML, no resolving and no compiling.

An entry is named by everything that a load is asked with. It holds the digests of every file that the bundle was built from,
and is used only while all of them still stand. Entries are JSON and code under the digest of their bytes, in a folder and files
that only the user may write, since an entry carries code: whatever is not exactly so is ignored and built again.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .._canonical import plain_digest
from .._hashing import fingerprint
from .._reading import loads
from ..config import cache_dir
from ..errors import ReflectGateError
from .bundle import Bundle, LoadRequest
from .codec import KeptLexicons, decode_bundle, encode_bundle, marshalled

if TYPE_CHECKING:
    from .build import Inputs

__all__ = ["cache_folder", "fetch", "keep"]

_FORM: Final = 2
_KEPT: Final = 64
_MAX_BYTES: Final = 64 * 1_048_576
_DIGEST_BYTES: Final = 64
# What a cached bundle is made by: a change in any of these files, as an editable checkout has them, outdates every entry.
_MAKERS: Final = ("policy", "infer")


def cache_folder() -> Path:
    """Return the folder that compiled bundles are kept in, which need not exist."""
    return cache_dir() / "bundles"


def fetch(request: LoadRequest) -> tuple[str, Bundle | None]:
    """Return the name of the entry for `request`, and the bundle that it holds, `None` where it holds none that is still true."""
    key = _key(request)
    try:
        data = _read(cache_folder() / key)
        if data is None:
            return key, None
        head, lexicons, code = data.split(b"\n", 2)
        entry = loads(head)
        if entry["form"] != _FORM or entry["key"] != key or not _current(entry):
            return key, None
        return key, decode_bundle(entry["bundle"], KeptLexicons(lexicons), code)
    except Exception:  # noqa: BLE001 - whatever is wrong with an entry, the bundle is built from its files
        return key, None


def keep(key: str, bundle: Bundle, inputs: Inputs) -> None:
    """Keep `bundle` under `key` where the cache can be written; an entry appears whole or not at all."""
    with contextlib.suppress(OSError, ReflectGateError):
        folder = _own_folder()
        if folder is None:
            return
        import orjson

        encoded = encode_bundle(bundle)
        lexicons = encoded.pop("lexicons")
        del encoded["code"]
        entry = {"form": _FORM, "key": key, "files": inputs.files, "folders": inputs.folders, "bundle": encoded}
        # Apart, since not every process matches phrases and runs rules.
        data = b"\n".join((orjson.dumps(entry), orjson.dumps(lexicons), marshalled(bundle.generated)))
        temporary = folder / f".{key[:16]}.{os.getpid()}.{os.urandom(8).hex()}"
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            with os.fdopen(handle, "wb") as stream:
                stream.write(fingerprint(data).encode() + data)
            temporary.replace(folder / key)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _prune(folder)


def _key(request: LoadRequest) -> str:
    from importlib.util import find_spec

    from .. import __version__
    from ..measure import MEASURES

    asked: list[Any] = [
        ["form", _FORM],
        ["version", __version__],
        ["python", sys.implementation.cache_tag, sys.hexversion],
        ["makers", *_makers()],
        ["measures", sorted(MEASURES.items())],
        ["durable", find_spec("durable_rules_engine") is not None],
        ["data", os.environ.get("REFLECT_GATE_DATA", "")],
        ["name", request.name],
        ["policies", str(request.policies)],
        ["set", *request.set_],
        ["enable", *request.enable],
        ["disable", *request.disable],
        ["as_of", request.as_of],
        ["experimental", *request.experimental],
    ]
    return plain_digest(asked)


@functools.cache
def _makers() -> list[list[object]]:
    package = Path(__file__).resolve().parent.parent
    found: list[list[object]] = []
    for folder in _MAKERS:
        with os.scandir(package / folder) as entries:
            sources = sorted((entry for entry in entries if entry.name.endswith(".py")), key=lambda entry: entry.name)
            found += [[folder, entry.name, entry.stat().st_size, entry.stat().st_mtime_ns] for entry in sources]
    return found


def _read(path: Path) -> bytes | None:
    """Return the entry's document where it is a file of the user's own and its digest is right."""
    if _trusted(path.parent.lstat(), stat.S_ISDIR) is False:
        return None
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(stream.fileno())
        if not _trusted(status, stat.S_ISREG) or status.st_size > _MAX_BYTES:
            return None
        claimed, data = stream.read(_DIGEST_BYTES), stream.read()
    return data if fingerprint(data).encode() == claimed else None


def _trusted(status: os.stat_result, kind: Any) -> bool:
    """Whether a file is of that kind, the user's own, and nobody else's to write; Windows keeps a user's folders by itself."""
    if not kind(status.st_mode):
        return False
    if sys.platform == "win32":
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _current(entry: dict[str, Any]) -> bool:
    """Whether every file that the bundle was built from holds the same bytes, and every folder the same names."""
    for folder, names in entry["folders"].items():
        listed = sorted(name for name in _names(folder) if name.endswith(".yaml") and not name.endswith(".cases.yaml"))
        if listed != names:
            return False
    for file, expected in entry["files"].items():
        with open(file, "rb") as stream:  # noqa: PTH123 - half the time of `Path.read_bytes`, for every file at every start
            if fingerprint(stream.read()) != expected:
                return False
    return True


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - as above
    except FileNotFoundError:
        return []


def _own_folder() -> Path | None:
    folder = cache_folder()
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    return folder if _trusted(folder.lstat(), stat.S_ISDIR) else None


def _prune(folder: Path) -> None:
    """Drop the oldest entries beyond the number that is kept: every day and every `--set` makes one."""
    entries = sorted(_ages(folder), reverse=True)
    for _, name in entries[_KEPT:]:
        (folder / name).unlink(missing_ok=True)


def _ages(folder: Path) -> Iterator[tuple[int, str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                yield entry.stat(follow_symlinks=False).st_mtime_ns, entry.name
