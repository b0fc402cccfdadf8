"""mini-swe-agent's trajectories (format 1.1): one document with `messages`, or the bare list of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..dialects._fields import field, line, number, whole_text
from ..event import Payload
from ._evidence import Calls, Evidence, Format, plain

__all__ = ["FORMAT"]

_OPEN, _SHUT = "<returncode>", "</returncode>"
_FENCE: Final = "```"


def claims(record: Payload) -> bool:
    """A document with messages, or a message of a bare list."""
    return isinstance(record.get("messages"), list) or ("role" in record and "content" in record)


def read(records: Iterable[Payload]) -> Iterator[Evidence]:
    """Yield what the messages tell."""
    calls, waiting = Calls(), [0, 0]
    for record in records:
        messages = record.get("messages")
        for message in messages if isinstance(messages, list) else [record]:
            yield from _message(message, calls, waiting)
        status = line(record, "info", "exit_status")
        if status and status != "Submitted":
            yield Evidence("error", f"the run ended with {status}", error_class=status, failed=True)


def _message(message: object, calls: Calls, counts: list[int]) -> Iterator[Evidence]:
    """Yield a message; `counts` are the calls that were made, and those that returned, since results come in their order."""
    role, content = line(message, "role"), whole_text(message, "content")
    code = _code(message, content)
    if role == "assistant":
        yield from plain("plan", content)
        for command in _commands(message, content):
            counts[0] += 1
            yield from calls.called(str(counts[0]), "bash", {"command": command})
    elif code is not None:
        counts[1] += 1
        yield from calls.returned(str(counts[1]), content, exit_code=code)
    elif role == "user":
        yield from plain("user", content)


def _commands(message: object, content: str) -> list[str]:
    actions = field(message, "extra", "actions")
    found = [line(entry, "command") for entry in actions] if isinstance(actions, list) else []
    if not found and content.count(_FENCE) == 2:
        found = [content.split(_FENCE)[1].partition("\n")[2].strip()]
    return [command for command in found if command]


def _code(message: object, content: str) -> int | None:
    code = number(message, "extra", "returncode")
    if code is None and content.startswith(_OPEN):
        said = content[len(_OPEN) :].partition(_SHUT)[0].strip()
        code = int(said) if said.lstrip("-").isdecimal() and len(said) < 11 else None
    return code


FORMAT: Final = Format("mini-swe-agent", claims, read)
