"""`reflect-gate corpus split`: an imported corpus in two parts that share no group of tasks."""

from __future__ import annotations

import gc
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from .._canonical import canonical_bytes
from ..report._paint import Paint
from ._batch import Progress
from ._options import examples, format_option, seed_option
from ._output import OK, open_output
from .corpus_import import Bad, skip_bad_option

__all__ = ["SPLIT_SCHEMA", "split"]

SPLIT_SCHEMA = "urn:reflect-gate:schema:corpus-split:1"


@click.command
@click.argument("file", metavar="IN", type=click.Path())
@click.option("--test", "share", type=click.FloatRange(0, 1), required=True, help="The share of groups to keep apart, as 0.2.")
@seed_option
@click.option("--train-file", metavar="FILE", type=click.Path(dir_okay=False), help="The part to work on; else IN with `.train`.")
@click.option("--test-file", metavar="FILE", type=click.Path(dir_okay=False), help="The part kept apart; else IN with `.test`.")
@skip_bad_option
@format_option("text", "json")
@examples(
    "reflect-gate corpus split corpus.ndjson --test 0.2 --seed 7",
    "reflect-gate corpus split corpus.ndjson --test 0.2 --train-file dev.ndjson --test-file held-out.ndjson",
)
def split(file: str, share: float, seed: int, train_file: str | None, test_file: str | None, skip_bad: bool, format_: str) -> int:
    """Split a corpus by the group of tasks that a record belongs to, so that no group is in both parts.

    Which part a group is in follows from its name, the seed and the share: records that are added later move nothing. The share
    is one of groups, and met only about. Both files appear whole, or neither does. What cannot be read is told with file and
    line; then nothing is written and the exit code is 3, unless `--skip-bad` leaves it out.
    """
    from ..corpus.importing.reading import read_corpus
    from ..corpus.importing.splitting import part_of
    from ..report.corpus import split_text

    paths = {"train": train_file or _beside(file, "train"), "test": test_file or _beside(file, "test")}
    if len({Path(path).resolve() for path in (*paths.values(), file)}) != 3:
        raise click.UsageError("the two parts and the corpus must be three files")
    bad, counts, progress = Bad(), Counter[str](), Progress(0, "records")
    groups: dict[str, set[str]] = {"train": set(), "test": set()}
    gc.enable()
    with ExitStack() as stack:
        sinks = {part: stack.enter_context(open_output(path)) for part, path in paths.items()}
        try:
            for record in bad.good(read_corpus(file)):
                part = part_of(record["group"], share, seed)
                sinks[part].json(canonical_bytes(record) + b"\n")
                groups[part].add(record["group"])
                counts[part] += 1
                progress.show(counts.total(), 0)
        finally:
            progress.close()
        bad.end(counts.total(), skip=skip_bad)
    parts = {part: {"groups": len(names), "records": counts[part]} for part, names in groups.items()}
    document: dict[str, Any] = {"schema": SPLIT_SCHEMA, "seed": seed, "share": share, **parts, "invalid": bad.count}
    with open_output(None) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(document) + b"\n")
        else:
            sink.text(split_text(document, paths, Paint(sink.coloured)))
    return OK


def _beside(file: str, part: str) -> str:
    path = Path(file)
    return str(path.with_name(f"{path.stem}.{part}{path.suffix or '.ndjson'}"))
