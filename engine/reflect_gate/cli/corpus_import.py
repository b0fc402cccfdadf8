"""`reflect-gate corpus import`: logs of other projects, as a corpus that every verb reads."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from .._canonical import canonical_bytes
from ..errors import ReflectGateError
from ._batch import Progress
from ._options import examples, output_option
from ._output import OK, note, open_output, report
from ._summary import lines_document, needs_file, summarise, summary_option

__all__ = ["Bad", "import_", "skip_bad_option"]

_TOLD: Final = 100
"""Errors that are told one by one; the rest is counted."""


class Bad:
    """Counts what could not be read, and tells of the first of it."""

    def __init__(self) -> None:
        self.count = 0

    def good(self, found: Iterable[dict[str, Any] | ReflectGateError]) -> Iterator[dict[str, Any]]:
        """Yield the records; an error is told and counted."""
        for one in found:
            if not isinstance(one, ReflectGateError):
                yield one
                continue
            self.count += len(one.errors)
            if self.count <= _TOLD:
                report(one)
            elif self.count - len(one.errors) <= _TOLD:
                note("more errors are counted and not told", {"told": _TOLD})

    def end(self, records: int, *, skip: bool) -> None:
        """Raise where nothing was read, and where something could not be and that is not to be passed over."""
        if not records:
            raise ReflectGateError("corpus-nothing-read", f"no record could be read, {self.count} errors; nothing is written")
        if self.count and not skip:
            message = f"{self.count} of {records + self.count} could not be read; nothing is written without `--skip-bad`"
            raise ReflectGateError("corpus-bad-rows", message)


skip_bad_option = click.option("--skip-bad", is_flag=True, help="Leave out what cannot be read, and say how much that was.")


def _complete_format(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from ..corpus.importing import IMPORTERS
    from ..corpus.importing.reading import AUTO

    known = [
        CompletionItem(AUTO, help="told by what each file holds"),
        *(CompletionItem(one.name, help=one.doc) for one in IMPORTERS),
    ]
    return [item for item in known if item.value.startswith(incomplete)]


@click.command("import")
@click.argument("format_", metavar="FORMAT", shell_complete=_complete_format)
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path())
@click.option("--by-hand", metavar="FILE", help="Labels of people to join by id: one object a line with `id` and a label.")
@click.option(
    "--label-key", metavar="KEY", default="label", show_default=True, help="The key under which that file has its labels."
)
@click.option(
    "--admits", metavar="LABEL", multiple=True, help="A label that says the candidate should be admitted; may be repeated."
)
@skip_bad_option
@output_option
@summary_option()
@examples(
    "reflect-gate corpus import reflexion runs.jsonl -o corpus.ndjson",
    "reflect-gate corpus import auto runs/*.traj report.xml lessons.md -o corpus.ndjson",
    "reflect-gate corpus import reflexion runs.jsonl --by-hand read.jsonl --label-key primary --admits e -o corpus.ndjson",
)
def import_(
    format_: str,
    files: tuple[str, ...],
    by_hand: str | None,
    label_key: str,
    admits: tuple[str, ...],
    skip_bad: bool,
    output: str | None,
    summary: str,
) -> int:
    """Read logs of other projects into a corpus, one record a line.

    FORMAT is `reflexion`, `lats`, `hotpot`, `alfworld`, `renze`, `who-and-when`, `lessons`, `lessons-log`, `swe-agent`,
    `mini-swe-agent`, `openhands`, `openhands-eval`, `atif` or `junit`; `auto` tells each file by what it holds. A record keeps
    what a gate may see apart from what is known beyond it, and says which parts it lacks. What cannot be read is told with file
    and line; then nothing is written and the exit code is 3, unless `--skip-bad` leaves it out.
    """
    from ..corpus.importing.reading import AUTO, People, importer, read_files
    from .corpus_labels import read_labels

    needs_file(summary, output)
    if admits and not by_hand:
        raise click.UsageError("'--admits' is about the labels of '--by-hand'")
    if format_ != AUTO:
        importer(format_)
    people = People(read_labels(by_hand, label_key), frozenset(admits)) if by_hand else None
    bad, counts, progress = Bad(), Counter[str](), Progress(0, "records")
    gc.enable()
    with open_output(output) as sink:
        try:
            for record in bad.good(read_files(format_, files, people)):
                sink.json(canonical_bytes(record) + b"\n")
                counts[record["provenance"]["importer"]] += 1
                progress.show(counts.total(), 0)
        finally:
            progress.close()
        bad.end(counts.total(), skip=skip_bad)
    told = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    left = f"; {bad.count} left out" if bad.count else ""
    data = {"records": counts.total(), "left_out": bad.count, "importers": dict(counts)}
    parts = [{"name": name, "lines": count} for name, count in sorted(counts.items())]
    document = lines_document("corpus import", output, counts.total(), bad.count, parts)
    summarise(summary, f"{counts.total()} records: {told}{left}", data, document)
    return OK
