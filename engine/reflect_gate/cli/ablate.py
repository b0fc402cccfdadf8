"""`reflect-gate ablate`: what each mechanism, rule set and rule is worth on requests whose outcomes are known."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import click

from .._canonical import canonical_bytes
from ..errors import ReflectGateError
from ..report._paint import Paint
from ._chunks import Task, worked_in_chunks
from ._comparing import Material, Tally, case_of, group_of, read_material, resume_option, split
from ._options import (
    BundleChoice,
    complete_bundle,
    examples,
    format_option,
    jobs_option,
    output_option,
    policies_option,
    seed_option,
)
from ._output import INVALID, OK, open_output, report

if TYPE_CHECKING:
    from ..ab.ablating import Row
    from ..ab.chains import Chain, Step
    from ..ab.comparing import Plan
    from ..ab.kept import Kept
    from ..policy import Bundle

__all__ = ["ABLATION_SCHEMA", "ablate"]

ABLATION_SCHEMA = "urn:reflect-gate:schema:ablation:1"

Request: TypeAlias = Mapping[str, Any]


@click.command
@click.argument("requests", default="-", metavar="[REQUESTS|-]")
@click.option("--labels", metavar="FILE", help="What became of each request, from `corpus labels`; a corpus says it itself.")
@click.option("-b", "--bundle", metavar="NAME", shell_complete=complete_bundle, help="The bundle to leave things out of.")
@policies_option
@click.option("--as-of", metavar="DATE", help="The day that decides which overrides have expired; else today (UTC).")
@click.option("--rules", is_flag=True, help="Leave out each rule as well.")
@click.option(
    "--pairwise",
    is_flag=True,
    help="Leave out two at a time as well: rule sets, and with `--rules` rules that had a say together.",
)
@click.option("--most-pairs", type=click.IntRange(1, 5_000), default=200, show_default=True, help="Pairs that are tried at most.")
@click.option("--chains", is_flag=True, help="Replay the requests in their order through a store as well, for what needs time.")
@click.option(
    "--least", type=click.IntRange(1), default=10, show_default=True, help="Records on which a mechanism must have had a say."
)
@click.option(
    "--group", metavar="KEY", default="task", show_default=True, help="The key of the labels by which records belong together."
)
@click.option("--frozen", is_flag=True, help="Judge by the part that is kept apart, instead of by the rest.")
@resume_option
@seed_option
@click.option("--resamples", type=click.IntRange(40, 100_000), default=1_000, show_default=True, help="Resamples of groups.")
@jobs_option
@format_option("text", "json", "markdown")
@output_option
@examples(
    "reflect-gate ablate requests.ndjson --labels labels.ndjson",
    "reflect-gate ablate requests.ndjson --labels labels.ndjson --rules --jobs 4 --format json -o ablation.json",
    "reflect-gate ablate requests.ndjson --labels labels.ndjson --rules --pairwise --resume runs/",
)
def ablate(  # noqa: PLR0913, PLR0917 - click hands over one argument an option
    requests: str,
    labels: str | None,
    bundle: str | None,
    policies: str | None,
    as_of: str | None,
    rules: bool,
    pairwise: bool,
    most_pairs: int,
    chains: bool,
    least: int,
    group: str,
    frozen: bool,
    resume: str | None,
    seed: int,
    resamples: int,
    jobs: int,
    format_: str,
    output: str | None,
) -> int:
    """Leave one thing out at a time, judge the same requests again, and say what it was worth.

    The step that asks a model comes first, then the rule sets, then with `--rules` each rule. KEEP: without it precision, the
    rejected share, harm or recall is worse by more than 5 per cent. HARM: without it precision or harm is better beyond
    noise, and nothing worse. DELETE: neither. Unexercised: it had a say on too few records, as what needs a store has, unless
    `--chains` replays the requests, which must then be in the order of time. `--pairwise` tells which two stand in for each
    other. Exit code 0, or 3 where a request was invalid.
    """
    from ..ab.ablating import ablation
    from ..ab.comparing import Plan
    from ..ab.kept import Kept
    from ..ab.removing import toggles

    choice = BundleChoice(bundle, policies, as_of=as_of)
    loaded = choice.load()
    gc.enable()
    material = read_material(requests, labels, group)
    part = split(material)[frozen]
    run = _Run(choice.on_day(loaded.as_of), loaded, Plan(seed, resamples), least, Kept(resume), jobs)
    rows, unjudged = _rows(part, run, rules)
    document = {
        "schema": ABLATION_SCHEMA,
        "bundle": {"name": loaded.name, "digest": loaded.digest, "as_of": loaded.as_of},
        "plan": {"seed": seed, "resamples": resamples, "least": least},
        "requests": {
            "judged": len(rows),
            "scored": sum(row.case is not None for _, row in rows),
            "groups": len({row.group for _, row in rows}),
            "invalid": material.invalid + unjudged,
        },
        "frozen": frozen,
        "rows": ablation([row for _, row in rows], toggles(loaded, rules), run.plan, least),
        "pairs": _pairs(rows, run, rules, most_pairs) if pairwise else None,
        "chains": _chains(rows, run) if chains else None,
    }
    _print(document, format_, output)
    return INVALID if material.invalid or unjudged else OK


def _print(document: Mapping[str, Any], format_: str, output: str | None) -> None:
    from ..report.ablation import ablation_markdown, ablation_text

    with open_output(output) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(document) + b"\n")
        else:
            sink.text(ablation_markdown(document) if format_ == "markdown" else ablation_text(document, Paint(sink.coloured)))


class _Run(NamedTuple):
    """What is left out of which bundle, how figures are drawn, and where what was judged is kept."""

    choice: BundleChoice
    bundle: Bundle
    plan: Plan
    least: int
    kept: Kept
    jobs: int


def _rows(part: Material, run: _Run, rules: bool) -> tuple[list[tuple[Request, Row]], int]:
    """Return each request with what was seen of it, and how many could not be judged, which are then reported."""
    from ..ab.ablating import Row
    from ..ab.removing import looker, seen_of

    rows: list[tuple[Request, Row]] = []
    for request, known, seen in zip(
        part.requests, part.known, _worked(part.requests, Task(looker, (rules,)), run, seen_of), strict=True
    ):
        if isinstance(seen, ReflectGateError):
            report(seen)
        else:
            rows.append((request, Row(group_of(request, known), case_of(request, known), seen)))
    return rows, len(part.requests) - len(rows)


def _worked(requests: Sequence[Request], task: Task, run: _Run, read: Callable[[Any], Any]) -> list[Any]:
    tally = Tally(len(requests))
    try:
        return worked_in_chunks(requests, task, run.choice, run.bundle, jobs=run.jobs, kept=run.kept, note=tally.add, read=read)
    finally:
        tally.close()


def _pairs(rows: Sequence[tuple[Request, Row]], run: _Run, rules: bool, most: int) -> dict[str, Any]:
    """Leave two out at a time; every request was judged without each alone, so that none is invalid now."""
    from ..ab.pairs import chosen, interactions, pair_looker

    seen = [row for _, row in rows]
    pairs, left_out = chosen(run.bundle, seen, rules, most, run.least)
    without = _worked([request for request, _ in rows], Task(pair_looker, ([list(pair) for pair in pairs],)), run, _plain)
    bad = next((row for row in without if isinstance(row, ReflectGateError)), None)
    if bad is not None:
        raise bad
    return {"rows": interactions(seen, pairs, without, run.plan, run.least), "left_out": left_out}


def _plain(row: Any) -> Any:
    return row


# -- in the order of time --------------------------------------------------------------------------------------------------------


def _chains(rows: Sequence[tuple[Request, Row]], run: _Run) -> list[dict[str, Any]]:
    """Replay the requests with everything on and without each rule set that has a say in time, one replay a process."""
    from ..ab.chains import CHAINED, Step, chained

    steps = [Step(request, row.group, row.case) for request, row in rows]
    on = {ruleset.name for ruleset in run.bundle.rulesets if ruleset.on}
    names = ["", *(name for name in CHAINED if name in on)]
    tally = Tally(len(names))
    found: list[Chain] = []
    try:
        for chain in _replayed(names, run.choice, steps, run.jobs):
            found.append(chain)
            tally.add()
    finally:
        tally.close()
    return chained(found[0], dict(zip(names[1:], found[1:], strict=True)), run.plan, run.least)


def _replayed(names: Sequence[str], choice: BundleChoice, steps: Sequence[Step], jobs: int) -> Iterator[Chain]:
    if jobs == 1:
        yield from (_replay(choice, name, steps) for name in names)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        yield from pool.map(_replay, repeat(choice), names, repeat(steps))


def _replay(choice: BundleChoice, name: str, steps: Sequence[Step]) -> Chain:
    from ..ab.chains import replay

    bundle = choice._replace(disable=(name,) if name else (), engine="compiled").load()
    return replay(steps, bundle)
