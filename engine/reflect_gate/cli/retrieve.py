"""`reflect-gate retrieve`: the few lessons that fit a task, or none."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from .._canonical import canonical_bytes
from ..errors import ReflectGateError
from ._options import BundleChoice, bundle_options, examples, format_option
from ._output import OK, UNDECIDED, colour, open_output, warn
from ._server import server_option
from ._store import opened, opened_or_empty, store_option

if TYPE_CHECKING:
    from reflect_store import EventStore

    from ..memory.retrieving import Query, Recalled
    from ..policy import Bundle

__all__ = ["RETRIEVAL_SCHEMA", "logged_by", "retrieval_document", "retrieve"]

RETRIEVAL_SCHEMA = "urn:reflect-gate:schema:retrieval:1"
MOST_BYTES = 4 * 65_536
"""Bytes of a text that is read from stdin."""

_UNLOGGED = frozenset({"store-busy", "store-denied", "store-full", "store-io", "store-read-only"})
"""Errors of a store that is read all the same, and keeps no record of what was shown."""

_PLACE = (
    click.option("--repository", metavar="NAME", help="Where the task lies, as acme/shop or a URL."),
    click.option("--language", metavar="NAME", help="Its programming language."),
    click.option("--path", "paths", metavar="PATH", multiple=True, help="A file or folder that it touches; may be repeated."),
    click.option("--task", metavar="TEXT", help="Its name, as in the scope of a lesson."),
    click.option("--session", metavar="ID", help="The session of the agent, for the log."),
    click.option("--commit", metavar="HASH", help="The commit that the agent started from, for the log."),
)


def _place_options(function: Any) -> Any:
    for option in reversed(_PLACE):
        function = option(function)
    return function


def _signature(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"[0-9a-f]{64}", value):
        raise click.BadParameter("a signature is 64 lower-case hexadecimal digits, as a decision shows it")
    return value


@click.command
@click.argument("text", required=False, metavar="[TEXT|-]")
@click.option("--error", metavar="TEXT|-", help="An error text as a tool printed it; its class and signature are read off it.")
@click.option("--signature", metavar="HEX", callback=_signature, help="The failure's signature, where it is known already.")
@click.option("--hint", "hints", metavar="TAG", multiple=True, help="A tag, or a scope term such as lang:go; may be repeated.")
@click.option("--hypothesis", metavar="TEXT", help="What is supposed already, such as the lesson that would help (HyDE).")
@_place_options
@click.option(
    "--limit", type=click.IntRange(1, 5), default=3, show_default=True, help="Lessons at most; never more than five are shown."
)
@click.option("--no-log", is_flag=True, help="Keep no record of what was shown.")
@store_option
@server_option
@bundle_options
@format_option("text", "json", "context")
@examples(
    "reflect-gate retrieve 'total() fails for new sessions' --repository acme/shop --language python",
    "pytest 2>&1 | reflect-gate retrieve --error - --limit 1 --format context",
    "reflect-gate retrieve --hint lang:go --hint retries --hypothesis 'cap the backoff' --format json",
    "reflect-gate retrieve 'total() fails for new sessions' --server https://gate.example.org",
)
def retrieve(  # noqa: PLR0913, PLR0917 - click hands over one argument an option
    text: str | None,
    error: str | None,
    hypothesis: str | None,
    limit: int,
    no_log: bool,
    store_file: str | None,
    server: str | None,
    choice: BundleChoice,
    format_: str,
    **known: Any,
) -> int:
    """Offer the few lessons that fit a task, or none.

    TEXT is the task as stated; `-` reads it from stdin. Lessons of the same failure come first, then those whose scope and words
    match best. The context is made to be put before a model: under 2,000 characters, each lesson quoted with its source.

    What was shown is logged, so that `record` can say what it did; a store that cannot be written is read all the same.

    Exit code 0 when a lesson was found, 4 when none fits well enough; before the first lesson there is no store, and none fits.
    """
    from ..memory import retrieving

    query = _query(text, error, hypothesis, known)
    if server is not None:
        return _there(server, query, limit, no_log, format_, choice, store_file)
    bundle = choice.load()
    with ExitStack() as stack:
        kept, writable = _opened(stack, store_file, no_log)
        recalled = retrieving.retrieve(kept, query, bundle, limit=limit)
        if format_ == "context":
            from ..report.recalled import context

            recalled = recalled.first(context(recalled)[1])
        logged = writable and logged_by(kept, recalled, warn)
        place = kept.backend.place
    _print(recalled, logged, retrieval_document(recalled, logged, place, limit, bundle), format_)
    return OK if recalled.shown else UNDECIDED


def _there(
    server: str, query: Query, limit: int, no_log: bool, format_: str, choice: BundleChoice, store_file: str | None
) -> int:
    """Ask a server, and print as if the lessons were here."""
    from ._server import Server, here_alone, recalled_of

    here_alone(choice, store_file)
    asked = {key: value for key, value in query._asdict().items() if value}
    body = {**asked, "limit": limit, "log": not no_log, "for_context": format_ == "context"}
    with Server(server) as there:
        document = there.post("/v1/retrieve", body)
    _print(recalled_of(document), document["logged"], document, format_)
    return OK if document["status"] == "found" else UNDECIDED


def _query(text: str | None, error: str | None, hypothesis: str | None, known: dict[str, Any]) -> Query:
    from ..memory.retrieving import Query

    if text == "-" and error == "-":
        raise click.UsageError("only one text can be read from stdin")
    given = {key: value for key, value in known.items() if value}
    query = Query(_text(text), _text(error), hypothesis or "", **given)
    if query == Query(session=query.session, commit=query.commit):
        raise click.UsageError("say something of the task: its text, its error, where it lies")
    return query


def _text(given: str | None) -> str:
    return sys.stdin.buffer.read(MOST_BYTES).decode("utf-8", "replace") if given == "-" else given or ""


def _opened(stack: ExitStack, file: str | None, no_log: bool) -> tuple[EventStore, bool]:
    """Return the store, and whether it may be written; before the first lesson, an empty one."""
    if not no_log:
        try:
            return stack.enter_context(opened(file)), True
        except ReflectGateError as error:
            if error.code not in {"store-read-only", "store-missing"}:
                raise
    return stack.enter_context(opened_or_empty(file)), False


def logged_by(store: EventStore, recalled: Recalled, tell: Callable[[ReflectGateError], object]) -> bool:
    """Log what was shown; a store that cannot be written now is told, and is no reason to show nothing."""
    from reflect_store import StoreError

    from ..memory.retrieving import log

    try:
        return log(store, recalled)
    except StoreError as error:
        if error.code not in _UNLOGGED:
            raise
        tell(ReflectGateError(error.code, f"the retrieval is not logged: {error.message}"))
        return False


def retrieval_document(recalled: Recalled, logged: bool, place: str, limit: int, bundle: Bundle) -> dict[str, Any]:
    """Return the answer as a document (`retrieval.schema.json`); `place` names the store."""
    about = {"name": bundle.name, "digest": bundle.digest, "as_of": bundle.as_of}
    answer = {"retrieval_id": recalled.retrieval_id if logged else None, "logged": logged, **recalled.to_json()}
    return {"schema": RETRIEVAL_SCHEMA, "store": place, "limit": limit, "bundle": about, **answer}


def _print(recalled: Recalled, logged: bool, document: dict[str, Any], format_: str) -> None:
    from ..report._paint import Paint
    from ..report.recalled import context, recalled_text

    with open_output(None) as sink:
        if format_ == "json":
            sink.json(canonical_bytes(document) + b"\n")
        elif format_ == "context":
            sink.text(context(recalled, logged=logged)[0])
        else:
            sink.text(recalled_text(recalled, logged=logged, paint=Paint(colour(sys.stdout))))
