"""`reflect-gate corpus describe`: what an imported corpus holds, and what it can and cannot prove."""

from __future__ import annotations

import gc

import click

from .._canonical import canonical_bytes
from ..report._paint import Paint
from ._batch import Progress
from ._options import examples, format_option, output_option
from ._output import INVALID, OK, open_output
from .corpus_import import Bad

__all__ = ["DESCRIPTION_SCHEMA", "describe"]

DESCRIPTION_SCHEMA = "urn:reflect-gate:schema:corpus-description:1"


@click.command
@click.argument("file", metavar="FILE", type=click.Path())
@format_option("text", "json")
@output_option
@examples("reflect-gate corpus describe corpus.ndjson", "reflect-gate corpus describe corpus.ndjson --format json")
def describe(file: str, format_: str, output: str | None) -> int:
    """Count what a corpus holds: records, groups, kinds of evidence, outcomes, missing parts, copies; and say what it can prove.

    FILE is what `corpus import` wrote. Exit code 0, or 3 where a line was no record; the others are counted.
    """
    from ..corpus.importing.describing import Description
    from ..corpus.importing.reading import read_corpus
    from ..report.corpus import description_text

    bad, described, progress = Bad(), Description(), Progress(0, "records")
    gc.enable()
    try:
        for record in bad.good(read_corpus(file)):
            described.add(record)
            progress.show(described.records, 0)
    finally:
        progress.close()
    document = {"schema": DESCRIPTION_SCHEMA, "invalid": bad.count, **described.to_json()}
    with open_output(output) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(document) + b"\n")
        else:
            sink.text(description_text(document, Paint(sink.coloured)))
    return INVALID if bad.count else OK
