"""`docs/cli.md` is made from the commands, and is up to date."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from reflect_gate.cli._app import PROGRAM, app
from reflect_gate.report.cli_docs import cli_markdown

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.mark.skipif(not PAGE.parent.is_dir(), reason="runs in a checkout")
def test_page_is_up_to_date() -> None:
    """Run `python -m reflect_gate.report.cli_docs > docs/cli.md` when this fails."""
    assert PAGE.read_text(encoding="utf-8") == cli_markdown()


def test_every_option_of_every_command_is_documented() -> None:
    """The page has a section for each command, and each option of it with its help."""
    page = cli_markdown()
    for path, command in _commands(PROGRAM, app):
        section = page.partition(f"## {path}\n")[2].partition("\n## ")[0]
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help
                assert all(f"`{name}`" in section for name in parameter.opts), (path, parameter.opts)


def _commands(path: str, command: click.Command) -> list[tuple[str, click.Command]]:
    found = [(path, command)]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            found += _commands(f"{path} {name}", child)
    return found
