"""Visual Studio Code's agent, as documented in July 2026.

It mixes spellings: `sessionId` and `hookEventName`, but `tool_name` and `transcript_path`. It has no failure and no session end
events, exit 2 blocks, and a context goes into the nested envelope of `SessionStart` and `PostToolUse`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..event import Event, Kind, Payload
from ._dialect import Dialect
from ._fields import action, exit_code_in, kind_of, line, named, path, text, whole_text
from ._nested import envelope

__all__ = ["DIALECT"]

NAME: Final = "vscode"

_KINDS: Final[Mapping[str, Kind]] = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tool_result",
    "Stop": "turn_end",
    "SubagentStop": "turn_end",
    "PreCompact": "snapshot",
}
_INJECTS: Final = frozenset({"SessionStart", "PostToolUse"})


def claims(payload: Payload) -> bool:
    """Both spellings at once."""
    return "hookEventName" in payload and "sessionId" in payload


def read(payload: Payload, event: str) -> Event:
    """Read a payload."""
    name = line(payload, "hookEventName") or event
    kind = kind_of(_KINDS, name)
    output = whole_text(payload, "tool_response")
    exit_code = exit_code_in(output)
    if kind == "tool_result" and exit_code:
        kind = "failure"
    return named(
        NAME,
        name,
        kind,
        payload,
        session=line(payload, "sessionId"),
        call=line(payload, "tool_use_id"),
        tool=line(payload, "tool_name"),
        action=action(payload, "tool_input"),
        path=path(payload, "tool_input"),
        output=output,
        exit_code=exit_code,
        said=text(payload, "prompt"),
        source=line(payload, "source"),
    )


def context(event: Event, said: str) -> dict[str, Any] | None:
    """Hand a text to the model."""
    return envelope(event, said, _INJECTS)


DIALECT: Final = Dialect(NAME, claims, read, context)
