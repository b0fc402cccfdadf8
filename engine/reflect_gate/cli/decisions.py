"""`reflect-gate decisions`: what the gate decided, and whether it would decide so again."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from ..report._paint import Paint
from ._app import LazyGroup
from ._options import BundleChoice, bundle_options, examples, format_option
from ._output import OK, UNDECIDED, note, open_output
from ._store import bar, opened, opened_or_empty, say, store_option
from .lessons import after_option, limit_option, oldest_option

if TYPE_CHECKING:
    from reflect_store import EventStore

    from ..memory.rejudging import Replayed
    from ..policy import Bundle

__all__ = ["REPORT", "decisions"]

REPORT = "urn:reflect-gate:schema:decisions-report:1"
FIELDS = (
    "decision_id",
    "failure_id",
    "signature",
    "status",
    "reason",
    "lesson_id",
    "bundle",
    "statement",
    "scope",
    "event",
    "time",
)
"""What a list tells of a decision."""

MOST = 100_000
"""Decisions that one replay names in its report."""


@click.group(cls=LazyGroup, no_args_is_help=False)
def decisions() -> None:
    """List and show what the gate decided, and judge it again.

    A store keeps every decision with all that it was made on: the record, the reflection, and what was seen of the store.
    """


@decisions.command("list")
@store_option
@click.option("--status", type=click.Choice(["admitted", "undecided", "refused"]), help="Only decisions of this status.")
@click.option("--failure", metavar="ID", help="Only decisions on this failure.")
@click.option("--signature", metavar="HEX", help="Only decisions on failures of this signature.")
@limit_option
@after_option
@oldest_option
@format_option("text", "json")
@examples("reflect-gate decisions list", "reflect-gate decisions list --status refused --limit 10 --format json")
def list_(
    store_file: str | None,
    status: str | None,
    failure: str | None,
    signature: str | None,
    limit: int,
    after: str | None,
    oldest: bool,
    format_: str,
) -> None:
    """List decisions, the newest first."""
    chosen = {"status": status, "failure_id": failure, "signature": signature}
    where = {column: value for column, value in chosen.items() if value is not None}
    with opened_or_empty(store_file) as store:
        page = store.page("decisions", where, after=after, limit=limit, newest=not oldest)
        text = "\n".join(map(_line, page.rows)) + (f"\nmore: --after {page.cursor}" if page.cursor else "")
        fields = {"decisions": [{name: row[name] for name in FIELDS if name in row} for row in page.rows], "cursor": page.cursor}
        say(format_, text, "list", store.backend.place, store.head(), schema=REPORT, **fields)
        if not page.rows and format_ == "text":
            note("no decisions to list", {"command": "list", "count": 0})


def _line(row: Mapping[str, Any]) -> str:
    from ..report._safe import one_line

    about = row["lesson_id"] or row["reason"] or "-"
    return f"{row['time'][:19]}Z  {row['decision_id']}  {row['status']:<9}  {about:<31}  {one_line(row['failure_id'], 60)}"


@decisions.command
@click.argument("decision")
@store_option
@format_option("text", "json")
@examples("reflect-gate decisions show 0b5d", "reflect-gate decisions show 0b5d --format json")
def show(decision: str, store_file: str | None, format_: str) -> None:
    """Show one decision in full, as `evaluate` printed it."""
    from ..memory.rejudging import kept
    from ..report.text import decision_text

    with opened(store_file, read_only=True) as store, open_output(None) as sink:
        found = kept(store, decision)
        if format_ == "text":
            sink.text(decision_text(found.decision.to_json(), found.request["reflection"], Paint(sink.coloured)))
        else:
            sink.json(found.decision.to_bytes() + b"\n")


@decisions.command
@click.argument("decision", nargs=-1)
@store_option
@click.option("--all", "all_", is_flag=True, help="Replay every decision of the store, the oldest first.")
@click.option("--now", is_flag=True, help="Judge against the store as it is now, instead of what was seen of it then.")
@bundle_options
@format_option("text", "json")
@examples(
    "reflect-gate decisions replay 0b5d",
    "reflect-gate decisions replay --all --format json",
    "reflect-gate decisions replay 0b5d --set grounding.min_anchor_overlap=0.6",
)
def replay(decision: tuple[str, ...], store_file: str | None, all_: bool, now: bool, choice: BundleChoice, format_: str) -> int:
    """Judge stored decisions again.

    Unless options say otherwise, by the bundle of the same name, on the day and the engine of the decision. Exit code 0 when
    every one has the same bytes, 4 when one differs: then what changed is named, as the bundle's digest, a measure's version,
    the engine, or what is seen of the store.
    """
    if bool(decision) == all_:
        raise click.UsageError("give ids of decisions, or `--all`")
    gc.enable()
    with opened(store_file, read_only=True) as store, bar("replayed") as progress:
        whole = store.count("decisions") if all_ else len(decision)
        done = []
        for count, replayed in enumerate(_replayed(store, decision, choice, now), 1):
            done.append(_document(replayed))
            progress(count, whole)
        text = "\n".join(line for entry in done for line in _told(entry))
        fields = {"replayed": done[:MOST], "identical": sum(entry["identical"] for entry in done)}
        say(format_, text, "replay", store.backend.place, store.head(), schema=REPORT, **fields)
    return OK if all(entry["identical"] for entry in done) else UNDECIDED


def _replayed(store: EventStore, chosen: tuple[str, ...], choice: BundleChoice, now: bool) -> Iterator[Replayed]:
    from ..memory.rejudging import kept, replay

    known: dict[tuple[str, str, str], Bundle] = {}
    names = chosen or (row["decision_id"] for row in store.iterate("decisions"))
    for name in names:
        made_by = kept(store, name).decision.bundle
        key = (made_by["name"], made_by["as_of"], made_by["engine"])
        if key not in known:
            known[key] = _bundle(choice, made_by)
        yield replay(store, name, known[key], on_current_view=now)


def _bundle(choice: BundleChoice, made_by: Mapping[str, Any]) -> Bundle:
    """Return the bundle to judge by: the decision's own, as far as the options do not say another."""
    # An engine that is missing here is a difference to name, not a reason to give up.
    engine = choice.engine or ("compiled" if made_by["engine"] == "compiled" else None)
    same = choice._replace(name=choice.name or made_by["name"], as_of=choice.as_of or made_by["as_of"], engine=engine)
    return same.load()


def _document(replayed: Replayed) -> dict[str, Any]:
    return {
        "decision_id": replayed.was.decision_id,
        "identical": replayed.identical,
        "was": replayed.was.status,
        "now": replayed.now.status,
        "changed": [difference._asdict() for difference in replayed.changed],
    }


def _told(entry: Mapping[str, Any]) -> Iterator[str]:
    from ..report._safe import one_line

    if entry["identical"]:
        yield f"{entry['decision_id']}  identical  {entry['was']}"
        return
    yield f"{entry['decision_id']}  differs  {entry['was']}, now {entry['now']}"
    for difference in entry["changed"]:
        yield f"    {difference['what']}: {one_line(difference['was'], 120)}, now {one_line(difference['now'], 120)}"
