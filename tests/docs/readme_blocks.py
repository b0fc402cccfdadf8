"""The commands of the README, taken from the README itself, so that what is written is what is tested.

A fenced `console` block is runnable when the line above its fence is `<!-- runnable: NAME -->`. Its lines that start with `$ `
are commands, lines after them that start with `> ` continue one, and what is left is output.

usage: readme_blocks.py NAME        print the commands of the blocks of that name
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

__all__ = ["README", "Block", "blocks"]

README = Path(__file__).parents[2] / "README.md"
_BLOCK = re.compile(r"^<!-- runnable: (?P<name>[a-z-]+) -->\n```console\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """One runnable block: its name, the line on which its fence opens, its commands, and the output that it shows."""

    name: str
    line: int
    commands: tuple[str, ...]
    output: tuple[str, ...]


def blocks(text: str) -> list[Block]:
    """Return the runnable blocks of a Markdown text in its order."""
    found = []
    for match in _BLOCK.finditer(text):
        commands: list[str] = []
        output: list[str] = []
        for line in match["body"].splitlines():
            if line.startswith("$ "):
                commands.append(line[2:])
            elif line.startswith("> ") and commands and not output:
                commands[-1] += "\n" + line[2:]
            else:
                output.append(line)
        found.append(Block(match["name"], text.count("\n", 0, match.start()) + 2, tuple(commands), tuple(output)))
    return found


def main(arguments: list[str]) -> int:
    """Print the commands of the blocks called `arguments[0]`; 1 where there are none."""
    (name,) = arguments
    commands = [
        command for block in blocks(README.read_text(encoding="utf-8")) if block.name == name for command in block.commands
    ]
    sys.stdout.writelines(f"{command}\n" for command in commands)
    return 0 if commands else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
