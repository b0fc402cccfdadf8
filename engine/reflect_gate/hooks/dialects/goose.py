"""Goose, as documented in August 2026.

The event is named by `event`. A failing tool is reported without its error text, and no event takes a context: lessons come by
AGENTS.md or MCP there. Its reader wants strict UTF-8, which zero bytes are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..event import Event, Kind, Payload
from ._dialect import Dialect
from ._fields import action, exit_code_in, kind_of, line, named, path, text, whole_text

__all__ = ["DIALECT"]

NAME: Final = "goose"

_KINDS: Final[Mapping[str, Kind]] = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tool_result",
    "PostToolUseFailure": "failure",
    "Stop": "turn_end",
    "SubagentStop": "turn_end",
    "PreCompact": "snapshot",
    "SessionEnd": "session_end",
}


def claims(payload: Payload) -> bool:
    """An event under Goose's own name for it."""
    return bool(line(payload, "event")) and "session_id" in payload and "hook_event_name" not in payload


def read(payload: Payload, event: str) -> Event:
    """Read a payload."""
    name = line(payload, "event") or event
    output = whole_text(payload, "error") or whole_text(payload, "tool_response")
    return named(
        NAME,
        name,
        kind_of(_KINDS, name),
        payload,
        cwd=line(payload, "working_dir"),
        call=line(payload, "tool_call_id"),
        tool=line(payload, "tool_name"),
        action=action(payload, "tool_input"),
        path=path(payload, "tool_input"),
        output=output,
        exit_code=exit_code_in(output),
        said=text(payload, "message") or text(payload, "last_assistant_message"),
    )


def context(event: Event, said: str) -> dict[str, Any] | None:
    """No event takes a text."""
    del event, said
    return None


DIALECT: Final = Dialect(NAME, claims, read, context)
