"""Cursor, as documented in August 2026 (3.18).

`postToolUse` carries its output as a JSON text with `exitCode`; `postToolUseFailure` an `error_message` and a `failure_type`, of
which `permission_denied` is the user's answer and not a failure. A context goes into `additional_context` of `sessionStart` and
`postToolUse`; `followup_message` would begin a turn and is never said. `sessionStart` is not waited for: a late answer is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..event import Event, Kind, Payload
from ..reading import payload_of
from ._dialect import Dialect
from ._fields import action, field, flag, kind_of, line, named, number, path, text, whole_text

__all__ = ["DIALECT"]

NAME: Final = "cursor"

_KINDS: Final[Mapping[str, Kind]] = {
    "sessionStart": "session_start",
    "beforeSubmitPrompt": "prompt",
    "postToolUse": "tool_result",
    "postToolUseFailure": "failure",
    "stop": "turn_end",
    "subagentStop": "turn_end",
    "preCompact": "snapshot",
    "sessionEnd": "session_end",
}
_INJECTS: Final = frozenset({"sessionStart", "postToolUse"})
_ENDS: Final = {"error": True, "completed": False}


def claims(payload: Payload) -> bool:
    """Cursor names its version."""
    return "cursor_version" in payload


def read(payload: Payload, event: str) -> Event:
    """Read a payload."""
    name = line(payload, "hook_event_name") or event
    kind = kind_of(_KINDS, name)
    shown = field(payload, "tool_output")
    result = payload_of(shown.encode("utf-8", "replace")) if isinstance(shown, str) else shown
    exit_code = number(result, "exitCode")
    if kind == "tool_result" and exit_code:
        kind = "failure"
    if kind == "failure" and (flag(payload, "is_interrupt") or line(payload, "failure_type") == "permission_denied"):
        kind = "other"
    roots = field(payload, "workspace_roots")
    failed = _ENDS.get(line(payload, "final_status") or line(payload, "status"))
    return named(
        NAME,
        name,
        kind,
        payload,
        session=line(payload, "session_id") or line(payload, "conversation_id"),
        cwd=line(payload, "cwd") or (line({"root": roots[0]}, "root") if isinstance(roots, list) and roots else ""),
        turn=line(payload, "generation_id"),
        call=line(payload, "tool_use_id"),
        tool=line(payload, "tool_name"),
        action=action(payload, "tool_input") or text(payload, "command"),
        path=path(payload, "tool_input"),
        output=text(payload, "error_message") or whole_text({"output": result or shown or payload.get("output")}, "output"),
        exit_code=exit_code,
        error_class="TimeoutError" if line(payload, "failure_type") == "timeout" else "",
        transcript=line(payload, "agent_transcript_path") or line(payload, "transcript_path"),
        said=text(payload, "prompt"),
        source=line(payload, "reason"),
        failed=failed if kind in {"session_end", "turn_end"} else None,
    )


def context(event: Event, said: str) -> dict[str, Any] | None:
    """Hand a text to the model."""
    return {"additional_context": said} if event.name in _INJECTS else None


DIALECT: Final = Dialect(NAME, claims, read, context)
