"""`reflect-gate ab`: two bundles on the same recorded candidates, and what that decides."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .._canonical import digest
from ..errors import ReflectGateError
from ..resources import data_path
from ._app import add_error_format
from ._bulk import BulkChoice, BulkJudge, bulk_options, read_bulk
from ._chunks import Task, worked_in_chunks
from ._comparing import Material, Tally, case_of, group_of, judged_in_chunks, read_material, resume_option, split
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
from ._output import INVALID, OK, note

if TYPE_CHECKING:
    from ..ab.cases import Subject
    from ..ab.comparing import Plan
    from ..ab.kept import Kept
    from ..corpus.figures import Case
    from ..corpus.score import Verdict
    from ..policy import Bundle
    from .ab_live import Live

__all__ = ["AB_SCHEMA", "ab"]

AB_SCHEMA = "urn:reflect-gate:schema:ab:1"

_NAIVE = "introspect"


class _Arm(NamedTuple):
    choice: BundleChoice
    bundle: Bundle


class _WithReport(click.Group):
    """The comparison itself, unless the first word is `report`: a file of that name is `./report`."""

    def __init__(self, compare: click.Command) -> None:
        super().__init__("ab", params=compare.params, help=compare.help)
        self._compare = compare

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the one verb below."""
        return ["report"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import the verb below."""
        if cmd_name != "report":
            return None
        from .ab_report import report

        add_error_format(report)
        return report

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return what the comparison takes."""
        return self._compare.collect_usage_pieces(ctx)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of whichever of both is meant."""
        if args[:1] == ["report"]:
            from .ab_report import report

            add_error_format(report)
            return report.make_context(f"{info_name} report", args[1:], parent, **extra)
        self._compare.params = self.params
        return self._compare.make_context(info_name, args, parent, **extra)


@click.command
@click.argument("requests", default="-", metavar="[REQUESTS|-]")
@click.option("--labels", metavar="FILE", help="What became of each request, from `corpus labels`; a corpus says it itself.")
@click.option("--a", "a", metavar="BUNDLE", shell_complete=complete_bundle, help="The bundle that may win; else the default one.")
@click.option(
    "--b",
    "--baseline",
    "b",
    metavar="BUNDLE",
    default=_NAIVE,
    show_default=True,
    shell_complete=complete_bundle,
    help="The bundle that it must beat.",
)
@policies_option
@click.option("--set", "set_", metavar="KEY=VALUE", multiple=True, help="Change a setting of `--a` alone; may be repeated.")
@click.option("--as-of", metavar="DATE", help="The day that decides which overrides have expired; else today (UTC).")
@click.option(
    "--engine", type=click.Choice(("durable", "compiled")), help="How both infer; `compiled` is faster and not checked."
)
@click.option(
    "--group", metavar="KEY", default="task", show_default=True, help="The key of the labels by which records belong together."
)
@click.option(
    "--folds", type=click.IntRange(2, 50), default=5, show_default=True, help="Groups of tasks that are also shown apart."
)
@click.option("--frozen", is_flag=True, help="Report the part that is kept apart too, last.")
@click.option("--live", is_flag=True, help="Ask the model for the candidates, once a record, and keep them in `--record`.")
@click.option(
    "--record",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="With `--live`: where candidates are kept, and taken from where they are there already.",
)
@click.option(
    "--replay",
    metavar="FILE",
    type=click.Path(dir_okay=False, exists=True),
    help="Take the candidates that `--live` kept here; no model is asked.",
)
@click.option("--max-calls", type=click.IntRange(0), help="With `--live`: calls that all runs with this file may make together.")
@click.option("--max-cost", metavar="DOLLARS", help="With `--live`: dollars that all runs with this file may spend together.")
@click.option(
    "--at-once", type=click.IntRange(1, 64), default=2, show_default=True, help="With `--live`: calls that are made at once."
)
@click.option("--curves", is_flag=True, help="Draw a curve for each numeric setting that rules of `--a` read.")
@click.option(
    "--examples",
    "shown",
    type=click.IntRange(0, 20),
    default=0,
    show_default=True,
    help="Candidates to show of each verdict on the level of a lesson, with their texts.",
)
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write the report as one page of HTML too, whole or not at all.",
)
@resume_option
@bulk_options
@seed_option
@click.option("--resamples", type=click.IntRange(40, 100_000), default=1_000, show_default=True, help="Resamples of groups.")
@jobs_option
@format_option("text", "json", "markdown")
@output_option
@examples(
    "reflect-gate ab requests.ndjson --labels labels.ndjson",
    "reflect-gate ab --a structured --b episodic-line-level requests.ndjson --labels labels.ndjson --jobs 4 --resume runs/",
    "reflect-gate ab requests.ndjson --labels labels.ndjson --frozen --format json -o ab.json",
    "reflect-gate ab failures.ndjson --labels labels.ndjson --live --record candidates.ndjson --max-cost 2.50",
    "reflect-gate ab failures.ndjson --labels labels.ndjson --replay candidates.ndjson --curves --examples 3 --html ab.html",
    "reflect-gate ab --parquet runs.parquet --out compared/ --scheduler processes --jobs 8",
)
def _compare(  # noqa: PLR0913, PLR0917 - click hands over one argument an option
    requests: str,
    labels: str | None,
    a: str | None,
    b: str,
    policies: str | None,
    set_: tuple[str, ...],
    as_of: str | None,
    engine: str | None,
    group: str,
    folds: int,
    frozen: bool,
    live: bool,
    record: str | None,
    replay: str | None,
    max_calls: int | None,
    max_cost: str | None,
    at_once: int,
    curves: bool,
    shown: int,
    html: str | None,
    resume: str | None,
    seed: int,
    resamples: int,
    jobs: int,
    format_: str,
    output: str | None,
    bulk: BulkChoice | None,
) -> int:
    """Compare two bundles on the same requests, and say which one the figures are for.

    The key measure is lesson-admission precision: the share of what a bundle admits that helped. Beside it stand the share
    rejected as ungrounded, harm, recall, the best gates that do not read the reflection, gates that draw lots, and swapped
    reflections. Intervals resample whole groups. One task in five is kept apart by hash, and reported with `--frozen` alone.
    `--live` asks a model for the candidates and keeps them, `--replay` takes those that were kept; `ab report` makes a page of
    what this writes as JSON. Exit code 0 whatever is decided, or 3 where a request was invalid.
    """
    from ..ab.comparing import Plan
    from ..ab.kept import Kept
    from .ab_report import print_report, write_page

    base = BundleChoice(policies=policies, as_of=as_of, engine=engine)
    arms = [_arm(base._replace(name=a, set_=set_)), _baseline(base._replace(name=b))]
    gc.enable()
    candidates = _live(live, record, replay, max_calls, max_cost, at_once)
    if bulk is not None:
        _check_bulk(requests, candidates is not None or curves or shown > 0 or resume is not None)
        material, calls = read_bulk(bulk, labels, group), None
    else:
        material, calls = _material(requests, labels, group, frozen, candidates)
    judge = BulkJudge(bulk, jobs) if bulk else None
    run = _Run(arms, Plan(seed, resamples, folds), Kept(resume), jobs, frozen, curves, shown, judge)
    document, unjudged = _document(material, run, calls)
    print_report(document, format_, output)
    if html:
        # Last, since a page that cannot be written must not cost the figures.
        write_page(html, document)
    return INVALID if material.invalid or unjudged else OK


ab = _WithReport(_compare)


def _check_bulk(requests: str, more: bool) -> None:
    if requests != "-":
        raise click.UsageError("'--parquet' takes the place of REQUESTS: leave one of both out")
    if more:
        raise click.UsageError("'--parquet' goes without '--live', '--replay', '--curves', '--examples' and '--resume'")


def _live(live: bool, record: str | None, replay: str | None, calls: int | None, cost: str | None, at_once: int) -> Live | None:
    """Return where candidates come from, `None` where they stand in the requests."""
    from .ab_live import Live

    if live and replay:
        raise click.UsageError("'--live' asks the model and '--replay' does not: give one of both")
    if not live and (record or calls is not None or cost is not None):
        raise click.UsageError("'--record', '--max-calls' and '--max-cost' go with '--live'")
    if live and not record:
        raise click.UsageError("'--live' needs '--record FILE', where the candidates are kept")
    file = record or replay
    return Live(file, live, calls, None if cost is None else _dollars(cost), at_once) if file else None


def _material(
    requests: str, labels: str | None, group: str, frozen: bool, candidates: Live | None
) -> tuple[Material, dict[str, Any] | None]:
    """Return what is compared, and what asking a model for it came to, `None` where nobody was asked."""
    if candidates is None:
        return read_material(requests, labels, group), None
    from .ab_live import asked

    return asked(requests, labels, group, frozen, candidates)


def _dollars(said: str) -> Decimal:
    try:
        found = Decimal(said)
    except InvalidOperation:
        found = Decimal(-1)
    if not found.is_finite() or found < 0:
        raise click.UsageError(f"'--max-cost' wants dollars as 2.50, not '{said}'")
    return found


def _arm(choice: BundleChoice) -> _Arm:
    bundle = choice.load()
    # The day is fixed: a run past midnight must not judge by two bundles.
    return _Arm(choice.on_day(bundle.as_of), bundle)


def _baseline(choice: BundleChoice) -> _Arm:
    """Return what `--a` must beat: the shipped naive baseline where policies that say only what differs have none."""
    try:
        return _arm(choice)
    except ReflectGateError as error:
        if choice.name != _NAIVE or [one.code for one in error.errors] != ["policy-unknown-bundle"]:
            raise
    note(f"the policies have no bundle `{_NAIVE}`: the baseline is the shipped one", {"baseline": "shipped"})
    return _arm(choice._replace(policies=str(data_path("policies.yaml"))))


class _Run(NamedTuple):
    """How a comparison is made: both bundles, how figures are drawn, where verdicts are kept, and what is asked for beside."""

    arms: Sequence[_Arm]
    plan: Plan
    kept: Kept
    jobs: int
    frozen: bool
    curves: bool
    shown: int
    bulk: BulkJudge | None = None


def _document(material: Material, run: _Run, calls: dict[str, Any] | None) -> tuple[dict[str, Any], int]:
    from ..ab.comparing import CAVEATS, section, thin
    from ..ab.deciding import decide, targets

    open_part, apart = split(material)
    parts = [open_part, apart] if run.frozen else [open_part]
    looks = run.curves + (run.shown > 0)
    tally = Tally(3 * sum(len(part.requests) for part in parts) + looks * len(open_part.requests))
    try:
        found = [_subjects(part, run, tally) for part in parts]
        drawn = _curves(open_part, run, tally) if run.curves else None
        shown = _examples(open_part, run, tally) if run.shown else []
    finally:
        tally.close()
    names = (run.arms[0].bundle.name, run.arms[1].bundle.name)
    sections = [section(subjects, names, run.plan) for subjects in found]
    judged = sum(len(subjects) for subjects in found)
    unjudged = sum(len(part.requests) for part in parts) - judged
    document = {
        "schema": AB_SCHEMA,
        "arms": {key: _identity(arm) for key, arm in zip("ab", run.arms, strict=True)},
        "plan": run.plan._asdict(),
        "requests": {
            "judged": judged,
            "invalid": material.invalid + unjudged,
            "kept_apart": len(apart.requests),
            "digest": digest([request for part in parts for request in part.requests]),
        },
        "main": sections[0],
        "decision": decide(sections[0], names),
        "targets": targets(sections[0]),
        "caveats": [*CAVEATS, *thin(found[0]), *material.caveats],
        "frozen": {"section": sections[1], "targets": targets(sections[1])} if run.frozen else None,
        "sweep": drawn,
        "examples": shown,
        "calls": calls,
    }
    return document, unjudged


def _identity(arm: _Arm) -> dict[str, Any]:
    bundle, changed = arm.bundle, list(arm.choice.set_)
    told = {"name": bundle.name, "digest": bundle.digest, "as_of": bundle.as_of, "engine": bundle.engine}
    return {**told, "set": changed} if changed else told


def _subjects(part: Material, run: _Run, tally: Tally) -> list[Subject]:
    """Return every record that both bundles could judge: the very same requests for both."""
    from ..ab.cases import Subject
    from ..ab.swapping import swapped
    from ..corpus.blind import features
    from ..stages._prepare import prepare

    arms = run.arms
    first, second = (_judged(part.requests, arm, run, tally) for arm in arms)
    other = swapped(part.requests, run.plan.seed)
    made = [request for request in other if request is not None]
    admitted = iter(_judged(made, arms[0], run, tally))
    found = []
    for request, known, a, b, exchanged in zip(part.requests, part.known, first, second, other, strict=True):
        verdict = None if exchanged is None else next(admitted)
        if a is None or b is None:
            continue
        seen = features(prepare(request["record"], arms[0].bundle.limits))
        bare = not request["record"]["traces"]
        found.append(Subject(group_of(request, known), seen, bare, known, a, b, verdict.admitted if verdict else None))
    return found


def _judged(requests: Sequence[Any], arm: _Arm, run: _Run, tally: Tally) -> list[Verdict | None]:
    if run.bulk is not None:
        return run.bulk.judged(requests, arm.bundle, tally.add)
    return judged_in_chunks(requests, *arm, run.jobs, run.kept, tally.add)


def _curves(part: Material, run: _Run, tally: Tally) -> dict[str, Any]:
    from ..ab.sweeping import curves, points_of, sweeper

    bundle = run.arms[0].bundle
    points = points_of(bundle)
    said = [[point.setting, str(point.value)] for point in points]
    rows = _looked(part, Task(sweeper, (said,)), run, tally)
    return curves(bundle, points, [(case, row) for row, case in rows], run.plan)


def _examples(part: Material, run: _Run, tally: Tally) -> list[dict[str, Any]]:
    from ..ab.examples import calibration_examples, calibrator

    return calibration_examples(_looked(part, Task(calibrator), run, tally), run.shown, run.plan.seed)


def _looked(part: Material, task: Task, run: _Run, tally: Tally) -> list[tuple[Any, Case | None]]:
    """Return what a task says of each record of the first bundle, with its outcomes; bad requests were reported before."""
    arm = run.arms[0]
    rows = worked_in_chunks(part.requests, task, arm.choice, arm.bundle, jobs=run.jobs, kept=run.kept, note=tally.add)
    cases = [case_of(request, known) for request, known in zip(part.requests, part.known, strict=True)]
    return [(row, case) for row, case in zip(rows, cases, strict=True) if not isinstance(row, ReflectGateError)]
