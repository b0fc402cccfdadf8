"""`reflect-gate serve`: what the command line does, over HTTP; and the tokens that let clients in."""

from __future__ import annotations

import gc
import importlib.util
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from .._canonical import canonical_bytes
from ..config import STORE_VARIABLE
from ..errors import ReflectGateError
from ..serving.tokens import SCOPES, Scope, Token, TokenFile, tokens_path
from ._app import LazyGroup
from ._options import BundleChoice, bundle_options, examples, format_option
from ._output import note, open_output
from ._store import store_option

if TYPE_CHECKING:
    from ..serving.running import Plan

__all__ = ["TOKEN_SCHEMA", "serve"]

TOKEN_SCHEMA: Final = "urn:reflect-gate:schema:token-report:1"  # noqa: S105 - the name of a schema
_EXTRA: Final = ("starlette", "uvicorn")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NAME: Final = 256

tokens_option = click.option(
    "--tokens",
    "tokens_file",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="The file of the tokens; else server-tokens.json in the home folder.",
)


class _Limit(NamedTuple):
    """An option that bounds the server: between what, and what it is where nothing is said."""

    flag: str
    least: float
    most: float
    default: float
    help: str
    unit: str | None = None


_LIMITS: Final = (
    _Limit("--threads", 1, 64, 4, "Requests that are worked on at once."),
    _Limit("--waiting", 1, 100_000, 256, "Requests that may wait for a thread."),
    _Limit("--connections", 1, 100_000, 1_000, "Connections that may be open."),
    _Limit("--request-bytes", 1_024, 67_108_864, 8_388_608, "Bytes of a body at most."),
    _Limit(
        "--rate",
        0,
        1_000_000,
        100.0,
        "Requests a second of one token, or of one address where there are none; 0 is without limit.",
    ),
    _Limit("--head-timeout", 0.1, 600, 10.0, "Within which the head of a request has to come.", "SECONDS"),
    _Limit("--body-timeout", 0.1, 3_600, 30.0, "Within which its body has to come.", "SECONDS"),
    _Limit("--work-timeout", 0.1, 3_600, 60.0, "After which a client is told to come again.", "SECONDS"),
    _Limit("--drain", 1, 3_600, 30, "Within which what has begun is finished, after a signal to end.", "SECONDS"),
    _Limit(
        "--drain-delay", 0, 600, 0.0, "For which requests are still taken after that signal, while `/readyz` says no.", "SECONDS"
    ),
)
"""A default that is a whole number makes the option one of whole numbers."""


def _limit_options(function: Any) -> Any:
    for limit in reversed(_LIMITS):
        whole = isinstance(limit.default, int)
        kind = click.IntRange(int(limit.least), int(limit.most)) if whole else click.FloatRange(limit.least, limit.most)
        told = click.option(limit.flag, type=kind, default=limit.default, show_default=True, metavar=limit.unit, help=limit.help)
        function = told(function)
    return function


