"""`reflect-gate policy mutate`: which small mistakes in the rules the cases would not notice."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any

import click

from .._canonical import canonical_bytes
from ..config import Limits
from ..errors import ReflectGateError, Source, raise_all
from ..report._paint import Paint
from ._batch import Progress
from ._input import open_input
from ._options import examples, format_option, jobs_option, output_option, policies_option
from ._output import OK, REFUSED, note, open_output
from .policy_test import percent

__all__ = ["mutate", "read_requests"]


@click.command
@click.argument("names", nargs=-1, metavar="[RULESET]...")
@policies_option
@click.option("--corpus", metavar="FILE", help="Requests, one a line, that judge the mutants which no case kills.")
@click.option("--threshold", metavar="N", help="Fail unless N per cent of the mutants are killed.")
@click.option("--no-cache", is_flag=True, help="Try every mutant again, whatever is known from an earlier run.")
@jobs_option
@format_option("text", "json")
@output_option
@examples(
    "reflect-gate policy mutate --threshold 90",
    "reflect-gate policy mutate grounding --corpus requests.ndjson --jobs 4",
    "reflect-gate policy mutate --format json -o mutants.json",
)
def mutate(
    names: tuple[str, ...],
    policies: str | None,
    corpus: str | None,
    threshold: str | None,
    no_cache: bool,
    jobs: int,
    format_: str,
    output: str | None,
) -> int:
    """Plant small mistakes in the rules and see which ones the cases notice.

    RULESET is a rule set or lexicon; all of the policies in force without one. Each mutant moves a threshold by one step, negates
    or drops a condition, drops a pattern or a value, swaps a verdict, disables a rule, or drops a pattern of a lexicon. The first
    case that fails kills it, else the first request of the corpus of which a stage says something else. Survivors are listed with
    file and line. Results are kept until rules or cases change. Exit code 5 when fewer than the threshold are killed, 3 when a
    case fails without a mutant.
    """
    from ..policy.mutate import mutate as run
    from ..policy.mutate import subjects
    from ..report.mutation import mutation_document, mutation_text, rate
    from ._policies import case_folders

    limit = percent(threshold)
    gc.enable()
    chosen = subjects(case_folders(policies), names)
    requests = read_requests(corpus) if corpus else []
    bar: list[Progress] = []

    def progress(done: int, total: int) -> None:
        if not bar:
            bar.append(Progress(total, "mutants"))
        bar[0].show(done, done)

    try:
        results = run(chosen, policies, requests, jobs=jobs, keep=not no_cache, progress=progress)
    finally:
        for shown in bar:
            shown.close()
    with open_output(output) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(mutation_document(results)) + b"\n")
        else:
            sink.text(mutation_text(results, Paint(sink.coloured)))
    killed, total = rate(results)
    if limit is not None and killed * 100 < limit * total:
        note(f"fewer than {limit} % of the mutants are killed", {"killed": killed, "total": total, "threshold": str(limit)})
        return REFUSED
    return OK


def read_requests(path: str) -> list[Mapping[str, Any]]:
    """Return the requests of the corpus; every one that cannot be read is told with its place."""
    from ._corpus import Corpus

    found: list[Mapping[str, Any]] = []
    errors: list[ReflectGateError] = []
    with open_input(path) as (stream, name):
        for place, request in Corpus().entries(stream, name, Limits()):
            if isinstance(request, ReflectGateError):
                errors.append(request)
            elif isinstance(request, dict):
                found.append(request)
            else:
                errors.append(ReflectGateError("request-shape", f"expected a request at `{place}`", Source(name)))
    raise_all(errors)
    return found
