"""Codex's rollout (0.146, "not a stable interface"): lines of `timestamp`, `type` and `payload`.

A command's exit code stands in the event `exec_command_end`; the output of the same call that the model saw may follow it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..dialects._fields import field, flag, line, nested, number, text, whole_text
from ..event import Payload
from ..reading import payload_of
from ._evidence import Calls, Evidence, Format, plain

__all__ = ["FORMAT"]

_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})


def claims(record: Payload) -> bool:
    """A line with a payload."""
    return isinstance(record.get("payload"), dict) and "type" in record


def read(records: Iterable[Payload]) -> Iterator[Evidence]:
    """Yield what the lines tell."""
    calls, ended = Calls(), _Ended()
    for record in records:
        payload = nested(record, "payload")
        of = line(payload, "type")
        if line(record, "type") == "event_msg":
            yield from _event(of, payload, calls, ended)
        elif of in _CALLS:
            yield from calls.called(line(payload, "call_id"), line(payload, "name") or "shell", _arguments(payload))
        elif of in _OUTPUTS and line(payload, "call_id") not in ended:
            output, code = _output(payload)
            yield from calls.returned(line(payload, "call_id"), output, exit_code=code)
        elif of == "message" and line(payload, "role") == "assistant":
            yield from plain("plan", whole_text(payload, "content"))


class _Ended:
    """The last calls whose end was an event."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}

    def add(self, call: str) -> None:
        self._ids[call] = None
        if len(self._ids) > 1_000:
            del self._ids[next(iter(self._ids))]

    def __contains__(self, call: str) -> bool:
        return call in self._ids


def _event(of: str, payload: Payload, calls: Calls, ended: _Ended) -> Iterator[Evidence]:
    call = line(payload, "call_id")
    if of == "user_message":
        yield from plain("user", text(payload, "message"))
    elif of == "exec_command_end":
        ended.add(call)
        output = text(payload, "aggregated_output") or whole_text(payload)
        yield from calls.returned(call, output, exit_code=number(payload, "exit_code"), made=_made(payload))
    elif of == "patch_apply_end":
        ended.add(call)
        success = flag(payload, "success")
        yield from calls.returned(call, whole_text(payload), failed=None if success is None else not success)
    elif of == "error":
        yield Evidence("error", whole_text(payload, "message"), failed=True)


def _made(payload: Payload) -> Evidence | None:
    """Return the call that an end tells of by itself; a shell's own arguments are not part of the command."""
    command = field(payload, "command")
    if isinstance(command, list) and command and isinstance(command[-1], str):
        return next(Calls().called("", "shell", {"command": command[-1]}))
    return None


def _arguments(payload: Payload) -> object:
    given = field(payload, "arguments")
    if given is None:
        given = field(payload, "input") or field(payload, "action")
    parsed = payload_of(given.encode("utf-8", "replace")) if isinstance(given, str) else None
    arguments = parsed if parsed is not None else given
    command = field(arguments, "command")
    # A shell call's command is its program and arguments: of `bash -lc X`, X is what was meant.
    if isinstance(arguments, dict) and isinstance(command, list) and len(command) == 3 and command[1] in {"-lc", "-c"}:
        return {**arguments, "command": command[2]}
    return arguments


def _output(payload: Payload) -> tuple[str, int | None]:
    """Return the output, which may be JSON with metadata inside a text, and the exit code."""
    given = field(payload, "output")
    inner = payload_of(given.encode("utf-8", "replace")) if isinstance(given, str) else given
    code = number(inner, "metadata", "exit_code")
    return (whole_text({"output": inner or given}, "output"), code)


FORMAT: Final = Format("codex", claims, read)
