"""`reflect-gate lessons`: what was learned, what became of it and why, and what a person changes by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from ..report._paint import Paint
from ._app import LazyGroup
from ._ids import complete_lesson, lesson_named
from ._options import examples, format_option
from ._output import note, open_output
from ._store import head_document, opened, opened_or_empty, say, store_option
from .lessons_effect import effect

if TYPE_CHECKING:
    from reflect_store import EventStore, Page

    from ..memory.curating import Changed

__all__ = ["REPORT", "lessons"]

REPORT = "urn:reflect-gate:schema:lessons-report:1"

LESSON = ("id", "standing", "level", "signatures", "since_level", "withdrawn_by", "decision_id", "time", "lesson", "envelope")
CANDIDATE = (
    *("candidate_id", "decision_id", "failure_id", "signature", "statement", "scope", "origin", "reason", "conflicts", "status"),
    *("outcome", "event", "time"),
)
FLAG = (
    *("flag_id", "kind", "lesson_ids", "candidate_id", "withdraws", "rule", "reason", "status", "resolution", "event", "time"),
)
LEVELS = ("episodic", "procedural", "meta_strategy")
STANDINGS = ("active", "flagged", "superseded", "retired")

limit_option = click.option(
    "-n", "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Entries at most."
)
after_option = click.option("--after", metavar="CURSOR", help="Go on after this cursor, which the page before ended with.")
oldest_option = click.option("--oldest", is_flag=True, help="The oldest first.")
lesson_argument = click.argument("lesson", shell_complete=complete_lesson)
reason_option = click.option("--reason", required=True, help="Why, for the record.")


def _paging(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a list."""
    for option in (oldest_option, after_option, limit_option):
        function = option(function)
    return function


@click.group(cls=LazyGroup, no_args_is_help=False)
def lessons() -> None:
    """List lessons, say what became of one and why, retire one, undo a change.

    docs/lessons.md tells a lesson's life. Every change is an event; `undo` takes one back by another event.
    """


def _where(**filters: str | None) -> dict[str, str]:
    return {column: value for column, value in filters.items() if value is not None}


def _listed(
    format_: str, store: EventStore, command: str, name: str, entries: list[Any], lines: Iterable[str], page: Page
) -> None:
    """Print a page; the cursor of the next one stands at its end."""
    text = "\n".join(lines)
    if page.cursor is not None:
        text += f"\nmore: --after {page.cursor}"
    fields = {name: entries, "cursor": page.cursor}
    say(format_, text, command, store.backend.place, store.head(), schema=REPORT, **fields)
    if not entries and format_ == "text":
        note(f"no {name} to list", {"command": command, "count": 0})


