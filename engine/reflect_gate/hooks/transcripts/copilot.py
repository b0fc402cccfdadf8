"""GitHub Copilot CLI's `events.jsonl` (1.0.78): dotted types with `data`; `tool.execution_complete` says `success`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..dialects._fields import exit_code_in, field, flag, line, nested, text, whole_text
from ..event import Payload
from ._evidence import Calls, Evidence, Format, bounded, plain

__all__ = ["FORMAT"]


def claims(record: Payload) -> bool:
    """A dotted type with data."""
    return "." in line(record, "type") and isinstance(record.get("data"), dict)


def read(records: Iterable[Payload]) -> Iterator[Evidence]:
    """Yield what the events tell."""
    calls = Calls()
    for record in records:
        of, data = line(record, "type"), nested(record, "data")
        call = line(data, "toolCallId")
        if of == "user.message":
            yield from plain("user", text(data, "content"))
        elif of == "assistant.message":
            yield from plain("plan", text(data, "content"))
        elif of == "tool.execution_start":
            yield from calls.called(call, line(data, "toolName"), field(data, "arguments"))
        elif of == "tool.execution_complete":
            output = whole_text(data, "result") or whole_text(data, "error")
            yield from calls.returned(call, output, failed=_failed(flag(data, "success"), output))
        elif of == "session.error":
            yield Evidence("error", bounded(text(data, "message")), error_class=line(data, "errorType"), failed=True)


def _failed(success: bool | None, output: str) -> bool | None:
    """A shell call is a success even where its command failed: its exit code decides then."""
    return None if success is None else not success or bool(exit_code_in(output))


FORMAT: Final = Format("copilot", claims, read)
