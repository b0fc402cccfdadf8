"""`reflect-gate harvest`: lessons that helped, as data for training and tests."""

from __future__ import annotations

from typing import Any

import click

from .._canonical import canonical_bytes
from ._errors import store_errors
from ._options import examples, output_option
from ._output import OK, UNDECIDED, open_output
from ._store import opened, store_option
from ._summary import lines_document, needs_file, summarise, summary_option

__all__ = ["harvest"]


@click.command
@click.option(
    "-f",
    "--format",
    "format_",
    type=click.Choice(("sft", "preference", "eval")),
    default="sft",
    show_default=True,
    help="Chat messages, pairs of a reflection that helped and a refused one, or prompts with the lesson to be found.",
)
@store_option
@output_option
@summary_option("--summary")
@examples("reflect-gate harvest --format sft -o lessons.jsonl", "reflect-gate harvest --format preference --store team.db")
def harvest(format_: Any, store_file: str | None, output: str | None, summary: str) -> int:
    """Write the lessons that helped as lines of JSON.

    Only lessons of which an executed outcome says that they helped more tasks than they hurt; candidates that were refused as
    poisoned are never written. The yield is told on stderr. Exit code 0 when something was written, 4 when nothing was.
    """
    from ..harvesting import harvest as lines_of

    needs_file(summary, output)
    with opened(store_file, read_only=True) as store, store_errors(), open_output(output) as sink:
        found = lines_of(store, format_)
        for line in found:
            sink.json(canonical_bytes(line) + b"\n")
    counts = dict(found.counts)
    share = "" if found.share is None else f", yield {found.share:.2f}"
    told = "{lines} lines of {harvested} lessons; {helpful} of {executed} lessons with executed outcomes helped".format(**counts)
    known = {"known": counts["lessons"], **{key: counts[key] for key in ("executed", "helpful", "lost", "harvested")}}
    document = lines_document("harvest", output, counts["lines"], 0, lessons={**known, "share": found.share})
    summarise(summary, told + share, {**counts, "yield": found.share}, document)
    return OK if counts["lines"] else UNDECIDED
