"""OpenHands' events: the SDK's (1.43), typed by `kind`, a file or a line each; and the lists of V0 trajectories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..dialects._fields import field, flag, line, number, text, whole_text
from ..event import Payload
from ._evidence import Calls, Evidence, Format, bounded, plain

__all__ = ["FORMAT"]

_RUNNING: Final = -1


def claims(record: Payload) -> bool:
    """An event by its kind, or an action or observation of V0."""
    if line(record, "kind").endswith("Event"):
        return True
    return "source" in record and ("observation" in record or "action" in record)


def read(records: Iterable[Payload]) -> Iterator[Evidence]:
    """Yield what the events tell."""
    calls = Calls()
    for record in records:
        of = line(record, "kind")
        yield from _event(of, record, calls) if of else _older(record, calls)


def _event(of: str, record: Payload, calls: Calls) -> Iterator[Evidence]:
    call, tool = line(record, "tool_call_id"), line(record, "tool_name")
    if of == "MessageEvent":
        yield from plain("user" if line(record, "source") == "user" else "plan", whole_text(record, "llm_message", "content"))
    elif of == "ActionEvent":
        yield from plain("plan", whole_text(record, "thought"))
        yield from calls.called(call, tool, field(record, "action"))
    elif of == "ObservationEvent":
        code = number(record, "observation", "exit_code")
        wrong = flag(record, "observation", "is_error")
        output = whole_text(record, "observation")
        yield from calls.returned(call, output, failed=True if wrong else None, exit_code=None if code == _RUNNING else code)
    elif of == "AgentErrorEvent":
        yield from calls.returned(call, text(record, "error"), failed=True)
    elif of == "ConversationErrorEvent":
        yield Evidence("error", bounded(text(record, "detail")), error_class=line(record, "code"), failed=True)


def _older(record: Payload, calls: Calls) -> Iterator[Evidence]:
    action, call = line(record, "action"), line(record, "id")
    if action == "message":
        yield from plain("user" if line(record, "source") == "user" else "plan", text(record, "args", "content"))
    elif action:
        yield from plain("plan", text(record, "args", "thought"))
        tool = "edit" if action in {"edit", "write"} else action
        yield from calls.called(call, tool, field(record, "args"))
    elif line(record, "observation"):
        code = number(record, "extras", "metadata", "exit_code")
        output = text(record, "content")
        failed = True if line(record, "observation") == "error" else None
        yield from calls.returned(line(record, "cause"), output, failed=failed, exit_code=None if code == _RUNNING else code)


FORMAT: Final = Format("openhands", claims, read)
