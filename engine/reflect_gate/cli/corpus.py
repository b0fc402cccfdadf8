"""`reflect-gate corpus`: from logs of others to corpora and requests, to mutants, and to figures of how good a gate is."""

from __future__ import annotations

import gc

import click
from click.shell_completion import CompletionItem

from .._canonical import canonical_bytes
from ..errors import ReflectGateError
from ._batch import Progress
from ._input import open_input, size_of
from ._options import examples, output_option
from ._output import INVALID, OK, open_output, report
from ._summary import lines_document, needs_file, summarise, summary_option
from .corpus_describe import describe
from .corpus_import import import_
from .corpus_labels import labels
from .corpus_mutate import mutate
from .corpus_score import score
from .corpus_show import show
from .corpus_split import split

__all__ = ["corpus"]


@click.group()
def corpus() -> None:
    """Work with corpora of logged reflections."""


def _complete_form(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from ..corpus.conversion import CONVERTERS

    return [CompletionItem(form.name, help=form.doc) for form in CONVERTERS if form.name.startswith(incomplete)]


@corpus.command
@click.argument("file", default="-", metavar="[FILE|-]")
@click.option(
    "--from",
    "form",
    required=True,
    metavar="FORM",
    shell_complete=_complete_form,
    help="The form of the rows: `reflexion`, `exam` or `attribution`.",
)
@output_option
@summary_option()
@examples(
    "reflect-gate corpus convert --from reflexion runs.jsonl -o requests.ndjson",
    "reflect-gate corpus convert --from reflexion - < runs.jsonl | reflect-gate evaluate --format ndjson",
)
def convert(file: str, form: str, output: str | None, summary: str) -> int:
    """Turn rows of a corpus into requests, one JSON object a line.

    A line that is no row is reported on stderr with its number, and the rest is converted. Exit code 0 when every line was
    converted, 3 when one was not.
    """
    from ..corpus.conversion import convert_stream, converter

    needs_file(summary, output)
    chosen, bad, count = converter(form), 0, 0
    with open_input(file) as (stream, name), open_output(output) as sink:
        size = size_of(stream)
        progress = Progress(size, "converted")
        try:
            gc.enable()
            for count, result in enumerate(convert_stream(stream, name, chosen), 1):
                if isinstance(result, ReflectGateError):
                    bad += 1
                    report(result)
                else:
                    sink.json(canonical_bytes(result) + b"\n")
                progress.show(count, stream.tell() if size else 0)
        finally:
            progress.close()
    if output not in {None, "-"}:
        document = lines_document("corpus convert", output, count - bad, bad)
        summarise(summary, f"{count - bad} requests, {bad} lines left out", {"requests": count - bad, "bad": bad}, document)
    return INVALID if bad else OK


for _verb in (describe, import_, labels, mutate, score, show, split):
    corpus.add_command(_verb)
