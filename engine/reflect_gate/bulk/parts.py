"""What became of a chunk: a Parquet file of a row each, under a key from which all of it follows.

Columns: `row` (its number in the input file, from 1), `failure_id`, `status` (a decision's, or `invalid` or `failed`), `reason`
(of a decision, or the code of the first error), and `decision`, the line itself. The file's metadata hold the key, the SHA-256
of the lines, and the chunk.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from .._canonical import canonical_bytes
from ..errors import ReflectGateError, Source
from ._arrow import arrow, parquet
from .chunks import Chunk, open_parquet
from .judging import FAILED, Line
from .writing import drafted

__all__ = ["Part", "kept_digest", "lines_digest", "parts_in_order", "read_part", "write_part"]

_KEY: Final = b"reflect-gate.key"
_DIGEST: Final = b"reflect-gate.lines"
_PLACE: Final = b"reflect-gate.place"
_LINE: Final = "decision"


class Part(NamedTuple):
    """A finished chunk: the key and the digest that it claims, and of each row the status and the line."""

    key: str
    digest: str
    statuses: Sequence[str]
    lines: Sequence[bytes]

    @property
    def whole(self) -> bool:
        """Whether the lines are those that were written."""
        return lines_digest(self.lines) == self.digest


def lines_digest(lines: Sequence[bytes]) -> str:
    """Return the SHA-256 of lines, each with its end."""
    told = hashlib.sha256()
    for line in lines:
        told.update(line)
        told.update(b"\n")
    return told.hexdigest()


def write_part(path: Path, chunk: Chunk, key: str, lines: Sequence[Line]) -> str:
    """Write what became of a chunk, whole or not at all; return the digest of its lines."""
    pa = arrow()
    digest = lines_digest([one.line for one in lines])
    table = pa.table(
        {
            "row": pa.array(range(chunk.first, chunk.first + chunk.rows), pa.int64()),
            "failure_id": pa.array([one.failure_id for one in lines], pa.string()),
            "status": pa.array([one.status for one in lines], pa.string()),
            "reason": pa.array([one.reason for one in lines], pa.string()),
            _LINE: pa.array([one.line.decode() for one in lines], pa.large_string()),
        }
    ).replace_schema_metadata({_KEY: key, _DIGEST: digest, _PLACE: canonical_bytes([chunk.file, chunk.group])})
    with drafted(path) as stream:
        parquet().write_table(
            table, stream, compression="zstd", row_group_size=max(1, chunk.rows), write_statistics=["row", "status", "failure_id"]
        )
    return digest


def read_part(path: Path, name: str) -> Part:
    """Return a finished chunk, called `name` in errors; `bulk-input` or `cannot-read` where it cannot be read."""
    pa = arrow()
    with open_parquet(path, name) as file:
        said: dict[bytes, bytes] = file.schema_arrow.metadata or {}
        if _KEY not in said or _DIGEST not in said:
            raise ReflectGateError("bulk-input", "is no part of a bulk replay", Source(name))
        table: Any = file.read(columns=["status", _LINE])
        lines = table.column(_LINE).cast(pa.large_binary()).to_pylist()
        return Part(said[_KEY].decode(), said[_DIGEST].decode(), table.column("status").to_pylist(), lines)


def parts_in_order(out: Path) -> list[Path]:
    """Return the parts below a folder in the order of the input; `bulk-input` where a file is none, or there is none at all."""
    found = []
    for path in out.rglob("*.parquet"):
        name = path.relative_to(out).as_posix()
        with open_parquet(path, name) as file:
            place = (file.schema_arrow.metadata or {}).get(_PLACE)
        if place is None:
            raise ReflectGateError("bulk-input", "is no part of a bulk replay", Source(name))
        found.append((orjson.loads(place), path))
    if not found:
        raise ReflectGateError("bulk-input", "holds no parts of a bulk replay", Source(str(out)))
    return [path for _, path in sorted(found)]


def kept_digest(path: Path, chunk: Chunk, key: str) -> str | None:
    """Return the digest of a chunk that was finished before, `None` where it is to be judged.

    That is where there is none, or one of other content or another bundle, or damaged, or with a row on which the gate failed.
    """
    if not path.exists():
        return None
    with contextlib.suppress(ReflectGateError):
        part = read_part(path, chunk.part)
        if part.key == key and len(part.lines) == chunk.rows and FAILED not in part.statuses and part.whole:
            return part.digest
    return None
