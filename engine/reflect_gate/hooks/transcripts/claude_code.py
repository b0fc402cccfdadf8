"""Claude Code's JSON lines (2.1.240): `type` user or assistant, with blocks of text, `tool_use` and `tool_result`.

Sidechains are subagents' own conversations, whose results come back by the call that began them; they are passed over, except in
a subagent's own file, which holds nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..dialects._fields import field, flag, line, number, whole_text
from ..event import Payload
from ._evidence import Calls, Evidence, Format, plain

__all__ = ["FORMAT"]


def claims(record: Payload) -> bool:
    """Lines that know their parent and their session."""
    return "uuid" in record and ("parentUuid" in record or "sessionId" in record)


def read(records: Iterable[Payload]) -> Iterator[Evidence]:
    """Yield what the lines tell."""
    calls = Calls()
    own: bool | None = None
    for record in records:
        kind = line(record, "type")
        if kind not in {"user", "assistant"}:
            continue
        aside = bool(flag(record, "isSidechain"))
        own = aside if own is None else own
        if aside == own:
            yield from _message(record, kind, calls)


def _message(record: Payload, kind: str, calls: Calls) -> Iterator[Evidence]:
    content = field(record, "message", "content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for block in content if isinstance(content, list) else []:
        of = line(block, "type")
        if of == "text" and not flag(record, "isMeta"):
            yield from plain("user" if kind == "user" else "plan", whole_text(block, "text"))
        elif of == "tool_use":
            yield from calls.called(line(block, "id"), line(block, "name"), field(block, "input"))
        elif of == "tool_result":
            failed = flag(block, "is_error")
            code = number(record, "toolUseResult", "exitCode")
            # A result without the mark is a success: the mark is only written where it is true.
            yield from calls.returned(
                line(block, "tool_use_id"), whole_text(block, "content"), failed=bool(failed), exit_code=code
            )


FORMAT: Final = Format("claude-code", claims, read)
