"""`reflect-gate record`: how a task ended for which lessons were recalled."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import click

from .._canonical import canonical_bytes
from ._ids import complete_lesson, complete_retrieval
from ._input import open_input
from ._options import BundleChoice, bundle_options, examples, format_option
from ._output import open_output
from ._server import server_option
from ._store import head_document, opened, store_option
from .lifecycle import bundle_document

if TYPE_CHECKING:
    from reflect_store import EventStore

    from ..memory.recording import Outcome, Proof, Recorded, Statistics
    from ..policy import Bundle
    from ..stages.record import After, Before

__all__ = ["RECORD_SCHEMA", "outcome_document", "record"]

RECORD_SCHEMA = "urn:reflect-gate:schema:outcome-report:1"
NOTE = 4_096
"""Characters of `--evidence`."""

_PLACE = (
    click.option("--task", metavar="TEXT", help="The task's name or statement; else that of the retrieval."),
    click.option("--repository", metavar="NAME", help="Where the task lies, as acme/shop or a URL; else that of the retrieval."),
    click.option("--commit", metavar="HASH", help="The commit that the agent started from."),
    click.option("--session", metavar="ID", help="The session of the agent."),
)


def _place_options(function: Any) -> Any:
    for option in reversed(_PLACE):
        function = option(function)
    return function


@click.command
@store_option
@click.option(
    "--retrieval",
    "retrieval_id",
    metavar="ID",
    shell_complete=complete_retrieval,
    help="The retrieval that showed the lessons, as `retrieve` printed it.",
)
@click.option(
    "--lesson",
    "lessons",
    metavar="ID",
    multiple=True,
    shell_complete=complete_lesson,
    help="A lesson that was used; of a retrieval, all of them by default.",
)
@click.option(
    "--outcome", "after", type=click.Choice(("resolved", "worse", "unchanged")), required=True, help="How the task ended."
)
@click.option(
    "--before",
    type=click.Choice(("failing", "passing", "unknown")),
    default="unknown",
    show_default=True,
    help="How it stood before the lessons were recalled; only a task that was failing can be helped.",
)
@click.option("--exit-code", type=click.IntRange(-(2**31), 2**32 - 1), help="What the check that was run exited with.")
@click.option("--report", metavar="FILE|-", help="The report of the tests that were run (JUnit XML).")
@click.option("--evidence", metavar="TEXT", help="What else shows the outcome, such as a link; counts for nothing by itself.")
@_place_options
@server_option
@bundle_options
@format_option("text", "json")
@examples(
    "reflect-gate record --retrieval 7c31... --outcome resolved --before failing --exit-code 0",
    "reflect-gate record --lesson lesson-5f0c... --task fix-cart --outcome worse --report junit.xml",
    "reflect-gate record --retrieval 7c31... --outcome resolved --exit-code 0 --server https://gate.example.org",
)
def record(  # noqa: PLR0913, PLR0917 - click hands over one argument an option
    store_file: str | None,
    retrieval_id: str | None,
    lessons: tuple[str, ...],
    after: After,
    before: Before,
    exit_code: int | None,
    report: str | None,
    evidence: str | None,
    server: str | None,
    choice: BundleChoice,
    format_: str,
    **place: str | None,
) -> None:
    """Record how a task ended, count it for its lessons, and sweep them.

    A lesson helped where the task was failing and is now resolved, and hurt where it got worse; both only where an exit code or a
    test report shows it, else it was applied. A claim that what was run contradicts is an error. Recording a task again adds
    nothing.
    """
    from ..memory import recording

    if retrieval_id is None and not lessons:
        raise click.UsageError("give `--retrieval` or `--lesson`")
    proof = _proof(exit_code, report, evidence)
    origin = {key: value for key, value in place.items() if value}
    outcome = recording.Outcome(after, before, proof, origin)
    if server is not None:
        _print(_there(server, outcome, retrieval_id, lessons, choice, store_file), format_)
        return
    bundle = choice.load()
    gc.enable()
    with opened(store_file) as kept:
        done = recording.record(kept, bundle, outcome, retrieval_id=retrieval_id, lessons=lessons)
        document = outcome_document(kept, bundle, outcome, done)
    _print(document, format_)


def _there(
    server: str,
    outcome: Outcome,
    retrieval_id: str | None,
    lessons: tuple[str, ...],
    choice: BundleChoice,
    store_file: str | None,
) -> dict[str, Any]:
    """Let a server record it, and return its document."""
    from ._server import Server, here_alone

    here_alone(choice, store_file)
    proof = outcome.proof
    given = {
        "retrieval": retrieval_id,
        "lessons": list(lessons) or None,
        "exit_code": proof.exit_code,
        "checks": proof.checks._asdict() if proof.checks else None,
        "evidence": proof.note or None,
    }
    body = {key: value for key, value in given.items() if value is not None}
    with Server(server) as there:
        return there.post("/v1/record", {"outcome": outcome.after, "before": outcome.before, **body, **outcome.origin})


def _proof(exit_code: int | None, report: str | None, evidence: str | None) -> Proof:
    from ..measure.checks import REPORT_BYTES, read_junit
    from ..memory.recording import Proof

    if exit_code is None and report is None and evidence is None:
        raise click.UsageError("give `--exit-code`, `--report` or `--evidence`")
    if evidence is not None and not 0 < len(evidence) <= NOTE:
        raise click.UsageError(f"`--evidence` takes 1 to {NOTE} characters")
    if report is None:
        return Proof(exit_code, None, evidence or "")
    with open_input(report) as (stream, name):
        checks = read_junit(stream.read(REPORT_BYTES + 1), name)
    return Proof(exit_code, checks, evidence or "")


def outcome_document(store: EventStore, bundle: Bundle, outcome: Outcome, done: Recorded) -> dict[str, Any]:
    """Return what was recorded as a document (`outcome-report.schema.json`)."""
    return {
        "schema": RECORD_SCHEMA,
        "store": store.backend.place,
        "head": head_document(store.head()),
        "bundle": bundle_document(bundle),
        "outcome_id": done.outcome_id,
        "added": done.added,
        "outcome": outcome.after,
        "before": outcome.before,
        "executed": outcome.proof.executed,
        "effects": [{"lesson_id": name, "effect": effect} for name, effect in done.effects.items()],
        "withheld": list(done.withheld),
        "lessons": [_lesson(name, counts) for name, counts in done.lessons.items()],
        "changes": [change.to_json() for change in done.changes],
    }


def _lesson(name: str, counts: Statistics) -> dict[str, Any]:
    intervals = {
        f"{what}_interval": None if found is None else [round(end, 4) for end in found]
        for what, found in counts.intervals.items()
    }
    times = {"times_applied": counts.applied, "times_helped": counts.helped, "times_hurt": counts.hurt}
    return {"lesson_id": name, **times, **intervals}


def _print(document: dict[str, Any], format_: str) -> None:
    from ..report.lifecycle import record_text

    with open_output(None) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(document) + b"\n")
        else:
            sink.text(record_text(document))
