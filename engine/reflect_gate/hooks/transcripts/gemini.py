"""Gemini CLI's chats (0.56): lines of `type` user or gemini with `toolCalls`; older ones are one document with `messages`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..dialects._fields import field, line, whole_text
from ..dialects.gemini import shell_output
from ..event import Payload
from ._evidence import Calls, Evidence, Format, plain

__all__ = ["FORMAT"]

_FAILED: Final = {"error": True, "success": False}


def claims(record: Payload) -> bool:
    """The header, a message of the model, or a patch of the header."""
    return "projectHash" in record or "$set" in record or (line(record, "type") == "gemini" and "id" in record)


def read(records: Iterable[Payload]) -> Iterator[Evidence]:
    """Yield what the messages tell."""
    calls = Calls()
    seen: dict[str, None] = {}
    for record in records:
        messages = record.get("messages")
        for message in messages if isinstance(messages, list) else [record]:
            yield from _message(message, calls, seen)


def _message(message: object, calls: Calls, seen: dict[str, None]) -> Iterator[Evidence]:
    kind = line(message, "type")
    if kind in {"user", "gemini"}:
        yield from plain("user" if kind == "user" else "plan", whole_text(message, "content"))
    made = field(message, "toolCalls")
    for call in made if isinstance(made, list) else []:
        status, name = line(call, "status"), line(call, "id")
        # A message is written again as its calls go on; what has neither failed nor succeeded is still running.
        if status not in _FAILED or name in seen:
            continue
        seen[name] = None
        yield from calls.called(name, line(call, "name"), field(call, "args"))
        output = shell_output(_output(call)) or whole_text(call, "resultDisplay")
        yield from calls.returned(name, output, failed=_failed(status, output))


def _failed(status: str, output: str) -> bool | None:
    """A shell call succeeds even where its command failed: its own words decide then."""
    return True if _FAILED[status] else None if "exit code" in output.lower() else False


def _output(call: object) -> str:
    parts = field(call, "result")
    found = [whole_text(part, "functionResponse", "response") for part in parts] if isinstance(parts, list) else []
    return "\n".join(part for part in found if part)


FORMAT: Final = Format("gemini", claims, read)
