"""A hook's command is written for the shell that reads it, and known again wherever it was installed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from reflect_gate.installing.commands import Program, argv_of, is_ours, running, shell_text, temporary
from reflect_gate.installing.harnesses import HARNESSES, Where, harness_of
from reflect_gate.installing.parts import Entries, Whole

WINDOWS = Program(("C:/Users/Anna Bé/bin/reflect-gate.exe",), windows=True)


@pytest.mark.parametrize(
    "handler",
    [
        {"command": "reflect-gate evaluate --hook codex"},
        {"command": "'/home/o b/bin/reflect-gate' evaluate --hook=codex"},
        {"command": "/usr/bin/python3 -m reflect_gate hook --harness codex"},
        {"command": "/x/reflect-gate", "args": ["evaluate", "--hook", "claude-code"]},
        {"command": "C:\\Tools\\reflect-gate.exe", "args": ["evaluate", "--hook", "claude-code"]},
        {"command": '"C:\\Tools and more\\reflect-gate.exe" evaluate --hook cursor'},
        {"command": "& 'C:/Tools and more/Reflect-Gate.exe' hook"},
        {"bash": "/x/reflect-gate evaluate --hook copilot", "timeoutSec": 5},
    ],
)
def test_ours_is_known_again(handler: dict[str, Any]) -> None:
    """Of any place, version and form."""
    assert is_ours(handler)


@pytest.mark.parametrize(
    "handler",
    [
        {"command": "notify --hook codex"},
        {"command": "reflect-gate evaluate request.json"},
        {"command": "reflect-gate doctor"},
        {"command": "reflect-gate evaluate --hook codex; rm -rf ."},
        {"command": "reflect-gate evaluate --hook codex && notify"},
        {"command": "tee log | reflect-gate hook"},
        {"command": "reflect-gate hook > log"},
        {"command": "$(which reflect-gate) hook"},
        {"command": "my-reflect-gate hook"},
        {"command": "wrapper /x/reflect-gate hook"},
        {"command": "echo 'unbalanced"},
        {"command": "python -m other hook"},
        {"command": 3},
        {"args": ["evaluate", "--hook"]},
        "reflect-gate hook",
        None,
    ],
)
def test_what_is_of_others_is_not_ours(handler: Any) -> None:
    """Neither other programs, nor other verbs, nor what a user made of ours with a shell."""
    assert not is_ours(handler)


@pytest.mark.parametrize("shell", ["sh", "cmd", "powershell"])
def test_a_command_survives_its_shell(shell: str) -> None:
    """A folder with a space and letters beyond ASCII is one word again."""
    words = WINDOWS.hook("codex")
    text = shell_text(words, shell)
    assert argv_of({"command": text.replace("/", "\\") if shell != "sh" else text})[1:] == words[1:]
    assert argv_of({"command": text})[0] == words[0]
    assert text.startswith({"sh": "'", "cmd": '"', "powershell": "& '"}[shell])


def test_a_quote_in_a_path_stays_in_it() -> None:
    """For sh by its own rules, for PowerShell doubled."""
    words = ("/home/o'hara/reflect-gate", "hook")
    assert tuple(shlex.split(shell_text(words, "sh"))) == words
    assert shell_text(words, "powershell") == "& '/home/o''hara/reflect-gate' hook"


def test_the_running_program_is_named_by_its_whole_path() -> None:
    """No harness has the environment in which it was installed."""
    program = running()
    assert Path(program.words[0]).is_absolute()
    assert program.words[0] == str(Path(sys.executable).with_name("reflect-gate")) or program.words[1:] == ("-m", "reflect_gate")


def test_a_program_of_a_tools_cache_is_told() -> None:
    """It is gone some day."""
    assert temporary(Program(("/home/me/.cache/uv/archive-v0/abc/bin/reflect-gate",)))
    assert not temporary(Program(("/opt/reflect-gate",)))


@pytest.mark.parametrize("harness", [harness for harness in HARNESSES if harness.name != "agents-md"], ids=lambda each: each.name)
@pytest.mark.parametrize("program", [Program(("/opt/a b/reflect-gate",), windows=False), WINDOWS], ids=["posix", "windows"])
def test_every_installed_handler_is_ours(harness: Any, program: Program, tmp_path: Path) -> None:
    """What is written is known again; each runs `evaluate --hook` of its harness, and may take five seconds at most."""
    parts = harness.parts(harness, Where(harness.scopes[0], tmp_path, program))
    handlers = [entry.handler for part in parts if isinstance(part, Entries) for entry in part.entries]
    for handler in handlers:
        assert is_ours(handler)
        assert argv_of(handler)[:4] == (*program.words, "evaluate", "--hook", harness.name)
        assert handler["timeout"] <= (5_000 if harness.name == "gemini" else 5)
    scripts = [part for part in parts if isinstance(part, Whole) and not part.optional and part.file.suffix != ".json"]
    assert handlers or scripts
    for part in scripts:
        assert "evaluate" in part.text
        assert part.executable == (harness.name == "cline" and not program.windows)


def test_windows_gets_a_form_for_each_shell(tmp_path: Path) -> None:
    """Where a harness has a field of its own for Windows, it is filled there and left out elsewhere."""
    fields = {}
    for harness in HARNESSES:
        found = next(
            (each for each in harness.parts(harness, Where(harness.scopes[0], tmp_path, WINDOWS)) if isinstance(each, Entries)),
            None,
        )
        fields[harness.name] = dict(found.entries[0].handler) if found else {}
    assert fields["codex"]["commandWindows"].startswith('"C:/Users/Anna Bé/')
    assert fields["copilot"]["powershell"].startswith("& '")
    assert fields["gemini"]["command"].startswith("& '")
    assert fields["claude-code"]["command"] == WINDOWS.words[0]
    elsewhere = harness_of("codex")
    (part, *_) = elsewhere.parts(elsewhere, Where("user", tmp_path, Program(("/x/reflect-gate",), windows=False)))
    assert isinstance(part, Entries)
    assert "commandWindows" not in part.entries[0].handler
