"""Files of our own: commands and skills, Cline's scripts, OpenCode's plugin, manifests, and the block for AGENTS.md."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from .. import __version__
from .commands import Program, shell_text
from .parts import Whole

__all__ = [
    "agents_block",
    "cline_scripts",
    "command_file",
    "gemini_command",
    "opencode_plugin",
    "plugin_manifest",
    "skill",
]

_TEMPLATES: Final = Path(__file__).parent / "templates"
_DESCRIPTION: Final = "Keeps lessons from failures, judged against evidence"


def _filled(name: str, **values: str) -> str:
    text = (_TEMPLATES / name).read_text("utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key.upper()}@", value)
    return text


def _typed(program: Program) -> str:
    """Return the program as it is typed into a shell."""
    return shell_text(program.words, "powershell" if program.windows else "sh")


def command_file(file: Path, program: Program, harness: str, *, hint: bool = False, plain: bool = False) -> Whole:
    """Return a slash command: Markdown with a header, but for a harness that reads none (`plain`)."""
    more = 'argument-hint: "[a lesson | list | failed | retry ID | purge ID]"\n' if hint else ""
    header = (
        "" if plain else f"---\ndescription: Look after reflect-gate's queue, or teach it a lesson in your own words\n{more}---\n"
    )
    words = "what follows this command" if plain else "$ARGUMENTS"
    return Whole(file, header + _filled("command.md", program=_typed(program), harness=harness, words=words), optional=True)


def gemini_command(file: Path, program: Program) -> Whole:
    """Return a slash command of Gemini CLI."""
    body = _filled("command.md", program=_typed(program), harness="gemini", words="{{args}}")
    return Whole(file, _filled("command.toml", body=body.replace("\\", "\\\\").replace('"""', '\\"""')), optional=True)


def skill(folder: Path, program: Program, harness: str) -> Whole:
    """Return a skill; those who share a folder of skills share it."""
    shared = "codex" if folder.parent.name == ".agents" else harness
    return Whole(
        folder / "reflect-gate" / "SKILL.md", _filled("skill.md", program=_typed(program), harness=shared), optional=True
    )


def cline_scripts(folder: Path, events: Iterable[str], program: Program) -> tuple[Whole, ...]:
    """Return a script for each event: Cline runs what is called after the event."""
    words = program.hook("cline")
    if program.windows:
        text = _filled("cline.ps1", command=shell_text(words, "powershell"), program=program.words[0].replace("'", "''"))
        return tuple(Whole(folder / f"{event}.ps1", text) for event in events)
    text = _filled("cline.sh", command=shell_text(words, "sh"), program=shell_text(program.words[:1], "sh"))
    return tuple(Whole(folder / event, text, executable=True) for event in events)


def opencode_plugin(file: Path, program: Program) -> Whole:
    """Return the plugin that hands OpenCode's events over."""
    return Whole(file, _filled("opencode.js", command=json.dumps(list(program.hook("opencode")))))


def plugin_manifest(file: Path) -> Whole:
    """Return what a plugin is called; where its hooks are is not said, since they are looked for where they are."""
    text = json.dumps(
        {"name": "reflect-gate", "version": __version__, "description": f"{_DESCRIPTION} (reflect-gate init)"}, indent=2
    )
    return Whole(file, text + "\n")


def agents_block(program: Program) -> str:
    """Return the text for files of instructions."""
    # Such a file is committed: a path of this machine would help nobody else.
    typed = "reflect-gate" if program.words[0].endswith(("/reflect-gate", "/reflect-gate.exe")) else _typed(program)
    return _filled("agents.md", program=typed)
