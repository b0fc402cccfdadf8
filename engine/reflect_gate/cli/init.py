"""`reflect-gate init`: install the hooks into a harness's settings; `uninstall` shares how it is told."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from .._canonical import canonical_bytes
from ..errors import ReflectGateError
from ..report._safe import plain
from ._files import diff_text
from ._options import examples, format_option
from ._output import OK, exit_code_of, note, open_output, report, warn

if TYPE_CHECKING:
    from ..installing.commands import Program
    from ..installing.harnesses import Harness, Where
    from ..installing.parts import Scope
    from ..installing.planning import Plan

__all__ = ["INSTALL_SCHEMA", "chosen", "complete_harness", "init", "placed", "planned", "scope_options", "tell", "told"]

INSTALL_SCHEMA: Final = "urn:reflect-gate:schema:install-report:1"

_WORKER: Final = "reflect-gate worker"

_DIFF: Final = 65_536
"""Characters of a diff in a report for programs."""


def complete_harness(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the names of harnesses."""
    from ..installing.harnesses import HARNESSES

    return [CompletionItem(each.name, help=each.title) for each in HARNESSES if each.name.startswith(incomplete)]


def scope_options(command: Any) -> Any:
    """Give a verb the options that say for whom."""
    for option in (
        click.option("--all", "every", is_flag=True, help="Every harness that is found here, or was installed, for the user."),
        click.option(
            "--plugin",
            metavar="DIR",
            type=click.Path(file_okay=False),
            help="A plugin for Claude Code in this folder, for others.",
        ),
        click.option("--project", "scope", flag_value="project", help="For the project that you are in, and for you."),
        click.option("--user", "scope", flag_value="user", help="For all your projects; this is the usual one."),
    ):
        command = option(command)
    return command


@click.command
@click.argument("harness", required=False, shell_complete=complete_harness)
@scope_options
@click.option("--dry-run", is_flag=True, help="Show the changes, and make none.")
@click.option("--command", metavar="WORDS", help="How the hooks start reflect-gate, instead of by the path of this one.")
@format_option("text", "json")
@examples(
    "reflect-gate init",
    "reflect-gate init claude-code --dry-run",
    "reflect-gate init codex --project",
    "reflect-gate init --all",
    "reflect-gate init claude-code --plugin ./reflect-gate-plugin",
    "reflect-gate init agents-md",
)
def init(
    harness: str | None, scope: str | None, plugin: str | None, every: bool, dry_run: bool, command: str | None, format_: str
) -> int:
    """Install the hooks into a harness's settings.

    Without a HARNESS it lists those that are found here, and what is installed. What changes is shown as a diff; a copy of each
    changed file is kept beside it. What is there already keeps its place, its comments and its layout; a second run does nothing.
    A file that cannot be read as what it should be is an error with its line, and is left alone.

    docs/install.md says what is written where. `uninstall` takes it out again, to the byte.
    """
    from ..installing import planning
    from ..installing.harnesses import AGENTS

    if harness is None and not every:
        if scope or plugin or command:
            raise click.UsageError("say which harness, or `--all`")
        _list(format_)
        return OK
    program = _program(command, plugin)
    wheres = chosen(harness, scope, plugin, every=every, program=program)
    plans, code = planned(wheres, planning.install, every=every)
    done = []
    for each, where, plan in plans:
        backups = [] if dry_run else plan.carry_out()
        done.append(told(each, where, plan, backups, _notes(each, where, plan)))
    if not dry_run:
        _warm()
    tell("init", done, format_, dry_run=dry_run)
    if not dry_run and any(each.name != AGENTS and not plan.idle for each, _, plan in plans):
        note(f"failures that are collected wait for `{_WORKER}`, which asks the model that you name", {"next": _WORKER})
    return code


def planned(
    wheres: list[tuple[Harness, Where]], plan: Callable[[Harness, Where], Plan], *, every: bool
) -> tuple[list[tuple[Harness, Where, Plan]], int]:
    """Return the plan of each harness, and the exit code; of `every` harness, one that cannot be done keeps no other from it."""
    plans, code = [], OK
    for harness, where in wheres:
        try:
            plans.append((harness, where, plan(harness, where)))
        except ReflectGateError as error:
            if not every:
                raise
            report(error)
            code = max(code, exit_code_of(error))
    return plans, code


def _program(command: str | None, plugin: str | None) -> Program:
    from ..installing.commands import Program, running, temporary

    if command is not None:
        try:
            words = tuple(shlex.split(command))
        except ValueError:
            words = ()
        if not words:
            raise click.BadParameter("give the words that start reflect-gate, as `/opt/tools/reflect-gate`")
        return Program(words)
    if plugin is not None:
        # A plugin is for other machines, where it lies elsewhere.
        return Program(("reflect-gate",))
    program = running()
    if temporary(program):
        message = f"`{program.words[0]}` lies where a tool cleans up: install reflect-gate for good, or give `--command`"
        warn(ReflectGateError("program-temporary", message))
    return program