@click.group(cls=LazyGroup, invoke_without_command=True, no_args_is_help=False)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on; another needs tokens.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8_321,
    show_default=True,
    help="The port; 0 is a free one, as the log tells.",
)
@tokens_option
@store_option
@_limit_options
@bundle_options
@examples(
    "reflect-gate serve",
    "reflect-gate serve --port 0 --bundle structured --store lessons.db",
    "reflect-gate serve --host 0.0.0.0 --store postgresql://gate@db/lessons",
)
def serve(
    host: str,
    port: int,
    tokens_file: str | None,
    store_file: str | None,
    choice: BundleChoice,
    **limits: Any,
) -> None:
    """Do over HTTP what the command line does, for many machines.

    Takes `POST /v1/evaluate`, `/v1/capture`, `/v1/retrieve`, `/v1/record` and reads of lessons and decisions; `/openapi.json`
    tells the rest. Only this machine is served, unless `--host` says otherwise, and then only those who have a token. Ends on
    SIGTERM when what has begun is answered. The log is JSON on stderr, and holds nothing that was sent. See docs/serve.md.

    Policies are read again when they change; while they do not load, everything that judges is answered with status 503.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    if any(importlib.util.find_spec(name) is None for name in _EXTRA):
        raise ReflectGateError("serve-missing", "a server needs the extra `serve`: pip install 'reflect-gate[serve]'")
    from ..serving.running import serve as run

    gc.enable()
    if store_file is not None:
        # What a capture records by itself goes to the store in force, and so it is this one.
        os.environ[STORE_VARIABLE] = store_file if "://" in store_file else str(Path(store_file).absolute())
    # Once for its warnings, which are not to be repeated whenever the server looks again.
    choice.load()
    run(_plan(host, port, tokens_file, limits), choice._replace(told=True).load)


def _plan(host: str, port: int, tokens_file: str | None, limits: dict[str, Any]) -> Plan:
    from ..serving.app import Bounds
    from ..serving.running import Plan

    bounds = Bounds(
        limits["request_bytes"], limits["body_timeout"], limits["work_timeout"], limits["rate"], max(1.0, 2 * limits["rate"])
    )
    return Plan(
        host,
        port,
        tokens_path(tokens_file),
        threads=limits["threads"],
        waiting=limits["waiting"],
        connections=limits["connections"],
        header=limits["head_timeout"],
        delay=limits["drain_delay"],
        drain=limits["drain"],
        bounds=bounds,
    )


@serve.command
@examples("reflect-gate serve openapi > openapi.json")
def openapi() -> None:
    """Print what the server takes and answers, as OpenAPI 3.1.

    The same document as `/openapi.json` of a running server.
    """
    from ..serving.openapi import document

    with open_output(None) as sink:
        sink.json(canonical_bytes(document()) + b"\n")


@serve.group(cls=LazyGroup, no_args_is_help=False)
def token() -> None:
    """Make, list and revoke the tokens of a server.

    The file holds hashes; a running server reads it again when it changes.
    """


@token.command
@click.option(
    "--scope", "scopes", type=click.Choice(SCOPES), multiple=True, required=True, help="What it may do; may be repeated."
)
@click.option("--name", default="", metavar="TEXT", help="What it is for.")
@click.option("--expires", metavar="DATE", help="The day (UTC) on which it ends, as 2027-01-31.")
@tokens_option
@format_option("text", "json")
@examples(
    "reflect-gate serve token new --scope evaluate --scope retrieve --name ci",
    "REFLECT_GATE_TOKEN=$(reflect-gate serve token new --scope capture --expires 2027-01-31)",
)
def new(scopes: tuple[Scope, ...], name: str, expires: str | None, tokens_file: str | None, format_: str) -> None:
    """Make a token and print it, once.

    It is kept nowhere: who loses it makes another one.
    """
    if len(name) > _NAME or not name.isprintable():
        raise click.UsageError(f"`--name` takes at most {_NAME} characters that can be printed")
    file = TokenFile(tokens_path(tokens_file))
    text, made = file.add(name, scopes, _ending(expires))
    _say("new", file, [made], format_, text)
    if format_ == "text":
        about = {"id": made.id, "scopes": list(made.scopes), "expires": made.expires}
        note(f"token {made.id}: {', '.join(made.scopes)}; it is not shown again", about)


def _ending(day: str | None) -> str | None:
    if day is None:
        return None
    from datetime import date

    with suppress(ValueError):
        if _DAY.fullmatch(day):
            return f"{date.fromisoformat(day)}T00:00:00Z"
    raise click.UsageError("`--expires` takes a day such as 2027-01-31")


@token.command("list")
@tokens_option
@format_option("text", "json")
@examples("reflect-gate serve token list")
def list_(tokens_file: str | None, format_: str) -> None:
    """List the tokens, without what only their holders know."""
    file = TokenFile(tokens_path(tokens_file))
    _say("list", file, list(file.read()), format_)


@token.command
@click.argument("id_", metavar="ID")
@tokens_option
@format_option("text", "json")
@examples("reflect-gate serve token revoke 0b5d6e7f")
def revoke(id_: str, tokens_file: str | None, format_: str) -> None:
    """Let a token end now.

    A running server refuses it from its next request on. The file stays, so that a server does not open to all when the last
    token goes.
    """
    file = TokenFile(tokens_path(tokens_file))
    _say("revoke", file, [file.revoke(id_)], format_)


def _say(command: str, file: TokenFile, tokens: list[Token], format_: str, text: str | None = None) -> None:
    entries = [entry.to_json() for entry in tokens]
    with open_output(None) as sink:
        if format_ == "json":
            report = {"schema": TOKEN_SCHEMA, "command": command, "file": str(file.path), "token": text, "tokens": entries}
            sink.json(canonical_bytes(report) + b"\n")
        elif text is not None:
            sink.text(f"{text}\n")
        else:
            from ..report._safe import one_line

            for entry in tokens:
                ends = f"until {entry.expires}" if entry.expires else "without end"
                sink.text(f"{entry.id}  {','.join(entry.scopes)}  {ends}  {one_line(entry.name, _NAME)}\n")
