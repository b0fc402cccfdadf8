"""`reflect-gate policy schema`: what editors complete and check policy files by."""

from __future__ import annotations

import json

import click

from ..errors import ReflectGateError, Source
from ..policy.headers import FOLDER, SCHEMA_OF
from ._files import write_text
from ._options import examples, output_option, policies_option
from ._output import OK, note, open_output

__all__ = ["schema"]


@click.command
@click.argument("kind", required=False, type=click.Choice(tuple(SCHEMA_OF)))
@policies_option
@click.option("--write", is_flag=True, help="Write all of them into the folder `schemas` beside the policies file.")
@output_option
@examples(
    "reflect-gate policy schema rules",
    "reflect-gate policy schema --write --policies ./policies.yaml",
)
def schema(kind: str | None, policies: str | None, write: bool, output: str | None) -> int:
    """Print the schema of a kind of policy file.

    The schemas hold the vocabulary, so that an editor completes stages, facts, fields, symbols and verdicts. The first line of a
    file names its schema; `policy fmt` writes that line.
    """
    from ..policy.editing import editor_schema

    if write == bool(kind):
        raise click.UsageError("give a KIND to print, or --write")
    if write and output:
        raise click.UsageError("--write has its own folder; -o is for a KIND")
    if not write:
        with open_output(output) as sink:
            sink.text(_shown(editor_schema(kind or "")))
        return OK
    from ..config import choose_policies
    from ..resources import data_root

    path = choose_policies(policies).path.absolute()
    if path.resolve().parent == data_root().resolve():
        message = "these are the shipped policies, which have their schemas: name your own with --policies"
        raise ReflectGateError("policy-shipped", message, Source(str(path)))
    folder = path.parent / FOLDER
    folder.mkdir(exist_ok=True)
    for name, file in SCHEMA_OF.items():
        write_text(folder / f"{file}.schema.json", _shown(editor_schema(name)))
    note(f"{len(SCHEMA_OF)} schemas written to {folder}", {"folder": str(folder), "schemas": sorted(SCHEMA_OF)})
    return OK


def _shown(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
