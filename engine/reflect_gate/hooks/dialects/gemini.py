"""Gemini CLI, as documented for 0.56.

`AfterTool` carries `tool_response.error` where a tool failed. `transcript_path` may be empty. Standard error is parsed where
standard output is empty, and every exit code from 3 on denies as 2 does: zero bytes on both and exit 0. A plain text would be
shown to the user; the nested envelope goes to the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..event import Event, Kind, Payload
from ._dialect import Dialect
from ._fields import action, exit_code_in, kind_of, line, named, nested, path, text, whole_text
from ._nested import envelope

__all__ = ["DIALECT", "shell_output"]

NAME: Final = "gemini"

_KINDS: Final[Mapping[str, Kind]] = {
    "SessionStart": "session_start",
    "BeforeAgent": "prompt",
    "AfterTool": "tool_result",
    "AfterAgent": "turn_end",
    "PreCompress": "snapshot",
    "SessionEnd": "session_end",
}
_INJECTS: Final = frozenset({"SessionStart", "BeforeAgent", "AfterTool"})


def claims(payload: Payload) -> bool:
    """A time, and an event that only Gemini has, or a session's beginning or end with a transcript."""
    name = line(payload, "hook_event_name")
    if "timestamp" not in payload:
        return False
    return name.startswith(("Before", "After", "PreCompress")) or (name.startswith("Session") and "transcript_path" in payload)


def read(payload: Payload, event: str) -> Event:
    """Read a payload."""
    name = line(payload, "hook_event_name") or event
    kind = kind_of(_KINDS, name)
    error = nested(payload, "tool_response", "error")
    output = shell_output(whole_text(payload, "tool_response", "llmContent")) or whole_text(payload, "tool_response")
    message = text(error, "message")
    exit_code = exit_code_in(f"{output}\n{message}")
    if kind == "tool_result" and (error or exit_code):
        kind = "failure"
    return named(
        NAME,
        name,
        kind,
        payload,
        tool=line(payload, "tool_name"),
        action=action(payload, "tool_input"),
        path=path(payload, "tool_input"),
        output=output or message,
        exit_code=exit_code,
        error_class=line(error, "type"),
        said=text(payload, "prompt_response") or text(payload, "prompt"),
        source=line(payload, "source") or line(payload, "reason") or line(payload, "trigger"),
    )


def shell_output(said: str) -> str:
    """Return what the shell tool says with the output on lines of its own, so that an error at its start is seen as one."""
    head, output, rest = said.partition("Output: ")
    return f"{head}Output:\n{rest}" if output and (not head or head.endswith("\n")) else said


def context(event: Event, said: str) -> dict[str, Any] | None:
    """Hand a text to the model."""
    return envelope(event, said, _INJECTS)


DIALECT: Final = Dialect(NAME, claims, read, context)
