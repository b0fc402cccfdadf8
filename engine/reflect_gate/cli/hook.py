"""`reflect-gate hook`: what a coding agent's hooks call. `hooks.running` does it; this is how the verb is found and explained.

The command line of a hook is recognised before click is imported (`cli.main`), so that no argument can be an error of usage.
"""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from ..hooks.running import DEADLINE, main
from ._options import examples

__all__ = ["hook"]


def _complete_harness(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from ..hooks.dialects import DIALECTS

    return [CompletionItem(name) for name in sorted(dialect.name for dialect in DIALECTS) if name.startswith(incomplete)]


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--harness",
    metavar="NAME",
    shell_complete=_complete_harness,
    help="The harness it is installed for; what the payload shows comes before.",
)
@click.option("--event", metavar="NAME", help="The event's name, for payloads that do not have it.")
@click.option(
    "--deadline", type=float, default=DEADLINE, show_default=True, metavar="SECONDS", help="When to be silent and gone."
)
@click.argument("payload", nargs=-1, type=click.UNPROCESSED)
@examples(
    "reflect-gate hook --harness claude-code < event.json",
    "reflect-gate hook --harness copilot --event postToolUseFailure < event.json",
    "reflect-gate evaluate --hook claude-code < event.json",
)
def hook(harness: str | None, event: str | None, deadline: float, payload: tuple[str, ...]) -> int:
    """Listen to a coding agent's hooks: collect failures, hand lessons over, or be silent.

    One event stands on stdin as JSON, or in the last argument. Which harness sent it, its fields say.

    Exit code 0 whatever happens, and zero bytes on both streams where there is nothing to say: a missing home, a locked store,
    a broken policy and a wrong argument included. REFLECT_GATE_DISABLE=1 switches it off.
    """
    named = {"--harness": harness or "", "--event": event or "", "--deadline": str(deadline)}
    return main(["hook", *(part for name, value in named.items() if value for part in (name, value)), *payload])
