"""GitHub Copilot CLI and cloud agent, as documented for 1.0.78.

How the event is spelt in the configuration decides the payload: `postToolUseFailure` brings camel case without the event's name
(which then comes from `--event`, else from the fields), `PostToolUseFailure` snake case with it. A context goes into
`additionalContext` at the top, on the start of a session only; for the snake-case payload the same form is used, which is not
documented. Exit 2 would hand text to the model after a failure; it is not used, as exit 2 never is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..event import Event, Kind, Payload
from ._dialect import Dialect
from ._fields import action, exit_code_in, field, kind_of, line, path, text, whole_text

__all__ = ["DIALECT"]

NAME: Final = "copilot"

_KINDS: Final[Mapping[str, Kind]] = {
    "sessionStart": "session_start",
    "userPromptSubmitted": "prompt",
    "postToolUse": "tool_result",
    "postToolUseFailure": "failure",
    "errorOccurred": "failure",
    "agentStop": "turn_end",
    "subagentStop": "turn_end",
    "preCompact": "snapshot",
    "sessionEnd": "session_end",
}
_SPELLINGS: Final = {"Stop": "agentStop", "UserPromptSubmit": "userPromptSubmitted"}
_TELLTALE: Final = (
    ("errorContext", "errorOccurred"),
    ("toolResult", "postToolUse"),
    ("stopReason", "agentStop"),
    ("initialPrompt", "sessionStart"),
    ("prompt", "userPromptSubmitted"),
    ("reason", "sessionEnd"),
    ("source", "sessionStart"),
)
_ENDS: Final = {"error": True, "timeout": True, "complete": False}


def claims(payload: Payload) -> bool:
    """A camel-case session without VS Code's event name; or a snake-case event with a time, which Gemini has passed over."""
    if "sessionId" in payload:
        return "hookEventName" not in payload
    return bool(line(payload, "hook_event_name")) and "timestamp" in payload


def read(payload: Payload, event: str) -> Event:
    """Read a payload."""
    given = line(payload, "hook_event_name")
    name = given or event or _guessed(payload)
    known = _SPELLINGS.get(name, name[:1].lower() + name[1:])
    kind = kind_of(_KINDS, known)
    error = field(payload, "error")
    output = whole_text(payload, "error") or whole_text(payload, "toolResult") or whole_text(payload, "tool_response")
    if kind == "tool_result" and line(payload, "toolResult", "resultType") in {"failure", "error"}:
        kind = "failure"
    arguments = "toolArgs" if "toolArgs" in payload else "tool_input"
    reason = line(payload, "reason")
    return Event(
        NAME,
        name,
        kind,
        session=line(payload, "sessionId") or line(payload, "session_id"),
        cwd=line(payload, "cwd"),
        tool=line(payload, "toolName") or line(payload, "tool_name"),
        action=action(payload, arguments),
        path=path(payload, arguments),
        output=output,
        exit_code=exit_code_in(output) if kind == "failure" else None,
        error_class=line(error, "name") if isinstance(error, dict) else "",
        transcript=line(payload, "transcriptPath") or line(payload, "transcript_path"),
        said=text(payload, "prompt") or text(payload, "initialPrompt") or text(payload, "initial_prompt"),
        source=line(payload, "source") or reason,
        failed=_ENDS.get(reason) if kind == "session_end" else None,
    )


def _guessed(payload: Payload) -> str:
    """Return the event that a payload without a name can only be; empty where it can be several."""
    if "toolName" in payload and "error" in payload:
        return "postToolUseFailure"
    return next((name for key, name in _TELLTALE if key in payload), "")


def context(event: Event, said: str) -> dict[str, Any] | None:
    """Hand a text to the model."""
    return {"additionalContext": said} if event.kind == "session_start" else None


DIALECT: Final = Dialect(NAME, claims, read, context)
