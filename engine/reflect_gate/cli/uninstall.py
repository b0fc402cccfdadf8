"""`reflect-gate uninstall`: take out what `init` put into a harness's settings."""

from __future__ import annotations

import click

from ._options import examples, format_option
from .init import chosen, complete_harness, planned, scope_options, tell, told

__all__ = ["uninstall"]


@click.command
@click.argument("harness", required=False, shell_complete=complete_harness)
@scope_options
@click.option("--dry-run", is_flag=True, help="Show the changes, and make none.")
@format_option("text", "json")
@examples(
    "reflect-gate uninstall claude-code",
    "reflect-gate uninstall codex --project --dry-run",
    "reflect-gate uninstall --all",
)
def uninstall(harness: str | None, scope: str | None, plugin: str | None, every: bool, dry_run: bool, format_: str) -> int:
    """Take out what `init` put into a harness's settings.

    A file that nobody has changed since is as it was before, to the byte; in one that was edited, our part goes and the rest
    stays. Files and folders that `init` made go. Lessons, queue and store stay where they are, in the home folder.
    """
    from ..installing import planning
    from ..installing.commands import running

    plans, code = planned(chosen(harness, scope, plugin, every=every, program=running()), planning.uninstall, every=every)
    done = []
    for each, where, plan in plans:
        left = [] if dry_run else plan.carry_out()
        notes = [*plan.notes, *(f"{file} is a copy from before, and is yours to remove" for file in left)]
        done.append(told(each, where, plan, [], notes))
    tell("uninstall", done, format_, dry_run=dry_run)
    return code
