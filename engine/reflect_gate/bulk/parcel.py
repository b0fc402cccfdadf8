"""What a worker needs beside the rows, by digest: the bundle, the one that looks on, and a copy of the store.

It is written once, beside the outcome, under the SHA-256 of its bytes; a task carries that digest alone. A worker reads it once,
and uses nothing of which the digest is another: the bundle holds code.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from .. import __version__
from ..errors import ReflectGateError
from ..policy.codec import decode_bundle, encode_bundle
from .judging import Judge
from .writing import write_whole

if TYPE_CHECKING:
    from reflect_store import EventStore, Head

    from ..policy import Bundle

__all__ = ["FOLDER", "Contents", "Shipped", "is_shipped", "receive", "ship"]

FOLDER: Final = "_shipped"

_FORM: Final = 1
_OURS: Final = re.compile(r"\.?[0-9a-f]{64}(?![0-9a-z])")


class Contents(NamedTuple):
    """What judges: the deciding bundle, the one that looks on, whether firings are kept, and the store that is judged against."""

    bundle: Bundle
    shadow: Bundle | None = None
    explain: bool = False
    store: EventStore | None = None


class Shipped(NamedTuple):
    """What was written: the digest by which workers ask for it, and what every outcome follows from beside the rows."""

    digest: str
    identity: Mapping[str, Any]


def ship(contents: Contents, out: Path) -> Shipped:
    """Write what workers need below `out`; what the store holds afterwards is not seen by them."""
    head, copy = (None, None) if contents.store is None else _copied(contents.store, out)
    identity = {
        "version": __version__,
        "bundle": _named(contents.bundle),
        "shadow": None if contents.shadow is None else _named(contents.shadow),
        "explain": contents.explain,
        "store": head,
    }
    data = orjson.dumps(
        {
            "form": _FORM,
            "python": _python(),
            "identity": identity,
            "bundle": encode_bundle(contents.bundle),
            "shadow": None if contents.shadow is None else encode_bundle(contents.shadow),
            "store": copy,
        }
    )
    return Shipped(_put(out, data), identity)


def is_shipped(folder: Path) -> bool:
    """Return whether a folder holds nothing but what `ship` wrote, whole or not, and what reading it leaves beside."""
    return folder.is_dir() and all(_OURS.match(path.name) for path in folder.iterdir())


def receive(out: Path, digest: str) -> tuple[Judge, Mapping[str, Any]]:
    """Return what judges, and its identity; `bulk-worker` where it is not what was shipped, or not for this process."""
    data = _checked(_place(out, digest), digest)
    found = orjson.loads(data)
    version, python = found["identity"]["version"], found["python"]
    if found["form"] != _FORM or version != __version__ or python != _python():
        message = f"a worker runs reflect-gate {__version__} on Python {_python()}, not {version} on {python} as the driver does"
        raise ReflectGateError("bulk-worker", message)
    bundle = decode_bundle(found["bundle"])
    shadow = None if found["shadow"] is None else decode_bundle(found["shadow"])
    store = None if found["store"] is None else _opened(out, found["store"])
    return Judge(bundle, shadow, explain=found["identity"]["explain"], store=store), found["identity"]


def _named(bundle: Bundle) -> list[Any]:
    return [bundle.digest, bundle.engine, bundle.cross_check]


def _python() -> str:
    # Generated code is kept as byte code, which is good for one interpreter.
    return f"{sys.implementation.cache_tag} {sys.hexversion:x}"


def _place(out: Path, digest: str) -> Path:
    return out / FOLDER / digest


def _put(out: Path, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    try:
        # A copy of a store is as private as the store.
        (out / FOLDER).mkdir(mode=0o700, parents=True, exist_ok=True)
        (out / FOLDER).chmod(0o700)
    except OSError as error:
        raise ReflectGateError("cannot-write", f"cannot write `{out / FOLDER}`: {(error.strerror or '').lower()}") from None
    write_whole(_place(out, digest), data)
    return digest


def _checked(path: Path, digest: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"a worker cannot read what was shipped to it, `{path}`: {(error.strerror or '').lower()}"
        raise ReflectGateError("bulk-worker", message) from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise ReflectGateError("bulk-worker", f"a worker read other content than was shipped to it, in `{path}`")
    return data


# -- the store ---------------------------------------------------------------------------------------------------------------


def _copied(store: EventStore, out: Path) -> tuple[str, str]:
    """Write a copy of `store`; return the end of its chain, which says what it holds, and the digest of the copy."""
    from reflect_store import StoreError

    with tempfile.TemporaryDirectory(prefix="reflect-gate-") as folder:
        target = Path(folder) / "store.db"
        try:
            head = store.backup(target)
        except StoreError as error:
            if error.code != "store-unsupported":
                raise
            head = _exported(store, target)
        _settle(target)
        return str(head), _put(out, target.read_bytes())


def _exported(store: EventStore, target: Path) -> Head:
    """Make a file of the events of a store on a server, which are those of one tenant; return the end of its chain."""
    from reflect_store import open_store

    # The events of a large store would not fit into memory beside everything else.
    with tempfile.TemporaryFile(dir=target.parent) as events:
        head = store.export(events)
        events.seek(0)
        with open_store(target, create=True) as copy:
            copy.import_(events, "export")
    return head


def _settle(target: Path) -> None:
    """Let a copy be one file, whoever reads it: a log beside it needs memory that machines of a cluster do not share."""
    with closing(sqlite3.connect(target)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")


def _opened(out: Path, digest: str) -> EventStore:
    from reflect_store import open_store

    path = _place(out, digest)
    _checked(path, digest)
    return open_store(path, read_only=True)
