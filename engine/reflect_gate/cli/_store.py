"""What the `store` commands share: opening the store, its errors as the program's, progress, and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click

from .._canonical import canonical_bytes
from ..config import STORE_VARIABLE, store_path
from ..errors import ReflectGateError
from ..report._safe import plain
from ._batch import Progress
from ._errors import store_errors
from ._output import Sink, note, open_output

if TYPE_CHECKING:
    from reflect_store import EventStore, Head, Place

__all__ = ["bar", "head_document", "opened", "opened_or_empty", "say", "schema_check", "store_option"]


SCHEMA = "urn:reflect-gate:schema:store-report:1"

store_option = click.option(
    "--store",
    "store_file",
    metavar="FILE|URL",
    type=click.Path(dir_okay=False),
    help=f"The store's file or server (postgresql://...); else {STORE_VARIABLE}, else store.db in the home folder.",
)


@contextmanager
def opened(file: str | None, *, create: bool = False, read_only: bool = False) -> Iterator[EventStore]:
    """Yield the store that the command line names."""
    from reflect_store import open_store

    with store_errors(), open_store(store_path(file), create=create, read_only=read_only) as store:
        yield store


@contextmanager
def opened_or_empty(file: str | None) -> Iterator[EventStore]:
    """Yield the store to be read; before the first lesson, an empty one that is kept nowhere, and a remark that there is none.

    A store that the command line names must be there, and so must one on a server.
    """
    with ExitStack() as stack:
        try:
            store = stack.enter_context(opened(file, read_only=True))
        except ReflectGateError as error:
            place = store_path(file)
            if error.code != "store-missing" or file is not None or isinstance(place, str):
                raise
            note(f"{plain(str(place))}: {error.message}", {"store": str(place), "exists": False})
            store = stack.enter_context(_empty(str(place)))
        yield store


def _empty(place: str) -> EventStore:
    from reflect_store import EventStore
    from reflect_store.memory import MemoryBackend

    return EventStore(MemoryBackend(place))


@contextmanager
def bar(done: str) -> Iterator[Callable[[int, int], None]]:
    """Yield what shows how far a long act is, on stderr."""
    shown: list[Progress] = []

    def show(count: int, whole: int) -> None:
        if not shown:
            shown.append(Progress(whole, done))
        shown[0].show(count, count)

    try:
        yield show
    finally:
        for progress in shown:
            progress.close()


def schema_check(document: object, place: Place) -> None:
    """Hold a line of an export to `event.schema.json`."""
    from .. import schemas

    schemas.check("event", document, str(place))


def head_document(head: Head) -> dict[str, Any]:
    """Return the end of a chain as data."""
    return {"seq": head.seq, "hash": head.hash}


def say(format_: str, text: str, command: str, place: str, head: Head, **fields: Any) -> None:
    """Print the result of a command to stdout: `text` for people, the report for programs."""
    with open_output(None) as sink:
        _write(sink, format_, text, {"schema": SCHEMA, "command": command, "store": place, "head": head_document(head), **fields})


def _write(sink: Sink, format_: str, text: str, document: dict[str, Any]) -> None:
    if format_ == "json":
        sink.json(canonical_bytes(document) + b"\n")
    else:
        sink.text("".join(f"{plain(line)}\n" for line in text.splitlines()))
