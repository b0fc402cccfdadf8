"""`reflect-gate bulk`: what a bulk replay reads, made from lines of JSON, and what it wrote, as lines of JSON."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import click

from .._canonical import canonical_bytes
from ..config import Limits
from ..errors import ReflectGateError
from ._batch import Progress
from ._corpus import Corpus
from ._input import open_input, size_of
from ._options import examples, output_option
from ._output import INVALID, OK, note, open_output, report

__all__ = ["bulk"]

_ROWS = 1_000


@click.group()
def bulk() -> None:
    """Make Parquet of requests to judge in bulk, and lines of what was decided.

    `evaluate --parquet` and `ab --parquet` judge it.
    """


@bulk.command
@click.argument("file", default="-", metavar="[FILE|-]")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="The Parquet file to write, whole or not.",
)
@click.option(
    "--rows",
    type=click.IntRange(1, 1_000_000),
    default=_ROWS,
    show_default=True,
    help="Requests of a row group, which one worker judges.",
)
@examples(
    "reflect-gate bulk convert requests.ndjson -o requests.parquet",
    "reflect-gate corpus import runs.csv --from rows | reflect-gate bulk convert - -o runs.parquet",
    "reflect-gate bulk convert one-large-group.parquet -o requests.parquet --rows 500",
)
def convert(file: str, output: str, rows: int) -> int:
    """Write requests as Parquet.

    FILE holds requests as `evaluate` reads them, a corpus of `corpus import`, whose labels are kept beside, or Parquet with
    other row groups, as does a folder. A line that is neither is reported with its number and left out. Exit code 0 when every
    line was written, 3 when one was not.
    """
    from ..bulk.converting import is_parquet, write_requests

    gc.enable()
    source = _Parquet(Path(file)) if file != "-" and is_parquet(Path(file)) else _Lines(file)
    count = write_requests(Path(output), source.rows(), rows)
    note(f"{count} requests written, {source.bad} left out", {"written": count, "invalid": source.bad})
    return INVALID if source.bad else OK


class _Lines:
    """Requests of a file of JSON, or of a corpus; what is none is reported and counted."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.bad = 0

    def rows(self) -> Iterator[tuple[bytes, bytes | None]]:
        """Yield the requests, each with what is known of it."""
        corpus = Corpus()
        with open_input(self._file) as (stream, name):
            size = size_of(stream)
            bar = Progress(size, "written", alone=True)
            try:
                for count, (_, request) in enumerate(corpus.entries(stream, name, Limits()), 1):
                    bar.show(count, stream.tell() if size else 0)
                    # What is known is kept by id, and would otherwise grow with the corpus.
                    known = corpus.labels.popitem()[1] if corpus.labels else None
                    if isinstance(request, ReflectGateError):
                        self.bad += 1
                        report(request)
                    else:
                        yield canonical_bytes(request), None if known is None else canonical_bytes(known)
            finally:
                bar.close()


class _Parquet:
    """Requests of Parquet, as they are."""

    def __init__(self, source: Path) -> None:
        self._source = source
        self.bad = 0

    def rows(self) -> Iterator[tuple[bytes, bytes | None]]:
        """Yield the requests, each with what is known of it."""
        from ..bulk.converting import rows_of

        for row in rows_of(self._source):
            if isinstance(row, ReflectGateError):
                self.bad += 1
                report(row)
            else:
                yield row[2], row[3]


@bulk.command
@click.argument("folder", metavar="DIR", type=click.Path())
@output_option
@examples(
    "reflect-gate bulk export decided/ -o decisions.ndjson",
    "reflect-gate bulk export decided/ | sha256sum",
    "reflect-gate bulk export decided/ | reflect-gate policy shadow report -",
)
def export(folder: str, output: str | None) -> None:
    """Write what a bulk replay decided, one JSON object a line, in the order of the requests.

    DIR is the `--out` of a replay that came to its end. The lines are those of `evaluate --format ndjson`: a decision, or an
    error where a row has none. Their SHA-256 is the digest of the report.
    """
    from ..bulk.running import lines_of

    gc.enable()
    with open_output(output) as sink:
        for line in lines_of(Path(folder)):
            sink.json(line + b"\n")
