"""`reflect-gate corpus mutate`: counterparts of admitted candidates that must be refused."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import click
from click.shell_completion import CompletionItem

from .._canonical import canonical_bytes
from ._batch import Progress, judge_all
from ._input import open_input, size_of
from ._options import BundleChoice, bundle_options, examples, jobs_option, output_option, seed_option
from ._output import INVALID, OK, open_output, report
from ._summary import lines_document, needs_file, summarise, summary_option

__all__ = ["mutate"]


def _complete_mutator(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from ..corpus.mutate import MUTATORS, describe, name_of

    return [CompletionItem(name_of(one), help=describe(one)) for one in MUTATORS if name_of(one).startswith(incomplete)]


@click.command
@click.argument("file", default="-", metavar="[FILE|-]")
@bundle_options
@seed_option
@click.option(
    "--only",
    metavar="MUTATOR",
    multiple=True,
    shell_complete=_complete_mutator,
    help="Make these mutants alone; may be repeated.",
)
@click.option(
    "--grounded",
    is_flag=True,
    help="Start from every candidate that grounding accepts, admitted or not: more mutants, for the figures by stage.",
)
@jobs_option
@output_option
@summary_option()
@examples(
    "reflect-gate corpus mutate requests.ndjson --seed 7 -o mutants.ndjson",
    "reflect-gate corpus mutate requests.ndjson --only opposite --only other-numbers",
    "reflect-gate corpus mutate requests.ndjson --bundle introspect -o mutants.ndjson",
)
def mutate(
    file: str,
    choice: BundleChoice,
    seed: int,
    only: tuple[str, ...],
    grounded: bool,
    jobs: int,
    output: str | None,
    summary: str,
) -> int:
    """Make mutants of the candidates that the bundle admits: one thing is changed, so that the evidence no longer supports them.

    FILE holds requests, or a corpus. One mutant a line goes out: its mutator, the failure that it was made from, the request and
    the label, which is always `refuse`. The same requests, bundle and seed give the same bytes. Where a mutator finds nothing to
    change it makes nothing; how often is said on stderr. Exit code 0, or 3 where a request was invalid; the others are used.
    """
    from ..corpus.mutate import Mutant, chosen, mutants, name_of

    needs_file(summary, output)
    mutators, bundle = chosen(only), choice.load()
    gc.enable()
    requests, sources, bad = _read(file, choice, bundle, grounded, jobs)
    counts: dict[str, Counter[str]] = {name_of(one): Counter(made=0, not_applicable=0) for one in mutators}
    with open_output(output) as sink:
        for made in mutants(sources, requests, seed=seed, mutators=mutators):
            if isinstance(made, Mutant):
                counts[made.mutator]["made"] += 1
                sink.json(canonical_bytes(made.to_json()) + b"\n")
            else:
                counts[made[0]]["not_applicable"] += 1
    told = ", ".join(f"{name} {count['made']} ({count['not_applicable']} not applicable)" for name, count in counts.items())
    read = {"sources": len(sources), "requests": len(requests)}
    parts = [{"name": name, "lines": each["made"], "not_applicable": each["not_applicable"]} for name, each in counts.items()]
    document = lines_document("corpus mutate", output, sum(each["made"] for each in counts.values()), bad, parts, **read)
    summarise(summary, f"mutants of {len(sources)} of {len(requests)} requests: {told}", {**read, **counts}, document)
    return INVALID if bad else OK


def _read(
    file: str, choice: BundleChoice, bundle: Any, grounded: bool, jobs: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
    """Return every valid request, those among them that are sources, and how many were invalid."""
    from ._corpus import Corpus

    requests: list[dict[str, Any]] = []
    sources: list[dict[str, Any]] = []
    bad = 0
    with open_input(file) as (stream, name):
        size = size_of(stream)
        progress = Progress(size)
        try:
            entries = Corpus().entries(stream, name, bundle.limits)
            for count, judged in enumerate(judge_all(entries, name, choice, bundle, explain=False, jobs=jobs), 1):
                progress.show(count, stream.tell() if size else 0)
                if judged.decision is None or not isinstance(judged.request, dict):
                    bad += 1
                    if judged.error is not None:
                        report(judged.error)
                    continue
                requests.append(judged.request)
                ground = judged.decision["stages"]["ground"]
                if judged.decision["status"] == "admitted" or (grounded and ground is not None and ground["grounded"]):
                    sources.append(judged.request)
        finally:
            progress.close()
    return requests, sources, bad