def lesson_entry(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a lesson as the report has it."""
    return _chosen(row, LESSON)


def _chosen(row: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """Return what the report has of a row."""
    return {field: row[field] for field in fields if field in row}


def _lesson_line(row: Mapping[str, Any]) -> str:
    from ..report._safe import one_line

    lesson = row["lesson"]
    counts = "/".join(str(lesson[f"times_{name}"]) for name in ("applied", "helped", "hurt"))
    mark = "!" if row["envelope"]["red_flag"] else " "
    standing = "" if row["standing"] == "active" else f" [{row['standing']}]"
    scope = one_line(lesson["scope"], 48) or "anywhere"
    return f"{row['id']} {mark} {row['level']:<13} {counts:>8}  {scope}  {one_line(lesson['statement'], 100)}{standing}"


@lessons.command("list")
@store_option
@click.option(
    "--standing", type=click.Choice([*STANDINGS, "all"]), default="active", show_default=True, help="Where the lessons stand."
)
@click.option("--level", type=click.Choice(LEVELS), help="Only lessons of this level.")
@click.option("--signature", metavar="HEX", help="Only lessons learned from failures of this signature.")
@_paging
@format_option("text", "json")
@examples(
    "reflect-gate lessons list",
    "reflect-gate lessons list --level procedural --limit 10",
    "reflect-gate lessons list --standing retired --format json",
)
def list_(
    store_file: str | None,
    standing: str,
    level: str | None,
    signature: str | None,
    limit: int,
    after: str | None,
    oldest: bool,
    format_: str,
) -> None:
    """List lessons, the newest first.

    Before the first lesson there is no store, and nothing to list.

    A line has the id, `!` where it blames outward, the level, how often it was applied, helped and hurt, its scope and what it
    says.
    """
    where = _where(standing=None if standing == "all" else standing, level=level, signature=signature)
    with opened_or_empty(store_file) as store:
        page = store.page("lessons", where, after=after, limit=limit, newest=not oldest)
        _listed(format_, store, "list", "lessons", [lesson_entry(row) for row in page.rows], map(_lesson_line, page.rows), page)


@lessons.command
@lesson_argument
@store_option
@format_option("text", "json", "block")
@examples("reflect-gate lessons show lesson-1f0c", "reflect-gate lessons show lesson-1f0c --format json")
def show(lesson: str, store_file: str | None, format_: str) -> None:
    """Show one lesson as it stands.

    LESSON is an id, or its first six characters or more, with or without `lesson-`; `history` and `why` take the same.

    `block` prints LESSON, MISTAKE, CORRECTION, TRIGGER and TAGS, one a line.
    """
    from ..memory.tracing import lesson_row
    from ..report.lessons import lesson_text

    with opened(store_file, read_only=True) as store:
        row = lesson_row(store, lesson_named(store, lesson))
        fields = {"lessons": [lesson_entry(row)]}
        text = _block(store, row) if format_ == "block" else lesson_text(row)
        say(format_, text, "show", store.backend.place, store.head(), schema=REPORT, **fields)


def _block(store: EventStore, row: Mapping[str, Any]) -> str:
    from ..memory.tracing import inputs_of
    from ..report.block import lesson_block

    inputs = inputs_of(store, row["id"]) or {}
    return lesson_block(row["lesson"]["statement"], inputs.get("reflection"), inputs.get("trigger", ""), inputs.get("tags", ()))


@lessons.command
@lesson_argument
@store_option
@limit_option
@after_option
@format_option("text", "json")
@examples("reflect-gate lessons history lesson-1f0c")
def history(lesson: str, store_file: str | None, limit: int, after: str | None, format_: str) -> None:
    """List the events of a lesson's life, in the order of time.

    A line has the time, the event's id (which `undo` takes), what happened, and the rule that caused it.
    """
    from reflect_store import Page

    from ..memory.tracing import history as events_of
    from ..report.lessons import event_line

    with opened(store_file, read_only=True) as store:
        events, cursor = events_of(store, lesson_named(store, lesson), after=after, limit=limit)
        _listed(format_, store, "history", "events", events, map(event_line, events), Page((), cursor))


@lessons.command
@lesson_argument
@store_option
@format_option("text", "json")
@examples("reflect-gate lessons why lesson-1f0c")
def why(lesson: str, store_file: str | None, format_: str) -> None:
    """Say what is behind a lesson.

    The decision that admitted it with its rules and where they stand, the evidence word for word, what corroborated or
    contradicted it since, and the rule behind each change of its level.
    """
    from ..memory.tracing import why as grounds_of
    from ..report.lessons import why_text

    with opened(store_file, read_only=True) as store, open_output(None) as sink:
        lesson = lesson_named(store, lesson)
        found = grounds_of(store, lesson)
        if format_ == "text":
            sink.text(why_text(lesson, found, Paint(sink.coloured)))
        else:
            place = {"command": "why", "store": store.backend.place, "head": head_document(store.head())}
            _json(sink, {"schema": REPORT, **place, "why": {"lesson_id": lesson, **found}})


def _json(sink: Any, document: Mapping[str, Any]) -> None:
    from .._canonical import canonical_bytes

    sink.json(canonical_bytes(document) + b"\n")


@lessons.command
@store_option
@click.option("--status", type=click.Choice(["held", "released", "all"]), default="held", show_default=True, help="Which ones.")
@click.option("--signature", metavar="HEX", help="Only candidates of this failure signature.")
@_paging
@format_option("text", "json")
@examples("reflect-gate lessons candidates", "reflect-gate lessons candidates --status released")
def candidates(
    store_file: str | None, status: str, signature: str | None, limit: int, after: str | None, oldest: bool, format_: str
) -> None:
    """List candidates that wait for evidence, the newest first."""
    from ..report.lessons import candidate_line

    where = _where(status=None if status == "all" else status, signature=signature)
    with opened_or_empty(store_file) as store:
        page = store.page("candidates", where, after=after, limit=limit, newest=not oldest)
        entries = [_chosen(row, CANDIDATE) for row in page.rows]
        _listed(format_, store, "candidates", "candidates", entries, map(candidate_line, page.rows), page)


@lessons.command
@store_option
@click.option("--status", type=click.Choice(["open", "resolved", "all"]), default="open", show_default=True, help="Which ones.")
@_paging
@format_option("text", "json")
@examples("reflect-gate lessons flags", "reflect-gate lessons flags --status all --format json")
def flags(store_file: str | None, status: str, limit: int, after: str | None, oldest: bool, format_: str) -> None:
    """List what needs adjudication, the newest first.

    A flag names the lessons that are in doubt and why; a lesson stays in use unless the flag says that it withdraws it.
    """
    from ..report.lessons import flag_line

    where = _where(status=None if status == "all" else status)
    with opened_or_empty(store_file) as store:
        page = store.page("flags", where, after=after, limit=limit, newest=not oldest)
        entries = [_chosen(row, FLAG) for row in page.rows]
        _listed(format_, store, "flags", "flags", entries, map(flag_line, page.rows), page)


@lessons.command
@lesson_argument
@store_option
@reason_option
@format_option("text", "json")
@examples("reflect-gate lessons retire lesson-1f0c --reason 'the API that it speaks of is gone'")
def retire(lesson: str, store_file: str | None, reason: str, format_: str) -> None:
    """Take a lesson out of use.

    It stays in the store with its history; `undo` brings it back.
    """
    from ..memory.curating import retire as retired

    with opened(store_file) as store:
        _changed(format_, store, "retire", f"ok: {lesson}: retired", retired(store, lesson, reason=reason))


@lessons.command
@click.argument("event")
@store_option
@reason_option
@format_option("text", "json")
@examples("reflect-gate lessons undo 5f0c2a --reason 'retired by mistake'")
def undo(event: str, store_file: str | None, reason: str, format_: str) -> None:
    """Take an event back by a later one.

    EVENT is an id from `lessons history`. A retirement, supersession, demotion or promotion is taken back by restoring the
    lesson, an admission by retiring it, a flag by resolving it, a held candidate by releasing it. Evidence and outcomes stay.
    """
    from ..memory.curating import undo as taken_back

    with opened(store_file) as store:
        _changed(format_, store, "undo", f"ok: {event}: undone", taken_back(store, event, reason=reason))


def _changed(format_: str, store: EventStore, command: str, text: str, done: Changed) -> None:
    told = "\n".join([text, *[f"event {event}" for event in done.events]])
    fields = {"subject": done.subject, "written": list(done.events)}
    say(format_, told, command, store.backend.place, store.head(), schema=REPORT, **fields)


lessons.add_command(effect)
