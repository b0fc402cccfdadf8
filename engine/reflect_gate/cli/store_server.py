"""`reflect-gate store roles|index`: what only a store on a server needs."""

from __future__ import annotations

import click

from .._canonical import canonical_bytes
from ._options import examples, format_option
from ._output import open_output
from ._store import opened, say, store_option

__all__ = ["ROLES_SCHEMA", "index", "roles"]

ROLES_SCHEMA = "urn:reflect-gate:schema:store-roles:1"

_EVERY = 60.0


@click.command
@format_option("text", "json")
@examples("reflect-gate store roles | psql --dbname lessons")
def roles(format_: str) -> None:
    """Print the SQL that makes the roles of a store on a server.

    An administrator runs it after `store init`, and again after an upgrade that brought a new layout. docs/postgres.md has the
    rights of each role.
    """
    from reflect_store.postgres import roles as told

    with open_output(None) as sink:
        if format_ == "json":
            sink.json(canonical_bytes({"schema": ROLES_SCHEMA, "sql": told()}) + b"\n")
        else:
            sink.text(told())


@click.command
@store_option
@click.option("--follow", is_flag=True, help="Go on until interrupted: writers wake it, and it looks by itself now and then.")
@click.option(
    "--every",
    type=click.FloatRange(0.1, 3_600),
    default=_EVERY,
    show_default=True,
    metavar="SECONDS",
    help="With `--follow`, how long it waits for a writer before it looks by itself.",
)
@format_option("text", "json")
@examples("reflect-gate store index", "reflect-gate store index --follow --every 10")
def index(store_file: str | None, follow: bool, every: float, format_: str) -> None:
    """Bring this machine's search index up to date with a store on a server.

    A search does the same before it answers, so that nothing has to run; where it is followed, the first search is quicker. The
    index is a copy in the cache folder. A store in a file holds its own.
    """
    with opened(store_file, read_only=True) as kept:
        for at in kept.follow(every):
            head = kept.head()
            behind = head.seq - at.seq
            told = f"ok: {kept.backend.place}: event {at.seq}, {behind} behind"
            say(format_, told, "index", kept.backend.place, head, indexed=at.seq)
            if not follow:
                return
