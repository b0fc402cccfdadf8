"""What is written for each harness: which file, which events, which form of the command.

Only events that the dialect makes something of (`hooks.dialects`) are asked for, and none in front of a tool's use: a hook that
fails there could block. Where a file of another harness is read too, one file serves both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..errors import ReflectGateError, did_you_mean
from .commands import Program, shell_text
from .extras import agents_block, cline_scripts, command_file, gemini_command, opencode_plugin, plugin_manifest, skill
from .parts import Block, Entries, Entry, Part, Scope

__all__ = ["AGENTS", "HARNESSES", "Harness", "Where", "harness_of"]

_SECONDS: Final = 5
_SHORT: Final = ("--deadline", "2.5")
"""Codex gives the end of a session three seconds at most."""


class Where(NamedTuple):
    """For whom it is installed: the folder (home, project or plugin), and the program."""

    scope: Scope
    root: Path
    program: Program


class Harness(NamedTuple):
    """One harness.

    `folder` is its own folder in a home, which the variable may move; `scopes` where its hooks can be installed, the usual one
    first; `also` what the user has still to do; `off` the ways of settings that switch all hooks off; `reads` the harnesses whose
    settings it reads too; `shared` that a project's files are committed by custom.
    """

    name: str
    title: str
    folder: str
    variable: str
    scopes: tuple[Scope, ...]
    parts: Callable[[Harness, Where], tuple[Part, ...]]
    aliases: tuple[str, ...] = ()
    also: str = ""
    off: tuple[tuple[str, object], ...] = ()
    reads: tuple[str, ...] = ()
    shared: bool = True

    def home(self, root: Path, environ: Mapping[str, str] | None = None) -> Path:
        """Return its folder under a home folder, or where its variable moves it."""
        moved = (os.environ if environ is None else environ).get(self.variable, "") if self.variable else ""
        return Path(moved) if moved and Path(moved).is_absolute() else root / self.folder


def _base(harness: Harness, where: Where, project: str = "") -> Path:
    if where.scope == "user":
        return harness.home(where.root)
    return where.root / (project or harness.folder)


def _events(names: str, make: Callable[[str], Mapping[str, Any]], matchers: Mapping[str, str] | None = None) -> tuple[Entry, ...]:
    return tuple(Entry(name, make(name), (matchers or {}).get(name, "")) for name in names.split())


def _claude_code(harness: Harness, where: Where) -> tuple[Part, ...]:
    words = where.program.hook("claude-code")
    handler = {"type": "command", "command": words[0], "args": list(words[1:]), "timeout": _SECONDS}
    names = "SessionStart UserPromptSubmit PostToolUse PostToolUseFailure StopFailure Stop SubagentStop PreCompact SessionEnd"
    # Reading and searching repair nothing and pass no command: no process for them.
    entries = _events(names, lambda _: handler, {"PostToolUse": "Bash|PowerShell|Edit|MultiEdit|Write|NotebookEdit"})
    if where.scope == "plugin":
        files = (Entries(where.root / "hooks" / "hooks.json", entries),)
        manifest: tuple[Part, ...] = (plugin_manifest(where.root / ".claude-plugin" / "plugin.json"),)
        base = where.root
    else:
        base = _base(harness, where)
        # What holds a path of this machine goes into the file that is not committed.
        files = (Entries(base / ("settings.json" if where.scope == "user" else "settings.local.json"), entries),)
        manifest = ()
    return (
        *files,
        *manifest,
        command_file(base / "commands" / "reflect.md", where.program, harness.name, hint=True),
        skill(base / "skills", where.program, harness.name),
    )


def _codex(harness: Harness, where: Where) -> tuple[Part, ...]:
    def handler(event: str) -> dict[str, Any]:
        brief = event in {"Interrupt", "SessionEnd"}
        words = where.program.hook("codex", *(_SHORT if brief else ()))
        seconds = 3 if brief else _SECONDS
        if where.program.windows:
            text = shell_text(words, "cmd")
            return {"type": "command", "command": text, "commandWindows": text, "timeout": seconds}
        return {"type": "command", "command": shell_text(words, "sh"), "timeout": seconds}

    names = "SessionStart UserPromptSubmit PostToolUse Stop SubagentStop Interrupt PreCompact SessionEnd"
    return (
        Entries(_base(harness, where) / "hooks.json", _events(names, handler)),
        skill(where.root / ".agents" / "skills", where.program, "codex"),
    )


def _gemini(harness: Harness, where: Where) -> tuple[Part, ...]:
    text = _text(where.program.hook("gemini"), where, "powershell")
    handler = {"name": "reflect-gate", "type": "command", "command": text, "timeout": _SECONDS * 1_000}
    names = "SessionStart BeforeAgent AfterTool AfterAgent PreCompress SessionEnd"
    base = _base(harness, where)
    return (
        Entries(base / "settings.json", _events(names, lambda _: handler)),
        gemini_command(base / "commands" / "reflect.toml", where.program),
    )


def _cursor(harness: Harness, where: Where) -> tuple[Part, ...]:
    handler = {"command": _text(where.program.hook("cursor"), where, "powershell"), "timeout": _SECONDS}
    names = "sessionStart beforeSubmitPrompt postToolUse postToolUseFailure stop subagentStop preCompact sessionEnd"
    base = _base(harness, where)
    entries = _events(names, lambda _: handler)
    return (
        Entries(base / "hooks.json", entries, grouped=False, defaults={"version": 1}),
        command_file(base / "commands" / "reflect.md", where.program, harness.name),
    )


def _copilot(harness: Harness, where: Where) -> tuple[Part, ...]:
    """One file for Copilot CLI, its cloud agent and VS Code, which reads the first letter of an event's name either way.

    How a name is spelt decides Copilot's payload: of `sessionStart` the answer is documented in camel case; `Stop` and
    `UserPromptSubmit` are VS Code's own names of events that Copilot calls otherwise in camel case.
    """

    def handler(event: str) -> dict[str, Any]:
        words = where.program.hook("copilot", "--event", event)
        text = shell_text(words, "cmd" if where.program.windows else "sh")
        windows = {"powershell": shell_text(words, "powershell"), "windows": text} if where.program.windows else {}
        return {"type": "command", "command": text, **windows, "timeout": _SECONDS}

    names = "sessionStart UserPromptSubmit postToolUse postToolUseFailure errorOccurred Stop subagentStop preCompact sessionEnd"
    base = _base(harness, where, ".github")
    file = base / "hooks" / "reflect-gate.json"
    return (
        Entries(file, _events(names, handler), grouped=False, defaults={"version": 1}),
        skill(base / "skills", where.program, harness.name),
    )


def _openhands(harness: Harness, where: Where) -> tuple[Part, ...]:
    spellings = {
        "session_start": "SessionStart",
        "user_prompt_submit": "UserPromptSubmit",
        "post_tool_use": "PostToolUse",
        "stop": "Stop",
        "session_end": "SessionEnd",
    }
    handler = {"type": "command", "command": _text(where.program.hook("openhands"), where, "cmd"), "timeout": _SECONDS}
    entries = _events(" ".join(spellings), lambda _: handler)
    return (
        Entries(_base(harness, where) / "hooks.json", entries, bare=True, spellings=spellings),
        skill(where.root / ".agents" / "skills", where.program, harness.name),
    )


def _cline(harness: Harness, where: Where) -> tuple[Part, ...]:
    own = where.scope == "user"
    base = where.root / "Documents" / "Cline" if own else where.root / ".clinerules"
    names = "TaskStart TaskResume UserPromptSubmit PostToolUse PreCompact TaskError TaskComplete TaskCancel"
    return (
        *cline_scripts(base / ("Hooks" if own else "hooks"), names.split(), where.program),
        command_file(base / ("Workflows" if own else "workflows") / "reflect.md", where.program, harness.name, plain=True),
    )


def _goose(harness: Harness, where: Where) -> tuple[Part, ...]:
    handler = {"type": "command", "command": shell_text(where.program.hook("goose"), "sh"), "timeout": _SECONDS}
    names = "SessionStart UserPromptSubmit PostToolUse PostToolUseFailure Stop SessionEnd"
    plugin = where.root / ".agents" / "plugins" / "reflect-gate"
    return (
        Entries(plugin / "hooks" / "hooks.json", _events(names, lambda _: handler)),
        plugin_manifest(plugin / "plugin.json"),
        skill(where.root / ".agents" / "skills", where.program, harness.name),
    )


def _hermes(harness: Harness, where: Where) -> tuple[Part, ...]:
    handler = {"command": shell_text(where.program.hook("hermes"), "sh"), "timeout": _SECONDS}
    names = "on_session_start pre_llm_call post_tool_call subagent_stop on_session_end on_session_finalize"
    base = _base(harness, where)
    return (
        Entries(base / "config.yaml", _events(names, lambda _: handler), grouped=False, yaml=True),
        skill(base / "skills", where.program, harness.name),
    )


def _opencode(harness: Harness, where: Where) -> tuple[Part, ...]:
    base = _base(harness, where, ".opencode")
    return (
        opencode_plugin(base / "plugins" / "reflect-gate.js", where.program),
        command_file(base / "commands" / "reflect.md", where.program, harness.name),
    )


def _agents(harness: Harness, where: Where) -> tuple[Part, ...]:
    del harness
    return (Block(where.root / "AGENTS.md", agents_block(where.program)),)


def _text(words: tuple[str, ...], where: Where, windows: str) -> str:
    return shell_text(words, windows if where.program.windows else "sh")


_BOTH: Final[tuple[Scope, ...]] = ("user", "project")

AGENTS: Final = "agents-md"
"""The harness that stands for all that have no hooks."""

HARNESSES: Final[tuple[Harness, ...]] = (
    Harness(
        "claude-code",
        "Claude Code",
        ".claude",
        "CLAUDE_CONFIG_DIR",
        ("user", "project", "plugin"),
        _claude_code,
        aliases=("claude",),
        shared=False,
        off=(("disableAllHooks", True),),
    ),
    Harness(
        "codex",
        "Codex",
        ".codex",
        "CODEX_HOME",
        _BOTH,
        _codex,
        aliases=("codex-cli",),
        also="Codex runs a hook when you have trusted it: review it with /hooks",
    ),
    Harness(
        "gemini",
        "Gemini CLI",
        ".gemini",
        "",
        _BOTH,
        _gemini,
        aliases=("gemini-cli",),
        off=(("hooksConfig.enabled", False), ("tools.enableHooks", False)),
    ),
    Harness("cursor", "Cursor", ".cursor", "", _BOTH, _cursor, reads=("claude-code",)),
    Harness(
        "copilot",
        "Copilot CLI and VS Code",
        ".copilot",
        "COPILOT_HOME",
        _BOTH,
        _copilot,
        aliases=("copilot-cli", "vscode", "vs-code"),
        reads=("claude-code",),
        off=(("disableAllHooks", True),),
    ),
    Harness("openhands", "OpenHands", ".openhands", "", _BOTH, _openhands),
    Harness("cline", "Cline", "Documents/Cline", "", _BOTH, _cline, also="switch hooks on in Cline's settings if they are off"),
    Harness(
        "goose",
        "Goose",
        ".config/goose",
        "",
        _BOTH,
        _goose,
        also=f"Goose takes no text from a hook: `reflect-gate init {AGENTS}` tells its model how to ask",
    ),
    Harness(
        "hermes", "Hermes", ".hermes", "HERMES_HOME", ("user",), _hermes, also="Hermes asks once for your consent to each hook"
    ),
    Harness("opencode", "OpenCode", ".config/opencode", "OPENCODE_CONFIG_DIR", _BOTH, _opencode),
    Harness(AGENTS, "AGENTS.md, for harnesses without hooks", "", "", ("project",), _agents, shared=False),
)
"""In the order in which they are told of."""


def harness_of(name: str) -> Harness:
    """Return the harness of a name; `harness-unknown` where there is none."""
    for harness in HARNESSES:
        if name == harness.name or name in harness.aliases:
            return harness
    names = [harness.name for harness in HARNESSES]
    known = ", ".join(f"`{each}`" for each in names)
    raise ReflectGateError("harness-unknown", f"`{name}` is no harness{did_you_mean(name, names)}; there are {known}")
