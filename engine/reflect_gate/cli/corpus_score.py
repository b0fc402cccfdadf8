"""`reflect-gate corpus score`: how good the gate is on requests whose outcomes or labels are known, and on mutants."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .._canonical import canonical_bytes
from ..config import Limits
from ..errors import ReflectGateError, Source, raise_all
from ..report._paint import Paint
from ._batch import Entry, judge_all
from ._input import open_input, read_rows
from ._options import BundleChoice, bundle_options, examples, format_option, jobs_option, output_option, seed_option
from ._output import INVALID, OK, open_output, report

if TYPE_CHECKING:
    from ..corpus.score import Outcome, Verdict
    from ..policy import Bundle

__all__ = ["SCORE_SCHEMA", "score"]

SCORE_SCHEMA = "urn:reflect-gate:schema:corpus-score:1"


class _Inputs(NamedTuple):
    """What is judged, and what is known of it."""

    requests: list[Entry]
    mutants: list[Entry]
    mutators: list[tuple[str, str]]
    outcomes: Mapping[str, Outcome]
    caveats: tuple[str, ...] = ()


@click.command
@click.argument("requests", default="-", metavar="[REQUESTS|-]")
@click.option("--labels", metavar="FILE", help="What became of each request, from `corpus labels`; a corpus says it itself.")
@click.option("--mutants", metavar="FILE", help="Mutants, from `corpus mutate`.")
@click.option(
    "--sweep",
    metavar="KEY=VALUE,…",
    multiple=True,
    help="Judge again with each value of a setting, as grounding.min_terms_alone=0.2,0.3,0.4; may be repeated.",
)
@bundle_options
@seed_option
@click.option("--resamples", type=click.IntRange(40, 100_000), default=1_000, show_default=True, help="Resamples of tasks.")
@jobs_option
@format_option("text", "json")
@output_option
@examples(
    "reflect-gate corpus score requests.ndjson --mutants mutants.ndjson",
    "reflect-gate corpus score requests.ndjson --labels labels.ndjson --format json",
    "reflect-gate corpus score requests.ndjson --labels labels.ndjson --sweep grounding.min_terms_alone=0.2,0.3,0.4",
)
def score(  # noqa: PLR0913, PLR0917 - click hands over one argument an option
    requests: str,
    labels: str | None,
    mutants: str | None,
    sweep: tuple[str, ...],
    choice: BundleChoice,
    seed: int,
    resamples: int,
    jobs: int,
    format_: str,
    output: str | None,
) -> int:
    """Measure a bundle: mutants detected, originals refused, and what became of the candidates that it admits.

    With `--mutants`, the share of each mutator that is not admitted. With `--labels`, precision (helped), harm and recall beside
    admitting everything and beside the best gates that do not read the reflection. Each share has two 95 % intervals: over
    records (Wilson) and over tasks (bootstrap). Exit code 0, or 3 where a request was invalid.
    """
    from ..report.score import score_text

    bundle, curves = choice.load(), [_sweep(one) for one in sweep]
    gc.enable()
    inputs = _read(requests, labels, mutants, bundle)
    document, bad = _scored(inputs, choice, bundle, (seed, resamples, jobs))
    document["sweeps"] = [_curve(key, values, inputs, choice, jobs) for key, values in curves]
    with open_output(output) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(document) + b"\n")
        else:
            sink.text(score_text(document, Paint(sink.coloured)))
    return INVALID if bad else OK


def _sweep(given: str) -> tuple[str, tuple[str, ...]]:
    key, equals, values = given.partition("=")
    found = tuple(value.strip() for value in values.split(",") if value.strip())
    if not equals or not key.strip() or not found:
        raise click.UsageError(f"'--sweep' wants KEY=VALUE,VALUE,…, not '{given}'")
    return key.strip(), found


def _read(requests: str, labels: str | None, mutants: str | None, bundle: Bundle) -> _Inputs:
    from ._corpus import Corpus

    if [requests, labels, mutants].count("-") > 1:
        raise click.UsageError("only one of the files can be stdin")
    with open_input(requests) as (stream, name):
        corpus = Corpus()
        entries = [(place or "line 1", request) for place, request in corpus.entries(stream, name, bundle.limits)]
    outcomes = {**_known(corpus.labels.values(), requests), **(_outcomes(labels) if labels else {})}
    made, mutators = _mutants(mutants, bundle.limits) if mutants else ([], [])
    return _Inputs(entries, made, mutators, outcomes, corpus.caveats)


def _outcomes(path: str) -> dict[str, Outcome]:
    from ..corpus.score import outcome_of

    return {one.id: one for one in read_rows(path, outcome_of)}


def _known(rows: Iterable[object], name: str) -> dict[str, Outcome]:
    from ..corpus.score import outcome_of

    return {one.id: one for one in (outcome_of(row, Source(name)) for row in rows)}


def _mutants(path: str, limits: Limits) -> tuple[list[Entry], list[tuple[str, str]]]:
    """Return the requests of a file of mutants, and `(mutator, source)` of each."""
    from ..documents import read_ndjson

    entries: list[Entry] = []
    names: list[tuple[str, str]] = []
    errors: list[ReflectGateError] = []
    with open_input(path) as (stream, name):
        for number, row in read_ndjson(stream, name, limits):
            if isinstance(row, ReflectGateError):
                errors.append(row)
            elif (
                isinstance(row, dict) and all(isinstance(row.get(key), str) for key in ("mutator", "source")) and "request" in row
            ):
                entries.append((f"line {number}", row["request"]))
                names.append((row["mutator"], row["source"]))
            else:
                message = f"expected a mutant with `mutator`, `source` and `request`, found `{str(row)[:80]}`"
                errors.append(ReflectGateError("corpus-bad-mutant", message, Source(name, number)))
    raise_all(errors)
    return entries, names


def _verdicts(entries: Sequence[Entry], choice: BundleChoice, bundle: Bundle, jobs: int) -> Iterator[tuple[Any, Verdict | None]]:
    """Yield each request with its verdict, `None` where it is invalid, which has then been reported."""
    from ..corpus.mutate import task_of
    from ..corpus.score import Verdict
    from ..report.text import GOOD_VERDICTS

    for judged in judge_all(entries, "requests", choice, bundle, explain=False, jobs=jobs):
        if judged.decision is None or not isinstance(judged.request, dict):
            if judged.error is not None:
                report(judged.error)
            yield judged.request, None
            continue
        against = frozenset(
            (found["stage"], found["reason"]) for found in judged.decision["findings"] if found["verdict"] not in GOOD_VERDICTS
        )
        status, reason = judged.decision["status"], judged.decision["reason"]
        yield judged.request, Verdict(judged.decision["failure_id"], task_of(judged.request), status, reason, against)


def _only(verdicts: Iterable[tuple[Any, Verdict | None]]) -> list[Verdict]:
    return [verdict for _, verdict in verdicts if verdict is not None]


def _scored(inputs: _Inputs, choice: BundleChoice, bundle: Bundle, how: tuple[int, int, int]) -> tuple[dict[str, Any], int]:
    from ..corpus.blind import features
    from ..corpus.score import CAVEATS, mutant_scores, outcome_scores, summary
    from ..stages._prepare import prepare

    seed, resamples, jobs = how
    judged = list(_verdicts(inputs.requests, choice, bundle, jobs))
    verdicts = _only(judged)
    bad = len(judged) - len(verdicts)
    document: dict[str, Any] = {
        "schema": SCORE_SCHEMA,
        "bundle": {"name": bundle.name, "digest": bundle.digest, "as_of": bundle.as_of},
        "seed": seed,
        "resamples": resamples,
        "requests": summary(verdicts, bad),
        "caveats": [*CAVEATS, *inputs.caveats],
    }
    if inputs.mutants:
        found = list(_verdicts(inputs.mutants, choice, bundle, jobs))
        bad += sum(verdict is None for _, verdict in found)
        pairs = [
            (mutator, verdict._replace(id=source))
            for (mutator, source), (_, verdict) in zip(inputs.mutators, found, strict=True)
            if verdict is not None
        ]
        document["mutants"] = mutant_scores(pairs, verdicts, str(seed), resamples)
    if inputs.outcomes:
        seen = {
            verdict.id: features(prepare(request["record"], bundle.limits)) for request, verdict in judged if verdict is not None
        }
        document["outcomes"] = outcome_scores(verdicts, inputs.outcomes, seen, str(seed), resamples)
    return document, bad


def _curve(key: str, values: Sequence[str], inputs: _Inputs, choice: BundleChoice, jobs: int) -> dict[str, Any]:
    from ..corpus.score import sweep_point

    points = []
    for value in values:
        changed = choice.with_setting(f"{key}={value}")
        bundle = changed.load()
        verdicts = _only(_verdicts(inputs.requests, changed, bundle, jobs))
        found = _verdicts(inputs.mutants, changed, bundle, jobs)
        mutants = [
            one._replace(id=source) for (_, source), (_, one) in zip(inputs.mutators, found, strict=True) if one is not None
        ]
        points.append(sweep_point(value, verdicts, inputs.outcomes, mutants))
    return {"setting": key, "points": points}
