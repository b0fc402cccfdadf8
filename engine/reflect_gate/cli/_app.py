"""The group of verbs. A verb's module is imported when the verb runs; `--help` and completion of names read the table alone."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import NamedTuple

import click

from .. import __version__
from ..errors import did_you_mean
from ._output import ERROR_FORMAT_VARIABLE, ERROR_FORMATS

__all__ = ["COMPLETE", "PROGRAM", "VERBS", "LazyGroup", "Verb", "app"]

PROGRAM = "reflect-gate"
COMPLETE = "_REFLECT_GATE_COMPLETE"
"""The environment variable by which a shell asks for completions."""


class Verb(NamedTuple):
    """Where a verb lives, and its one line of help (the first sentence of its own)."""

    module: str
    command: str
    help: str


VERBS: Mapping[str, Verb] = {
    "evaluate": Verb("evaluate", "evaluate", "Judge whether a reflection may become a lesson."),
    "explain": Verb("explain", "explain", "Say why a decision came out as it did."),
    "policy": Verb("policy", "policy", "Show, check and test the policies."),
    "hook": Verb("hook", "hook", "Listen to a coding agent's hooks: collect failures, hand lessons over, or be silent."),
    "init": Verb("init", "init", "Install the hooks into a harness's settings."),
    "uninstall": Verb("uninstall", "uninstall", "Take out what `init` put into a harness's settings."),
    "capture": Verb("capture", "capture", "Take a failure in, to be reflected on later."),
    "worker": Verb("worker", "worker", "Reflect on what was captured, and let the gate judge it."),
    "reflect": Verb("reflect", "reflect", "Look after the queue, or teach a lesson in your own words."),
    "queue": Verb("queue", "queue", "Move the queue between a folder and a server."),
    "retrieve": Verb("retrieve", "retrieve", "Offer the few lessons that fit a task, or none."),
    "lessons": Verb("lessons", "lessons", "List lessons, say what became of one and why, retire one, undo a change."),
    "decisions": Verb("decisions", "decisions", "List and show what the gate decided, and judge it again."),
    "audit": Verb("audit", "audit", "Say what is wrong with a memory that exists already."),
    "store": Verb("store", "store", "Keep, check, copy, merge and redact what the gate remembers."),
    "lifecycle": Verb("lifecycle", "lifecycle", "Let lessons rise, fall and go by what became of tasks."),
    "record": Verb("record", "record", "Record how a task ended, count it for its lessons, and sweep them."),
    "harvest": Verb("harvest", "harvest", "Write the lessons that helped as lines of JSON."),
    "demo": Verb("demo", "demo", "Judge five shipped reflections on one real-looking failure."),
    "corpus": Verb("corpus", "corpus", "Work with corpora of logged reflections."),
    "ab": Verb("ab", "ab", "Compare two bundles on the same requests, and say which one the figures are for."),
    "ablate": Verb(
        "ablate", "ablate", "Leave one thing out at a time, judge the same requests again, and say what it was worth."
    ),
    "bulk": Verb("bulk", "bulk", "Make Parquet of requests to judge in bulk, and lines of what was decided."),
    "serve": Verb("serve", "serve", "Do over HTTP what the command line does, for many machines."),
    "schema": Verb("schema", "schema", "List the published schemas, or print one."),
    "config": Verb("config", "config", "Say what is configured, and where each value comes from."),
    "doctor": Verb("doctor", "doctor", "Check this installation."),
    "completion": Verb("completion", "completion", "Print the shell's completion script."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported from a table when they are asked for."""

    def __init__(self, *args: object, verbs: Mapping[str, Verb] | None = None, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.verbs = dict(verbs or {})

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the verbs in the order in which they were declared, which is the order in which they are needed."""
        return [*self.verbs, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a verb, `None` where there is none of that name."""
        verb = self.verbs.get(cmd_name)
        command = load(verb) if verb else super().get_command(ctx, cmd_name)
        if command is not None:
            add_error_format(command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Look a verb up; a misspelt one is answered with the nearest."""
        name = args[0]
        if name not in self.list_commands(ctx) and not name.startswith("-"):
            ctx.fail(f"no such command `{name}`{did_you_mean(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of verbs without importing one."""
        if not self.verbs:
            super().format_commands(ctx, formatter)
            return
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.help) for name, verb in self.verbs.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[click.shell_completion.CompletionItem]:
        """Complete verbs from the table, options from the group."""
        if not self.verbs or incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        from click.shell_completion import CompletionItem

        return [CompletionItem(name, help=verb.help) for name, verb in self.verbs.items() if name.startswith(incomplete)]


def load(verb: Verb) -> click.Command:
    """Import a verb's module and return its command."""
    module = importlib.import_module(f".{verb.module}", __package__)
    command: click.Command = getattr(module, verb.command)
    return command


def add_error_format(command: click.Command) -> None:
    """Let `command` take `--error-format` wherever it stands; the reporter has read it before parsing began."""
    if any(parameter.name == "error_format" for parameter in command.params):
        return
    command.params.append(
        click.Option(
            ["--error-format"],
            type=click.Choice(ERROR_FORMATS),
            expose_value=False,
            envvar=ERROR_FORMAT_VARIABLE,
            help="How errors are printed on stderr: lines, or one JSON object a line.",
        )
    )


@click.group(
    cls=LazyGroup,
    verbs=VERBS,
    no_args_is_help=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 admitted or ok, 1 could not run, 3 invalid input or policy, 4 undecided, 5 refused, 64 usage.",
)
@click.version_option(__version__, "-V", "--version", prog_name=PROGRAM, message="%(prog)s %(version)s")
def app() -> None:
    """Admission gate for what coding agents remember: versioned YAML rules judge every reflection against its evidence."""


add_error_format(app)
