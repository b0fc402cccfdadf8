"""The command that a harness is told to run: how it is written for each of them, and how one of ours is known again."""

from __future__ import annotations

import functools
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["FIELDS", "Program", "argv_of", "is_ours", "running", "shell_text", "temporary"]

_NAMES: Final = frozenset({"reflect-gate", "reflect-gate.exe"})
_OPERATORS: Final = re.compile(r"[;|<>`\n]|&&|\$\(")
_TOKENS: Final = re.compile(r'"([^"]*)"|\'([^\']*)\'|(\S+)')
_PLAIN: Final = re.compile(r"[\w./:@%+=,~-]+")
_TEMPORARY: Final = ("/archive-v0/", "/builds-v0/", "/.cache/uv/", "/pipx/.cache/", "/_npx/")

FIELDS: Final = ("command", "args", "bash", "powershell", "commandWindows", "windows")
"""Under which names a harness's handler holds its command."""


class Program(NamedTuple):
    """How reflect-gate is started: the words before its verb, and whether for Windows."""

    words: tuple[str, ...]
    windows: bool = os.name == "nt"

    def hook(self, harness: str, *more: str) -> tuple[str, ...]:
        """Return the command line of a hook."""
        return (*self.words, "evaluate", "--hook", harness, *more)


def running() -> Program:
    """Return the program that runs now: the script beside this interpreter, else the interpreter with the module."""
    windows = os.name == "nt"
    name = "reflect-gate.exe" if windows else "reflect-gate"
    # Not resolved: an environment's interpreter is a link, and what it links to knows nothing of the environment.
    script = Path(sys.executable).parent / name
    started = Path(sys.argv[0])
    for file in (script, started):
        if file.name == name and file.is_file():
            return Program((_slashed(str(file.absolute()), windows=windows),), windows)
    return Program((_slashed(sys.executable, windows=windows), "-m", "reflect_gate"), windows)


def _slashed(path: str, *, windows: bool) -> str:
    # A shell eats backslashes; Windows itself reads both.
    return path.replace("\\", "/") if windows else path


def temporary(program: Program) -> bool:
    """Return whether a program lies where a tool cleans up: it runs today, and is gone some day."""
    first = program.words[0]
    return any(part in first for part in _TEMPORARY)


def shell_text(words: Sequence[str], shell: str) -> str:
    """Return words as one line for `sh`, `cmd` or `powershell`."""
    if shell == "sh":
        return shlex.join(words)
    if shell == "cmd":
        return " ".join(word if _PLAIN.fullmatch(word) else f'"{word}"' for word in words)
    quoted = [word if _PLAIN.fullmatch(word) else "'" + word.replace("'", "''") + "'" for word in words]
    return " ".join(quoted if quoted[0] == words[0] else ["&", *quoted])


def argv_of(handler: object) -> tuple[str, ...]:
    """Return the words that a handler runs, empty where it is no plain command: what a shell would make more of is not ours."""
    if not isinstance(handler, Mapping):
        return ()
    command, more = handler.get("command"), handler.get("args")
    if isinstance(command, str) and isinstance(more, list) and all(isinstance(word, str) for word in more):
        return (command, *more)
    return next((_words(handler[name]) for name in FIELDS if isinstance(handler.get(name), str)), ())


@functools.lru_cache(256)
def _words(text: str) -> tuple[str, ...]:
    if _OPERATORS.search(text):
        return ()
    if "\\" in text or text.startswith("& "):
        found = [first or second or third for first, second, third in _TOKENS.findall(text)]
        return tuple(found[1:] if found[:1] == ["&"] else found)
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return ()


def is_ours(handler: object) -> bool:
    """Return whether a handler is a hook of reflect-gate, wherever it is installed and of whichever version."""
    words = argv_of(handler)
    verb = next((index for index, word in enumerate(words) if word in {"evaluate", "hook"}), 0)
    if not verb:
        return False
    started = _name(words[0]) in _NAMES if verb == 1 else words[verb - 2 : verb] == ("-m", "reflect_gate")
    return started and (words[verb] == "hook" or any(_hooking(word) for word in words[verb + 1 :]))


def _hooking(word: str) -> bool:
    return word == "--hook" or word.startswith("--hook=")


def _name(program: str) -> str:
    return program.replace("\\", "/").rsplit("/", 1)[-1].lower()
