"""`reflect-gate ab`: two bundles on the same recorded candidates, and what that decides."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .._canonical import canonical_bytes, digest
from ..report._paint import Paint
from ._comparing import Material, Tally, group_of, judged_in_chunks, read_material, split
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
from ._output import INVALID, OK, open_output

if TYPE_CHECKING:
    from ..ab.cases import Subject
    from ..ab.comparing import Plan
    from ..ab.kept import Kept
    from ..policy import Bundle

__all__ = ["AB_SCHEMA", "ab"]

AB_SCHEMA = "urn:reflect-gate:schema:ab:1"


class _Arm(NamedTuple):
    choice: BundleChoice
    bundle: Bundle


@click.command
@click.argument("requests", default="-", metavar="[REQUESTS|-]")
@click.option("--labels", metavar="FILE", required=True, help="What became of each request, from `corpus labels`.")
@click.option("--a", "a", metavar="BUNDLE", shell_complete=complete_bundle, help="The bundle that may win; else the default one.")
@click.option(
    "--b",
    "--baseline",
    "b",
    metavar="BUNDLE",
    default="introspect",
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
@click.option(
    "--resume", metavar="FOLDER", type=click.Path(file_okay=False), help="Keep verdicts here, and go on from those that are."
)
@seed_option
@click.option("--resamples", type=click.IntRange(40, 100_000), default=1_000, show_default=True, help="Resamples of groups.")
@jobs_option
@format_option("text", "json", "markdown")
@output_option
@examples(
    "reflect-gate ab requests.ndjson --labels labels.ndjson",
    "reflect-gate ab --a structured --b episodic-line-level requests.ndjson --labels labels.ndjson --jobs 4 --resume runs/",
    "reflect-gate ab requests.ndjson --labels labels.ndjson --frozen --format json -o ab.json",
)
def ab(  # noqa: PLR0913, PLR0917 - click hands over one argument an option
    requests: str,
    labels: str,
    a: str | None,
    b: str,
    policies: str | None,
    set_: tuple[str, ...],
    as_of: str | None,
    engine: str | None,
    group: str,
    folds: int,
    frozen: bool,
    resume: str | None,
    seed: int,
    resamples: int,
    jobs: int,
    format_: str,
    output: str | None,
) -> int:
    """Compare two bundles on the same requests, and say which one the figures are for.

    The key measure is lesson-admission precision: the share of what a bundle admits that helped. Beside it stand the share
    rejected as ungrounded, harm, recall, the best gates that do not read the reflection, gates that draw lots, and swapped
    reflections. Intervals resample whole groups. One task in five is kept apart by hash, and reported with `--frozen` alone.
    Exit code 0 whatever is decided, or 3 where a request was invalid.
    """
    from ..ab.comparing import Plan
    from ..ab.kept import Kept
    from ..report.ab import ab_markdown, ab_text

    base = BundleChoice(policies=policies, as_of=as_of, engine=engine)
    arms = [_arm(base._replace(name=a, set_=set_)), _arm(base._replace(name=b))]
    gc.enable()
    material = read_material(requests, labels, group)
    document, unjudged = _document(material, arms, Plan(seed, resamples, folds), Kept(resume), jobs, frozen)
    with open_output(output) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(document) + b"\n")
        else:
            sink.text(ab_markdown(document) if format_ == "markdown" else ab_text(document, Paint(sink.coloured)))
    return INVALID if material.invalid or unjudged else OK


def _arm(choice: BundleChoice) -> _Arm:
    bundle = choice.load()
    # The day is fixed: a run past midnight must not judge by two bundles.
    return _Arm(choice.on_day(bundle.as_of), bundle)


def _document(
    material: Material, arms: Sequence[_Arm], plan: Plan, kept: Kept, jobs: int, with_frozen: bool
) -> tuple[dict[str, Any], int]:
    from ..ab.comparing import CAVEATS, section
    from ..ab.deciding import decide, targets

    open_part, apart = split(material)
    parts = [open_part, apart] if with_frozen else [open_part]
    tally = Tally(3 * sum(len(part.requests) for part in parts))
    try:
        found = [_subjects(part, arms, plan, kept, jobs, tally) for part in parts]
    finally:
        tally.close()
    names = (arms[0].bundle.name, arms[1].bundle.name)
    sections = [section(subjects, names, plan) for subjects in found]
    judged = sum(len(subjects) for subjects in found)
    unjudged = sum(len(part.requests) for part in parts) - judged
    document = {
        "schema": AB_SCHEMA,
        "arms": {key: _identity(arm.bundle) for key, arm in zip("ab", arms, strict=True)},
        "plan": plan._asdict(),
        "requests": {
            "judged": judged,
            "invalid": material.invalid + unjudged,
            "kept_apart": len(apart.requests),
            "digest": digest([request for part in parts for request in part.requests]),
        },
        "main": sections[0],
        "decision": decide(sections[0], names),
        "targets": targets(sections[0]),
        "caveats": list(CAVEATS),
        "frozen": {"section": sections[1], "targets": targets(sections[1])} if with_frozen else None,
    }
    return document, unjudged


def _identity(bundle: Bundle) -> dict[str, Any]:
    return {"name": bundle.name, "digest": bundle.digest, "as_of": bundle.as_of, "engine": bundle.engine}


def _subjects(part: Material, arms: Sequence[_Arm], plan: Plan, kept: Kept, jobs: int, tally: Tally) -> list[Subject]:
    """Return every record that both bundles could judge: the very same requests for both."""
    from ..ab.cases import Subject
    from ..ab.swapping import swapped
    from ..corpus.blind import features
    from ..stages._prepare import prepare

    first, second = (judged_in_chunks(part.requests, *arm, jobs, kept, tally.add) for arm in arms)
    other = swapped(part.requests, plan.seed)
    made = [request for request in other if request is not None]
    admitted = iter(judged_in_chunks(made, *arms[0], jobs, kept, tally.add))
    found = []
    for request, known, a, b, exchanged in zip(part.requests, part.known, first, second, other, strict=True):
        verdict = None if exchanged is None else next(admitted)
        if a is None or b is None:
            continue
        seen = features(prepare(request["record"], arms[0].bundle.limits))
        bare = not request["record"]["traces"]
        found.append(Subject(group_of(request, known), seen, bare, known, a, b, verdict.admitted if verdict else None))
    return found
