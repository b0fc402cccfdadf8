"""What is to be judged: the row groups of a Parquet file, or of every file below a folder, each a chunk.

A row is a request as JSON, in the column `request`, as text or bytes. Names that start with `_` or `.` are passed over, as
other readers of such folders do.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..errors import ReflectGateError, Source
from ._arrow import arrow, parquet

__all__ = ["LABEL", "LARGE", "REQUEST", "Chunk", "Input", "content_digest", "open_parquet", "read_column", "read_input"]

REQUEST: Final = "request"
LABEL: Final = "label"

LARGE: Final = 65_536
"""Rows of a row group beyond which it is worth telling that a chunk is judged by one worker, in memory."""

_SUFFIX: Final = ".parquet"


class Chunk(NamedTuple):
    """A row group: its file below the root (with `/`), its number from 0, the number of its first row from 1, and its rows."""

    file: str
    group: int
    first: int
    rows: int

    @property
    def part(self) -> str:
        """The file below the folder of the outcome that holds what became of it."""
        return f"{self.file.removesuffix(_SUFFIX)}-{self.group:05d}{_SUFFIX}"


class Input(NamedTuple):
    """Everything that is to be judged, in order: by name of the file, then by row."""

    root: Path
    chunks: tuple[Chunk, ...]

    @property
    def rows(self) -> int:
        """How many requests there are."""
        return sum(chunk.rows for chunk in self.chunks)


def read_input(source: Path) -> Input:
    """Return the chunks of a file or folder; `cannot-read` or `bulk-input` where there are none, every bad file at once."""
    if source.is_dir():
        found = [path.relative_to(source) for path in source.rglob(f"*{_SUFFIX}")]
        names = sorted(path.as_posix() for path in found if not any(part.startswith(("_", ".")) for part in path.parts))
        root = source
    else:
        names, root = [source.name], source.parent
    chunks: list[Chunk] = []
    for name in names:
        with open_parquet(root / name, name) as file:
            _column_type(file, name)
            first = 1
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                chunks.append(Chunk(name, group, first, rows))
                first += rows
    if not chunks:
        raise ReflectGateError("bulk-input", "holds no Parquet file with rows", Source(str(source)))
    return Input(root, tuple(chunks))


@contextmanager
def open_parquet(path: Path, name: str) -> Iterator[Any]:
    """Yield an open Parquet file, called `name` in errors, which are `cannot-read` and `bulk-input`."""
    pa = arrow()
    try:
        with parquet().ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, ValueError) as error:
        raise ReflectGateError("bulk-input", f"cannot be read as Parquet: {_plain(error)}", Source(name)) from None
    except OSError as error:
        # pyarrow raises it for damaged pages too, then without a number.
        if error.errno is None:
            raise ReflectGateError("bulk-input", f"cannot be read as Parquet: {_plain(error)}", Source(name)) from None
        raise ReflectGateError("cannot-read", f"cannot be read: {os.strerror(error.errno).lower()}", Source(name)) from None


def _plain(error: Exception) -> str:
    line = " ".join(str(error).split()).rstrip(".")
    return line[:1].lower() + line[1:200].replace("`", "'")


def _column_type(file: Any, name: str) -> None:
    pa = arrow()
    schema = file.schema_arrow
    if REQUEST not in schema.names:
        known = ", ".join(f"`{column}`" for column in schema.names[:8]) or "no column"
        raise ReflectGateError("bulk-input", f"has no column `{REQUEST}`, but {known}", Source(name))
    kind = schema.field(REQUEST).type
    if not any(
        test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    ):
        raise ReflectGateError("bulk-input", f"column `{REQUEST}` holds `{kind}`, not the JSON of requests as text", Source(name))


def read_column(root: Path, chunk: Chunk, column: str = REQUEST) -> list[bytes | None]:
    """Return a column of a chunk as bytes, `None` where a row holds nothing; `bulk-input` where the file is not what it was."""
    pa = arrow()
    with open_parquet(root / chunk.file, chunk.file) as file:
        if chunk.group >= file.num_row_groups or file.metadata.row_group(chunk.group).num_rows != chunk.rows:
            raise ReflectGateError("bulk-input", "changed while it was being judged", Source(chunk.file))
        if column not in file.schema_arrow.names:
            return [None] * chunk.rows
        read = file.read_row_group(chunk.group, columns=[column])
        found: list[bytes | None] = read.column(column).cast(pa.large_binary()).to_pylist()
    return found


def content_digest(rows: Sequence[bytes | None]) -> str:
    """Return the SHA-256 of rows in order: each with its length before it, so that no two sequences are written alike."""
    told = hashlib.sha256()
    for row in rows:
        told.update(b"-" if row is None else b"%d:" % len(row))
        told.update(row or b"")
    return told.hexdigest()
