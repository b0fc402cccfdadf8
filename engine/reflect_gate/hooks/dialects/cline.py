"""Cline: the extension (3.90) and the SDK with its command line (0.0.78).

The event's name is `hookName`, and its data stand in an object named after it: `postToolUse` has `success` and `result`; the SDK
adds `tool_result` with `error`. A context goes into `contextModification`, beside `cancel: false`, on the events that begin a
task, take a prompt or return from a tool. No JSON at exit 0 allows the action.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..event import Event, Kind, Payload
from ._dialect import Dialect
from ._fields import action, exit_code_in, field, flag, kind_of, line, nested, path, text, whole_text

__all__ = ["DIALECT"]

NAME: Final = "cline"

_KINDS: Final[Mapping[str, Kind]] = {
    "TaskStart": "session_start",
    "TaskResume": "session_start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tool_result",
    "PreCompact": "snapshot",
    "TaskError": "failure",
    "TaskComplete": "session_end",
    "TaskCancel": "session_end",
    "agent_start": "session_start",
    "agent_resume": "session_start",
    "prompt_submit": "prompt",
    "tool_result": "tool_result",
    "agent_error": "failure",
    "agent_end": "session_end",
    "agent_abort": "session_end",
}
_INJECTS: Final = frozenset({"session_start", "prompt", "tool_result", "failure"})
_NO_ANSWER: Final = frozenset({"TaskError", "agent_error"})


def claims(payload: Payload) -> bool:
    """Cline names its version."""
    return "clineVersion" in payload


def read(payload: Payload, event: str) -> Event:
    """Read a payload."""
    name = line(payload, "hookName") or event
    kind = kind_of(_KINDS, name)
    result, used = nested(payload, "tool_result"), nested(payload, "postToolUse")
    output = text(result, "error") or whole_text(used, "result") or whole_text(result, "output") or whole_text(payload, "error")
    if kind == "tool_result" and (flag(used, "success") is False or text(result, "error")):
        kind = "failure"
    arguments = {"input": result.get("input") or used.get("parameters")}
    roots = field(payload, "workspaceRoots")
    return Event(
        NAME,
        name,
        kind,
        session=line(payload, "taskId") or line(payload, "sessionContext", "rootSessionId"),
        cwd=line({"root": roots[0]}, "root") if isinstance(roots, list) and roots else "",
        agent=line(payload, "agent_id") if line(payload, "parent_agent_id") else "",
        call=line(result, "id"),
        tool=line(result, "name") or line(used, "toolName"),
        action=action(arguments, "input"),
        path=path(arguments, "input"),
        output=output,
        exit_code=exit_code_in(output) if kind == "failure" else None,
        error_class=line(payload, "error", "name"),
        said=text(payload, "userPromptSubmit", "prompt") or text(payload, "taskStart", "taskMetadata", "initialTask"),
        source=line(payload, "taskCancel", "taskMetadata", "completionStatus"),
    )


def context(event: Event, said: str) -> dict[str, Any] | None:
    """Hand a text to the model."""
    if event.kind not in _INJECTS or event.name in _NO_ANSWER:
        return None
    return {"cancel": False, "contextModification": said}


DIALECT: Final = Dialect(NAME, claims, read, context)
