"""Hermes agent, as documented in August 2026.

What is particular to an event stands in `extra`. `post_tool_call` fires for failures too: `extra.status` is then `error`.
`pre_llm_call` fires before every call of the model, so a context goes there on a turn's first call alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..event import Event, Kind, Payload
from ._dialect import Dialect
from ._fields import action, exit_code_in, flag, kind_of, line, named, path, text, whole_text

__all__ = ["DIALECT"]

NAME: Final = "hermes"

_KINDS: Final[Mapping[str, Kind]] = {
    "on_session_start": "session_start",
    "pre_llm_call": "prompt",
    "post_tool_call": "tool_result",
    "subagent_stop": "turn_end",
    "on_session_end": "session_end",
    "on_session_finalize": "session_end",
}


def claims(payload: Payload) -> bool:
    """A profile, and the particulars apart."""
    return "extra" in payload and "profile" in payload


def read(payload: Payload, event: str) -> Event:
    """Read a payload."""
    name = line(payload, "hook_event_name") or event
    kind = kind_of(_KINDS, name)
    message = text(payload, "extra", "error_message")
    output = whole_text(payload, "extra", "result") or message
    if kind == "tool_result" and line(payload, "extra", "status") in {"error", "failed", "timeout"}:
        kind = "failure"
    if kind == "prompt" and flag(payload, "extra", "is_first_turn") is False:
        kind = "other"
    return named(
        NAME,
        name,
        kind,
        payload,
        turn=line(payload, "extra", "turn_id"),
        call=line(payload, "extra", "tool_call_id"),
        tool=line(payload, "tool_name"),
        action=action(payload, "tool_input"),
        path=path(payload, "tool_input"),
        output=output,
        exit_code=(exit_code_in(message) or exit_code_in(output)) if kind == "failure" else None,
        error_class=line(payload, "extra", "error_type"),
        said=text(payload, "extra", "user_message"),
        source=line(payload, "extra", "turn_exit_reason"),
        failed=flag(payload, "extra", "failed") if kind == "session_end" else None,
    )


def context(event: Event, said: str) -> dict[str, Any] | None:
    """Hand a text to the model."""
    return {"context": said} if event.name == "pre_llm_call" and event.kind == "prompt" else None


DIALECT: Final = Dialect(NAME, claims, read, context)
