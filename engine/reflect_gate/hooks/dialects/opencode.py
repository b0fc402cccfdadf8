"""OpenCode, whose plugins run in its own process (plugin API of August 2026): a shim hands us the arguments on stdin.

The shim sends `{"input": …, "output": …}` of `tool.execute.after`, `chat.message` and `experimental.chat.system.transform`, or
`{"event": {"type": …, "properties": …}}`, with the hook's name in `hook` or in `--event`. It pushes `context` of the answer to
the parts or the system prompt. The exit code of a command stands in `output.metadata.exit`, which is not documented.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..event import Event, Kind, Payload
from ._dialect import Dialect
from ._fields import action, exit_code_in, kind_of, line, nested, number, path, text, whole_text

__all__ = ["DIALECT"]

NAME: Final = "opencode"

_KINDS: Final[Mapping[str, Kind]] = {
    "session.created": "session_start",
    "experimental.chat.system.transform": "session_start",
    "chat.message": "prompt",
    "tool.execute.after": "tool_result",
    "session.error": "failure",
    "session.idle": "turn_end",
    "session.compacted": "snapshot",
    "session.deleted": "session_end",
}
_INJECTS: Final = frozenset({"experimental.chat.system.transform", "chat.message"})


def claims(payload: Payload) -> bool:
    """Arguments of a plugin, which spell the session's id in their own way; or an event of the bus."""
    return "sessionID" in nested(payload, "input") or bool(line(payload, "event", "type"))


def read(payload: Payload, event: str) -> Event:
    """Read a payload."""
    about, given, result = nested(payload, "event", "properties"), nested(payload, "input"), nested(payload, "output")
    name = line(payload, "hook") or line(payload, "event", "type") or event or _guessed(given, result)
    kind = kind_of(_KINDS, name)
    output = whole_text(result, "output") or whole_text(about, "error", "data") or whole_text(about, "error")
    exit_code = number(result, "metadata", "exit")
    if exit_code is None:
        exit_code = exit_code_in(output)
    if kind == "tool_result" and exit_code:
        kind = "failure"
    return Event(
        NAME,
        name,
        kind,
        session=line(given, "sessionID") or line(about, "sessionID") or line(about, "info", "id"),
        cwd=line(payload, "directory"),
        turn=line(given, "messageID"),
        call=line(given, "callID"),
        tool=line(given, "tool"),
        action=action(given, "args"),
        path=path(given, "args"),
        output=output,
        exit_code=exit_code,
        error_class=line(about, "error", "name"),
        said=whole_text(result, "parts") or text(result, "text"),
    )


def _guessed(given: Payload, result: Payload) -> str:
    if "tool" in given and "output" in result:
        return "tool.execute.after"
    if "parts" in result:
        return "chat.message"
    return "experimental.chat.system.transform" if "system" in result else ""


def context(event: Event, said: str) -> dict[str, Any] | None:
    """Hand a text to the shim."""
    return {"context": said} if event.name in _INJECTS else None


DIALECT: Final = Dialect(NAME, claims, read, context)
