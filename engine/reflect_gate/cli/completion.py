"""`reflect-gate completion`: the shell's completion script."""

from __future__ import annotations

import click

from ._app import COMPLETE, PROGRAM, app
from ._options import examples
from ._output import open_output

__all__ = ["completion"]


@click.command
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@examples(
    'bash:  eval "$(reflect-gate completion bash)"',
    'zsh:   eval "$(reflect-gate completion zsh)"',
    "fish:  reflect-gate completion fish | source",
)
def completion(shell: str) -> None:
    """Print the shell's completion script.

    Verbs, options, bundles, rule sets, settings, harnesses and schemas are completed; lessons and retrievals from the store; and
    after `reflect retry` and `reflect purge` the ids of the jobs that can be retried or purged, each with its task and its last
    error.
    """
    from click.shell_completion import get_completion_class

    from . import _bash

    _bash.use()
    script = get_completion_class(shell)
    if script is None:
        raise click.UsageError(f"no completion for `{shell}`")
    with open_output(None) as sink:
        sink.text(script(app, {}, PROGRAM, COMPLETE).source() + "\n")
