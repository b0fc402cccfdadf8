"""The command line: one file a verb, each imported only when it runs; exit codes and error lines of the whole program.

Exit codes (docs/architecture.md): 0 admitted or ok, 1 could not run, 3 invalid input or bundle, 4 undecided, 5 refused, 64 usage;
130 when interrupted, 141 when the reader of the output went away. Never 2: harnesses read it as "block".
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from ..hooks.running import main as run_hook
from ..hooks.running import wanted as hook_wanted

__all__ = ["entry", "main"]

_BY_POLICY = frozenset({3, 5})
"""Exit codes of `policy` verbs that other policies might not have had."""


def entry() -> NoReturn:
    """Run the process's command line and leave.

    One request is over before collecting garbage pays (verbs that run long switch it on again), and taking the interpreter apart
    would take longer than judging did; everything is flushed by then.
    """
    gc.disable()
    os._exit(main())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with `arguments` (default: the process's own) and return the exit code; no traceback escapes."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    if hook_wanted(argv):
        # Before anything that can fail or speak: a hook has no errors, and its start is a budget.
        return run_hook(argv)
    from ._output import BROKEN_PIPE, INTERRUPTED, Reporter

    reporter = Reporter.of(argv)
    for stream in (sys.stdout, sys.stderr):
        _never_fail_to_encode(stream)
    try:
        code = _run(argv)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - the last resort: a user sees one line, whatever happened
        code = reporter.failed(error)
    if code in _BY_POLICY and argv[0] == "policy":
        from ._unused import tell_unused

        tell_unused(argv)
    return _settle(code)


def _run(argv: list[str]) -> int:
    from ._app import COMPLETE, PROGRAM, app
    from ._output import OK, USAGE

    instruction = os.environ.get(COMPLETE)
    if instruction:
        from click.shell_completion import shell_complete

        from . import _bash

        _bash.use()
        return shell_complete(app, {}, PROGRAM, COMPLETE, instruction)
    import click

    try:
        with app.make_context(PROGRAM, argv) as context:
            if not argv:
                click.echo(context.get_help(), err=True)
                return USAGE
            code = app.invoke(context)
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    return code if isinstance(code, int) else OK


def _never_fail_to_encode(stream: object) -> None:
    """Text that the terminal's encoding lacks is printed as escapes instead of ending the program."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _settle(code: int) -> int:
    """Return `code`; a stream whose reader has gone is pointed at nothing, so that the interpreter's own flush stays quiet."""
    from ._output import COULD_NOT_RUN, OK

    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            if code == OK and stream is sys.stdout:
                code = COULD_NOT_RUN
            _discard(stream.fileno())
    return code


def _discard(descriptor: int) -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)
