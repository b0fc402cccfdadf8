"""OpenAI Codex CLI, as documented for 0.148 and later, and its older `notify` program.

There is no failure event: `PostToolUse` fires for failing commands too and carries no exit code, so a result is a failure here
only where it says so itself; the rest is read from the rollout by the worker. Unknown fields of an answer are rejected, and an
answer of text that begins with a brace or a bracket as well: the nested envelope or nothing. `Stop`, `SubagentStop` and
`Interrupt` take no context.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..event import Event, Kind, Payload
from ._dialect import Dialect
from ._fields import action, exit_code_in, field, kind_of, line, named, number, path, text, whole_text
from ._nested import envelope

__all__ = ["DIALECT"]

NAME: Final = "codex"
NOTIFY: Final = "agent-turn-complete"

_KINDS: Final[Mapping[str, Kind]] = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tool_result",
    "PostToolUseFailure": "failure",
    "Stop": "turn_end",
    "SubagentStop": "turn_end",
    "Interrupt": "turn_end",
    "PreCompact": "snapshot",
    "SessionEnd": "session_end",
    NOTIFY: "turn_end",
}
_INJECTS: Final = frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse"})


def claims(payload: Payload) -> bool:
    """A turn id, or a model where Claude Code sends none; or what `notify` is handed as its last argument."""
    if line(payload, "type") == NOTIFY:
        return "thread-id" in payload or "turn-id" in payload
    name = line(payload, "hook_event_name")
    if not name or "prompt_id" in payload:
        return False
    if "turn_id" in payload:
        return True
    return "model" in payload and (name != "SessionStart" or "permission_mode" in payload)


def read(payload: Payload, event: str) -> Event:
    """Read a payload."""
    if line(payload, "type") == NOTIFY:
        return _notified(payload)
    name = line(payload, "hook_event_name") or event
    kind = kind_of(_KINDS, name)
    output = text(payload, "error") or whole_text(payload, "tool_response")
    exit_code = _exit_code(payload, output)
    if kind == "tool_result" and exit_code:
        kind = "failure"
    return named(
        NAME,
        name,
        kind,
        payload,
        turn=line(payload, "turn_id"),
        call=line(payload, "tool_use_id"),
        tool=line(payload, "tool_name"),
        action=action(payload, "tool_input"),
        path=path(payload, "tool_input"),
        output=output,
        exit_code=exit_code,
        transcript=line(payload, "agent_transcript_path") or line(payload, "transcript_path"),
        said=text(payload, "prompt") or text(payload, "last_assistant_message"),
        source=line(payload, "source") or line(payload, "reason") or line(payload, "trigger"),
    )


def _exit_code(payload: Payload, output: str) -> int | None:
    """The shape of `tool_response` is not documented: whatever has an exit code is believed."""
    for keys in (("exit_code",), ("metadata", "exit_code")):
        code = number(payload, "tool_response", *keys)
        if code is not None:
            return code
    return exit_code_in(output) if isinstance(field(payload, "tool_response"), str) else None


def _notified(payload: Payload) -> Event:
    return Event(
        NAME,
        NOTIFY,
        "turn_end",
        session=line(payload, "thread-id"),
        cwd=line(payload, "cwd"),
        turn=line(payload, "turn-id"),
        said=text(payload, "last-assistant-message"),
    )


def context(event: Event, said: str) -> dict[str, Any] | None:
    """Hand a text to the model."""
    return envelope(event, said, _INJECTS)


DIALECT: Final = Dialect(NAME, claims, read, context)
