"""`reflect-gate schema`: the published schemas of what goes in and comes out."""

from __future__ import annotations

import json
from typing import Final

import click
from click.shell_completion import CompletionItem

from .._canonical import canonical_bytes
from ._options import examples, format_option, output_option
from ._output import open_output

__all__ = ["LIST_SCHEMA", "schema"]

LIST_SCHEMA: Final = "urn:reflect-gate:schema:schema-list:1"


def _complete_name(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from .. import schemas

    found = [name for name in schemas.names() if name.startswith(incomplete)]
    return [CompletionItem(name, help=schemas.schema(name)["title"]) for name in found]


@click.command
@click.argument("name", required=False, shell_complete=_complete_name)
@format_option("text", "json")
@output_option
@examples(
    "reflect-gate schema",
    "reflect-gate schema request",
    "reflect-gate schema urn:reflect-gate:schema:termination:1 -o termination.schema.json",
)
def schema(name: str | None, format_: str, output: str | None) -> None:
    """List the published schemas, or print one.

    NAME is a schema's name, or the `urn:` by which documents name it. A schema is JSON Schema 2020-12 in either form, with
    examples that are valid; what it refers to has a name of its own. For editors of policy files see `policy schema`.
    """
    from .. import schemas

    with open_output(output) as sink:
        if name is not None:
            document = schemas.schema(_plain_name(name))
            sink.text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
            return
        listed = [_entry(one) for one in schemas.names()]
        if format_ == "json":
            sink.json(canonical_bytes({"schema": LIST_SCHEMA, "schemas": listed}) + b"\n")
            return
        width = max(len(entry["name"]) for entry in listed)
        sink.text("".join(f"{entry['name']:<{width}}  {entry['title']}\n" for entry in listed))


def _entry(name: str) -> dict[str, str]:
    from .. import schemas

    document = schemas.schema(name)
    return {"name": name, "urn": document["$id"], "title": document["title"], "description": document["description"]}


def _plain_name(name: str) -> str:
    """Return the name that a urn holds, and a name as it is."""
    from .. import schemas

    before, after = schemas.URN.split("{}")
    return name.removeprefix(before).removesuffix(after) if name.startswith(before) else name
