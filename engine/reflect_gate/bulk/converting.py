"""Requests into Parquet with row groups of a useful size, and what a corpus knows of them beside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Final, TypeAlias

from ..errors import ReflectGateError, Source
from ._arrow import arrow, parquet
from .chunks import LABEL, REQUEST, Chunk, read_column, read_input
from .writing import drafted

__all__ = ["ROWS", "Row", "is_parquet", "rows_of", "write_requests"]

ROWS: Final = 1_000
"""Rows of a row group: some seconds of one worker, which is what a killed worker loses at most."""

_MAGIC: Final = b"PAR1"

Row: TypeAlias = tuple[bytes, bytes | None]
"""A request as JSON, and what is known of it, as a line of a labels file."""


def write_requests(path: Path, rows: Iterable[Row], size: int = ROWS) -> int:
    """Write requests as a Parquet file, whole or not at all, in row groups of `size`; return how many there were.

    The same rows give the same bytes, with the same version of pyarrow. Of no row no file is made, and one that is there stays.
    """
    pa = arrow()
    schema = pa.schema([(REQUEST, pa.large_string()), (LABEL, pa.large_string())])
    count, iterator = 0, iter(rows)
    first = next(iterator, None)
    if first is None:
        return 0
    iterator = chain((first,), iterator)
    with drafted(path) as stream, parquet().ParquetWriter(stream, schema, compression="zstd", write_statistics=False) as writer:
        while batch := list(islice(iterator, size)):
            columns = [
                [request.decode() for request, _ in batch],
                [None if label is None else label.decode() for _, label in batch],
            ]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=size)
            count += len(batch)
    return count


def is_parquet(path: Path) -> bool:
    """Return whether a file is one of Parquet, or a folder; `cannot-read` where it cannot be read."""
    if path.is_dir():
        return True
    try:
        with path.open("rb") as stream:
            return stream.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise ReflectGateError("cannot-read", f"cannot read `{path}`: {(error.strerror or '').lower()}") from None


def rows_of(source: Path) -> Iterator[tuple[Chunk, int, bytes, bytes | None] | ReflectGateError]:
    """Yield of every row of Parquet its chunk, its number in the file, its request and its label, or that it holds no request."""
    found = read_input(source)
    for chunk in found.chunks:
        requests, labels = read_column(found.root, chunk), read_column(found.root, chunk, LABEL)
        for number, (request, label) in enumerate(zip(requests, labels, strict=True), chunk.first):
            if request is None:
                yield ReflectGateError("bulk-row", "the row holds no request", Source(chunk.file, number))
            else:
                yield chunk, number, request, label
