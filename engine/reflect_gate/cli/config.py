"""`reflect-gate config`: what is configured, and where each value comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .._canonical import canonical_bytes
from ..report._safe import plain
from ._app import LazyGroup
from ._options import examples, format_option, policies_option
from ._output import note, open_output

if TYPE_CHECKING:
    from ..capture.configured import Configured

__all__ = ["CONFIG_SCHEMA", "config"]

CONFIG_SCHEMA = "urn:reflect-gate:schema:config-report:1"

_TIMES = ("_timeout", "_delay", "_after")


@click.group(cls=LazyGroup, no_args_is_help=False)
def config() -> None:
    """Say what is configured, and where each value comes from.

    Every setting has a variable of the environment and, where a file makes sense for it, a key of policies.yaml. The environment
    goes over the file, the file over the defaults. docs/settings.md lists them.
    """


@config.command
@policies_option
@click.option("--origin", is_flag=True, help="Name where each value comes from, and the variable that would set it.")
@format_option("text", "json")
@examples("reflect-gate config show", "reflect-gate config show --origin", "REFLECT=15reflect reflect-gate config show --origin")
def show(policies: str | None, origin: bool, format_: str) -> None:
    """Show what is in force.

    A key is never shown. JSON names every origin in any case.
    """
    from ..capture.configured import in_force

    found = in_force(policies)
    with open_output(None) as sink:
        if format_ == "json":
            sink.json(canonical_bytes({"schema": CONFIG_SCHEMA, "settings": [each._asdict() for each in found]}) + b"\n")
        else:
            sink.text("".join(f"{plain(line)}\n" for line in _lines(found, origin=origin)))
    for each in found:
        if each.note and format_ == "text":
            note(f"{each.name}: {each.note}", {"name": each.name, "note": each.note})


def _lines(found: list[Configured], *, origin: bool) -> list[str]:
    shown = [(each.name, _shown(each), each) for each in found]
    widths = [max(len(row[column]) for row in shown) for column in (0, 1)]
    if not origin:
        return [f"{name:<{widths[0]}}  {value}" for name, value, _ in shown]
    # A long path must not push what follows every other value to the right.
    wide = min(widths[1], 32)
    return [f"{name:<{widths[0]}}  {value:<{wide}}  {_origin(each)}" for name, value, each in shown]


def _origin(each: Configured) -> str:
    return f"{each.origin} ({each.variable})" if each.kind != "environment" and each.variable else each.origin


def _shown(each: Configured) -> str:
    value = each.value
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if each.name.endswith(_TIMES):
        return f"{value:g}s"
    return f"{value:g}" if isinstance(value, float) else str(value)
