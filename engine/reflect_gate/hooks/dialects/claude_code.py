"""Claude Code, as documented for 2.1.240.

`PostToolUse` means success; `PostToolUseFailure` carries `error`, whose first line is `Exit code N` for Bash, and fires for
interrupts too. `transcript_path` may lag or be missing. A context goes into the nested envelope only: at the top level it is
dropped without a word, and on `Stop` or `SubagentStop` it would make the turn go on. Plain text is never used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..event import Event, Kind, Payload
from ._dialect import Dialect
from ._fields import action, exit_code_in, flag, kind_of, line, named, path, text, whole_text
from ._nested import envelope

__all__ = ["DIALECT"]

NAME: Final = "claude-code"

_KINDS: Final[Mapping[str, Kind]] = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tool_result",
    "PostToolUseFailure": "failure",
    "StopFailure": "failure",
    "Stop": "turn_end",
    "SubagentStop": "turn_end",
    "TaskCompleted": "other",
    "PreCompact": "snapshot",
    "SessionEnd": "session_end",
}
_INJECTS: Final = frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"})


def claims(payload: Payload) -> bool:
    """A snake-case payload with a transcript's path; Codex, Gemini and Copilot have been asked before."""
    return bool(line(payload, "hook_event_name")) and "transcript_path" in payload


def read(payload: Payload, event: str) -> Event:
    """Read a payload."""
    name = line(payload, "hook_event_name") or event
    kind = kind_of(_KINDS, name)
    output = text(payload, "error") or whole_text(payload, "tool_response")
    if kind == "failure" and flag(payload, "is_interrupt"):
        kind = "other"
    stopped = name == "StopFailure"
    return named(
        NAME,
        name,
        kind,
        payload,
        turn=line(payload, "prompt_id"),
        call=line(payload, "tool_use_id"),
        tool=line(payload, "tool_name"),
        action=action(payload, "tool_input"),
        path=path(payload, "tool_input"),
        output=text(payload, "error_details") or output if stopped else output,
        exit_code=exit_code_in(output) if kind == "failure" and not stopped else None,
        error_class=line(payload, "error") if stopped else "",
        transcript=line(payload, "agent_transcript_path") or line(payload, "transcript_path"),
        said=text(payload, "prompt") or text(payload, "last_assistant_message"),
        source=line(payload, "source") or line(payload, "reason") or line(payload, "trigger"),
    )


def context(event: Event, said: str) -> dict[str, Any] | None:
    """Hand a text to the model."""
    return envelope(event, said, _INJECTS)


DIALECT: Final = Dialect(NAME, claims, read, context)
