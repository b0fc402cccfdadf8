"""Cursor's agent transcripts (3.18): lines of `role` and `message.content`, and ends of turns.

The results of tools are not kept there; what a failing tool said comes from the events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..dialects._fields import field, line, whole_text
from ..event import Payload
from ._evidence import Calls, Evidence, Format, plain

__all__ = ["FORMAT"]


def claims(record: Payload) -> bool:
    """A role beside a message, or a turn's end."""
    return ("role" in record and isinstance(record.get("message"), dict)) or line(record, "type") == "turn_ended"


def read(records: Iterable[Payload]) -> Iterator[Evidence]:
    """Yield what the lines tell."""
    calls = Calls()
    for record in records:
        if line(record, "type") == "turn_ended" and line(record, "status") == "error":
            yield Evidence("error", "the turn ended with an error", failed=True)
        content = field(record, "message", "content")
        for block in content if isinstance(content, list) else []:
            of = line(block, "type")
            if of == "text":
                yield from plain("user" if line(record, "role") == "user" else "plan", whole_text(block, "text"))
            elif of == "tool_use":
                yield from calls.called(line(block, "id"), line(block, "name"), field(block, "input"))
            elif of == "tool_result":
                failed = field(block, "is_error")
                yield from calls.returned(line(block, "tool_use_id"), whole_text(block, "content"), failed=failed is True)


FORMAT: Final = Format("cursor", claims, read)
