"""OpenHands software-agent SDK, as in 1.43.1.

The event is named by `event_type`. A terminal's result carries `exit_code`, -1 while the command still runs, and `is_error`.
Agent and conversation errors fire no hook; they stand in the events. Only `UserPromptSubmit` takes a context, in
`additionalContext` at the top; what a hook says at the start of a session is logged and goes nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..event import Event, Kind, Payload
from ._dialect import Dialect
from ._fields import action, flag, kind_of, line, named, number, path, text, whole_text

__all__ = ["DIALECT"]

NAME: Final = "openhands"

_KINDS: Final[Mapping[str, Kind]] = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tool_result",
    "Stop": "turn_end",
    "SessionEnd": "session_end",
}
_RUNNING: Final = -1


def claims(payload: Payload) -> bool:
    """Its own name for the event, and for the place."""
    return "event_type" in payload and "working_dir" in payload


def read(payload: Payload, event: str) -> Event:
    """Read a payload."""
    name = line(payload, "event_type") or event
    kind = kind_of(_KINDS, name)
    exit_code = number(payload, "tool_response", "exit_code")
    timed_out = bool(flag(payload, "tool_response", "timeout"))
    if exit_code == _RUNNING:
        exit_code = None
    if kind == "tool_result" and (exit_code or timed_out or flag(payload, "tool_response", "is_error")):
        kind = "failure"
    return named(
        NAME,
        name,
        kind,
        payload,
        cwd=line(payload, "working_dir"),
        tool=line(payload, "tool_name"),
        action=action(payload, "tool_input"),
        path=path(payload, "tool_input"),
        output=whole_text(payload, "tool_response"),
        exit_code=exit_code,
        error_class="TimeoutError" if timed_out else "",
        said=text(payload, "message"),
        source=line(payload, "metadata", "reason"),
    )


def context(event: Event, said: str) -> dict[str, Any] | None:
    """Hand a text to the model."""
    return {"additionalContext": said} if event.name == "UserPromptSubmit" else None


DIALECT: Final = Dialect(NAME, claims, read, context)
