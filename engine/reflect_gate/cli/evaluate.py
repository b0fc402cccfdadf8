"""`reflect-gate evaluate`: judge requests, one or many."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import click

from .._canonical import canonical_bytes
from ..errors import ReflectGateError
from ..report._paint import Paint
from ..report.text import decision_text, line_text, summary_text
from ._batch import Judged, Progress, judge_all, judge_one
from ._bulk import BulkChoice, bulk_options, evaluate_bulk
from ._input import open_input, size_of
from ._options import BundleChoice, bundle_options, examples, format_option, output_option, shadow_option
from ._output import COULD_NOT_RUN, INVALID, OK, FirstErrors, Sink, error_document, exit_code_of, note, open_output, report
from ._server import server_option

if TYPE_CHECKING:
    from ._against import StoreChoice

__all__ = ["ERROR_SCHEMA", "evaluate"]

ERROR_SCHEMA = "urn:reflect-gate:schema:error:1"


def _hook(ctx: click.Context, _parameter: click.Parameter, harness: str | None) -> None:
    """Become the verb `hook`; the command line is only read as far as here where options of the group stand before the verb."""
    if harness is not None:
        from ..hooks.running import main

        ctx.exit(main(["hook", "--harness", harness]))


@click.command
@click.argument("file", default="-", metavar="[FILE|-]")
@bundle_options
@shadow_option
@click.option(
    "--explain", "explain_", is_flag=True, help="Keep every firing with its bound facts; in text, show batches in full."
)
@format_option("text", "json", "ndjson")
@output_option
@click.option("-j", "--jobs", type=click.IntRange(1, 256), default=1, show_default=True, help="Worker processes for a batch.")
@click.option(
    "--store",
    "store_file",
    metavar="[FILE]",
    is_flag=False,
    flag_value="",
    help="Judge against this store; without FILE against the one in force (REFLECT_GATE_STORE, else the home folder's).",
)
@click.option(
    "--apply", "apply_", is_flag=True, help="Commit what is decided to the store; a request applied again adds nothing."
)
@bulk_options
@server_option
@click.option(
    "--hook",
    metavar="HARNESS",
    callback=_hook,
    is_eager=True,
    expose_value=False,
    help="Listen to a harness's hook instead, as `reflect-gate hook` does.",
)
@examples(
    "reflect-gate evaluate request.json",
    "reflect-gate evaluate --bundle introspect --format json < request.json",
    "reflect-gate evaluate requests.ndjson --jobs 4 --format ndjson -o decisions.ndjson",
    "reflect-gate evaluate request.json --set grounding.min_anchor_overlap=0.6 --disable blame",
    "reflect-gate evaluate requests.ndjson --shadow ours --format ndjson -o decisions.ndjson",
    "reflect-gate evaluate request.json --store",
    "reflect-gate evaluate request.json --store=lessons.db --apply",
    "reflect-gate evaluate request.json --server https://gate.example.org --store --apply",
    "reflect-gate evaluate --parquet requests/ --out decided/ --scheduler processes --jobs 8",
)
def evaluate(  # noqa: PLR0913, PLR0917 - click hands over one argument an option
    file: str,
    choice: BundleChoice,
    explain_: bool,
    format_: str,
    output: str | None,
    jobs: int,
    store_file: str | None,
    apply_: bool,
    bulk: BulkChoice | None,
    server: str | None,
) -> int:
    """Judge whether a reflection may become a lesson.

    FILE holds one request, a JSON array of requests, or one request a line; `-` or nothing reads stdin. A request is an
    evidentiary record and the reflection that a model proposed on it.

    One request: exit code 0 admitted, 4 undecided, 5 refused, 3 invalid. Many: 0 when every one was judged, 3 when one was
    invalid; the others are judged all the same. Of many errors the first 20 are told and the rest is counted;
    `--error-format json` tells each.

    With `--store` a request is judged against the lessons that were learned before, and without `--apply` nothing is written.
    Secrets are taken out of a request before it is judged against a store or kept.

    With `--parquet` a report is printed, and each decision stands in the folder of `--out` (docs/bulk.md).

    With `--hook` nothing is judged: exit code 0 and silence, or a lesson, whatever the harness sends.
    """
    from ..documents import read_documents

    if server is not None:
        if bulk is not None or choice.shadow:
            raise click.UsageError("`--parquet` and `--shadow` judge here, so they go without `--server`")
        chosen = {"explain": explain_, "store": store_file, "apply": apply_, "jobs": jobs}
        return _there(server, file, choice, chosen, (format_, output))
    store = _store(store_file, apply_, jobs)
    if store and choice.shadow:
        raise click.UsageError("`--shadow` judges requests as they are, so it takes no store")
    if bulk is not None:
        if file != "-" or apply_:
            raise click.UsageError("'--parquet' takes the place of FILE, and commits nothing: leave out FILE and '--apply'")
        return evaluate_bulk(bulk, choice, explain_, jobs, store, format_, output)
    bundle = choice.load()
    with (
        open_input(file) as (stream, name),
        open_output(output) as sink,
        store.opened() if store else nullcontext() as against,
    ):
        entries = read_documents(stream, name, bundle.limits)
        first = next(entries)
        if not first[0]:
            return _single(judge_one(first, name, bundle, explain_, against, choice.load_shadow(bundle.as_of)), format_, sink)
        everything = itertools.chain([first], entries)
        judged = judge_all(everything, name, choice, bundle, explain=explain_, jobs=jobs, against=against, store=store)
        return _many(_watched(judged, stream), format_, sink, explain_)


def _there(server: str, file: str, choice: BundleChoice, chosen: Mapping[str, Any], printed: tuple[str, str | None]) -> int:
    """Let a server judge, and print as if it had been done here."""
    from ..config import Limits
    from ..documents import read_documents
    from ._server import Server, here_alone, judge_there

    here_alone(choice, chosen["store"])
    if chosen["jobs"] > 1:
        raise click.UsageError("a server judges as many requests at once as it may, so `--server` takes one job")
    flags = {"explain": chosen["explain"], "store": chosen["store"] is not None or chosen["apply"], "apply": chosen["apply"]}
    format_, output = printed
    with open_input(file) as (stream, name), open_output(output) as sink, Server(server) as there:
        entries = read_documents(stream, name, Limits())
        first = next(entries)
        if not first[0]:
            return _single(judge_there(first, name, there, flags), format_, sink)
        judged = (judge_there(entry, name, there, flags) for entry in itertools.chain([first], entries))
        return _many(_watched(judged, stream), format_, sink, chosen["explain"])


def _store(file: str | None, apply: bool, jobs: int) -> StoreChoice | None:
    if file is None and not apply:
        return None
    if apply and jobs > 1:
        raise click.UsageError("`--apply` commits a batch in its order, so it takes one job")
    from ._against import StoreChoice

    return StoreChoice(file or "", apply)


def _single(judged: Judged, format_: str, sink: Sink) -> int:
    """Write one decision; an invalid request is an error on stderr, and in machine formats an error object as well."""
    if judged.decision is None:
        error = judged.error or ReflectGateError("internal", "neither a decision nor an error")
        report(error)
        if format_ != "text":
            sink.json(canonical_bytes(_error(judged)) + b"\n")
        return exit_code_of(error)
    if format_ == "text":
        sink.text(decision_text(judged.decision, _reflection(judged), Paint(sink.coloured)))
    else:
        sink.json(canonical_bytes(judged.decision) + b"\n")
    code: int = judged.decision["exit_code"]
    return code


def _many(entries: Iterator[Judged], format_: str, sink: Sink, full: bool) -> int:
    counts = dict.fromkeys(("admitted", "undecided", "refused", "invalid"), 0)
    code, errors = OK, FirstErrors()
    write = _writer(format_, full)
    gc.enable()
    for judged in entries:
        counts[judged.decision["status"] if judged.decision else "invalid"] += 1
        if judged.error is not None:
            errors.report(judged.error)
            code = COULD_NOT_RUN if COULD_NOT_RUN in {code, exit_code_of(judged.error)} else INVALID
        write.entry(judged, sink)
        sink.flush()
    write.end(sink)
    errors.end()
    if format_ == "text":
        sink.text("\n" + summary_text(counts, Paint(sink.coloured)))
    else:
        note(summary_text(counts).rstrip(), counts)
    return code


def _watched(entries: Iterator[Judged], stream: BinaryIO) -> Iterator[Judged]:
    """Pass `entries` on, with a bar."""
    size = size_of(stream)
    progress = Progress(size)
    try:
        for count, judged in enumerate(entries, 1):
            progress.show(count, stream.tell() if size else 0)
            yield judged
    finally:
        progress.close()


class _Writer(Protocol):
    """How a batch is written: each entry as it is judged, then the end."""

    def entry(self, judged: Judged, sink: Sink) -> None: ...

    def end(self, sink: Sink) -> None: ...


def _writer(format_: str, full: bool) -> _Writer:
    if format_ == "text":
        return _Text(full)
    return _Array() if format_ == "json" else _Lines()


class _Text:
    """A line an entry, or the whole decision; errors stand on stderr."""

    def __init__(self, full: bool) -> None:
        self.full = full

    def entry(self, judged: Judged, sink: Sink) -> None:
        if judged.decision is None:
            return
        paint = Paint(sink.coloured)
        if self.full:
            sink.text(f"{paint(judged.place, 'dim')}\n{decision_text(judged.decision, _reflection(judged), paint)}\n")
        else:
            sink.text(line_text(judged.place, judged.decision, paint))

    def end(self, sink: Sink) -> None:
        """A text needs no end."""


class _Lines:
    """One JSON object a line, a decision or an error."""

    def entry(self, judged: Judged, sink: Sink) -> None:
        sink.json(canonical_bytes(judged.decision or _error(judged)) + b"\n")

    def end(self, sink: Sink) -> None:
        """Lines need no end."""


class _Array:
    """One JSON array of decisions and errors."""

    def __init__(self) -> None:
        self._before = b"["

    def entry(self, judged: Judged, sink: Sink) -> None:
        sink.json(self._before + canonical_bytes(judged.decision or _error(judged)))
        self._before = b",\n"

    def end(self, sink: Sink) -> None:
        sink.json(b"]\n")


def _error(judged: Judged) -> dict[str, object]:
    """Return what stands in machine output in place of the decision of an entry that has none."""
    errors: tuple[ReflectGateError, ...] = tuple(judged.error.errors) if judged.error else ()
    return {"schema": ERROR_SCHEMA, "place": judged.place, "errors": [error_document(error) for error in errors]}


def _reflection(judged: Judged) -> Mapping[str, object] | None:
    request = judged.request
    reflection = request.get("reflection") if isinstance(request, dict) else None
    return reflection if isinstance(reflection, dict) else None