def chosen(
    harness: str | None, scope: str | None, plugin: str | None, *, every: bool, program: Program
) -> list[tuple[Harness, Where]]:
    """Return the harnesses that a command line means, each with its place."""
    from ..installing.finding import found
    from ..installing.harnesses import HARNESSES, harness_of
    from ..installing.record import recorded

    if every:
        if harness or plugin or scope == "project":
            raise click.UsageError("`--all` goes with `--user` alone")
        users = [each for each in HARNESSES if "user" in each.scopes]
        here = [each for each in users if found(each) or recorded(each.name, "user", Path.home())]
        return [(each, placed(each, "user", None, program)) for each in here]
    if harness is None:
        raise click.UsageError("say which harness, or `--all`")
    one = harness_of(harness)
    if plugin is not None and scope is not None:
        raise click.UsageError("`--plugin` goes with neither `--user` nor `--project`")
    return [(one, placed(one, "plugin" if plugin is not None else scope, plugin, program))]


def placed(harness: Harness, scope: str | None, plugin: str | None, program: Program) -> Where:
    """Return for whom a harness's hooks are installed: as named, else as is usual for it."""
    from ..installing.finding import project
    from ..installing.harnesses import Where

    known: tuple[Scope, ...] = harness.scopes
    wanted = next((each for each in known if each == (scope or known[0])), None)
    if wanted is None:
        raise click.UsageError(f"`{harness.name}` has no hooks for `--{scope}`")
    roots = {"user": Path.home(), "project": project(), "plugin": Path(plugin or ".").absolute()}
    return Where(wanted, roots[wanted], program)


def _notes(harness: Harness, where: Where, plan: Plan) -> list[str]:
    from ..installing.finding import elsewhere, switched_off

    notes = [*plan.notes, *switched_off(harness, where), *elsewhere(harness, where)]
    if where.scope == "project" and harness.shared and not plan.idle and Path(where.program.words[0]).is_absolute():
        notes.append("these files name a path of this machine: commit none of them, or give `--command reflect-gate`")
    return [*notes, harness.also] if harness.also and not plan.idle else notes


def _warm() -> None:
    from ..installing.warming import warm

    try:
        warm()
    except ReflectGateError as error:
        warn(ReflectGateError(error.code, f"hooks stay silent until this is mended: {error.message}", error.source))


def told(harness: Harness, where: Where, plan: Plan, backups: list[Path], notes: list[str]) -> dict[str, Any]:
    """Return one installation as data."""
    changes = [
        {
            "file": str(change.file),
            "action": change.action,
            "diff": diff_text(str(change.file), _shown(change.before), _shown(change.after)),
        }
        for change in plan.changes
    ]
    return {
        "harness": harness.name,
        "scope": where.scope,
        "root": str(where.root),
        "changes": changes,
        "backups": [str(backup) for backup in backups],
        "notes": notes,
    }


def _shown(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


def tell(command: str, done: list[dict[str, Any]], format_: str, *, dry_run: bool) -> None:
    """Print what was done, or would be."""
    with open_output(None) as sink:
        if format_ == "json":
            cut = [{**one, "changes": [{**each, "diff": each["diff"][:_DIFF]} for each in one["changes"]]} for one in done]
            document = {"schema": INSTALL_SCHEMA, "command": command, "dry_run": dry_run, "installations": cut, "harnesses": []}
            sink.json(canonical_bytes(document) + b"\n")
        else:
            sink.text("".join(_lines(one, dry_run=dry_run) for one in done) or "no harness is found here\n")


def _lines(one: dict[str, Any], *, dry_run: bool) -> str:
    changes = [change for change in one["changes"] if change["action"] != "unchanged"]
    about = f"{one['harness']} ({one['scope']})"
    lines = [change["diff"] for change in changes]
    lines.append(f"{about}: nothing to do\n" if not changes else f"{about}{': nothing was changed' if dry_run else ''}\n")
    lines += [f"  {change['action']:<8} {plain(change['file'])}\n" for change in changes]
    lines += [f"  {'copy':<8} {plain(name)}\n" for name in one["backups"]]
    lines += [f"  {'note':<8} {plain(note)}\n" for note in one["notes"]]
    return "".join(lines)


def _list(format_: str) -> None:
    from ..installing.finding import overview

    rows = overview()
    with open_output(None) as sink:
        if format_ == "json":
            listed = [row._asdict() for row in rows]
            document = {"schema": INSTALL_SCHEMA, "command": "list", "dry_run": True, "installations": [], "harnesses": listed}
            sink.json(canonical_bytes(document) + b"\n")
            return
        width = max(len(row.name) for row in rows)
        for row in rows:
            state = ", ".join(f"installed ({scope})" for scope in row.installed) or ("found" if row.found else "-")
            would = f"  → reflect-gate init {row.name}" if row.found and not row.installed else ""
            sink.text(f"{row.name:<{width}}  {state}{would}\n")
