"""`reflect-gate queue migrate`: move the queue between a folder and a server."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import click

from .._canonical import canonical_bytes
from ..errors import ReflectGateError, Source
from ._app import LazyGroup
from ._errors import store_errors
from ._options import examples, format_option
from ._output import COULD_NOT_RUN, OK, open_output

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reflect_store.queue.moving import Moved

__all__ = ["QUEUE_SCHEMA", "queue"]

QUEUE_SCHEMA: Final = "urn:reflect-gate:schema:queue-report:1"
_SIDES: Final = ("files", "postgres")


@click.group(cls=LazyGroup, no_args_is_help=False)
def queue() -> None:
    """Move the queue between a folder and a server.

    `reflect-gate reflect` looks after the jobs in it. docs/queue.md has the guarantees of both.
    """


@queue.command
@click.option("--from", "source", type=click.Choice(_SIDES), required=True, help="Where the jobs are.")
@click.option("--to", "target", type=click.Choice(_SIDES), required=True, help="Where they are to be.")
@format_option("text", "json")
@examples(
    "REFLECT_GATE_QUEUE=postgresql://gate@db.example/queue reflect-gate queue migrate --from files --to postgres",
    "REFLECT_GATE_QUEUE=postgresql://gate@db.example/queue reflect-gate queue migrate --from postgres --to files --format json",
)
def migrate(source: str, target: str, format_: str) -> int:
    """Move every job, dead letter and expired job to the other place, and what was done.

    `files` is the folder of the queue, `postgres` what REFLECT_GATE_QUEUE names. Interrupted anywhere, nothing is lost and
    nothing is there twice: run it again, and it goes on. Jobs that are being worked on stay, so stop the workers first. Exit
    code 1 where such jobs were left, 0 where none were.
    """
    from reflect_store.queue import open_at
    from reflect_store.queue.moving import move, side_of

    if source == target:
        raise click.UsageError("`--from` and `--to` are the same place")
    where = _places()
    from ..capture.settings import read_settings

    settings = read_settings().queue()
    with store_errors(), ExitStack() as stack:
        opened = [stack.enter_context(open_at(where[side], settings)) for side in (source, target)]
        moved = move(*map(side_of, opened))
        _print(format_, opened[0].place, opened[1].place, moved)
    return OK if moved.whole else COULD_NOT_RUN


def _places() -> dict[str, Path | str]:
    from ..capture.settings import read_settings
    from ..config import QUEUE_VARIABLE, queue_address

    address = queue_address()
    if not address:
        raise ReflectGateError("settings", "the server is not named: set it to `postgresql://…`", Source(QUEUE_VARIABLE))
    return {"files": read_settings().folder, "postgres": address}


def _print(format_: str, source: str, target: str, moved: Moved) -> None:
    with open_output(None) as sink:
        if format_ == "json":
            fields = {"from": source, "to": target, **moved._asdict()}
            sink.json(canonical_bytes({"schema": QUEUE_SCHEMA, "command": "migrate", **fields}) + b"\n")
        else:
            sink.text("".join(f"{line}\n" for line in _lines(source, target, moved)))


def _lines(source: str, target: str, moved: Moved) -> Iterator[str]:
    yield f"{source} -> {target}"
    yield f"moved       {moved.waiting} jobs, {moved.dead} dead letters, {moved.expired} expired jobs"
    yield f"done        {moved.done} that were done before are known there now"
    if moved.busy:
        yield f"in work     {moved.busy} stay: stop the workers and run this again"
    if moved.unreadable:
        yield f"unreadable  {moved.unreadable} stay"
