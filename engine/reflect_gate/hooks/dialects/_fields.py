"""Reading fields out of a payload whose shape is not to be relied on: what is missing or of another type is empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..event import LINE, TEXT, Event, Kind, Payload

__all__ = [
    "action",
    "exit_code_in",
    "field",
    "flag",
    "kind_of",
    "line",
    "named",
    "nested",
    "number",
    "path",
    "text",
    "whole_text",
]

_GAP: Final = "\n[…]\n"
_COMMANDS: Final = ("command", "cmd", "script", "code")
_PATHS: Final = ("file_path", "filePath", "path", "absolute_path", "notebook_path", "filename")
_EXITS: Final = ("exit code", "exit status", "process exited with code", "exited with code", "command exited with code")
_FIRST, _LAST = 8, 2
_EXIT_LIMIT: Final = 4_294_967_295


def field(payload: object, *keys: str) -> object:
    """Return what stands under `keys`, each inside the last; None where the way ends."""
    for key in keys:
        if not isinstance(payload, dict):
            return None
        payload = payload.get(key)
    return payload


def nested(payload: object, *keys: str) -> Payload:
    """Return the object under `keys`, else an empty one."""
    found = field(payload, *keys)
    return found if isinstance(found, dict) else {}


def line(payload: object, *keys: str) -> str:
    """Return a name or a path: a string on one line, or a number as one; bounded."""
    found = field(payload, *keys)
    if isinstance(found, bool) or not isinstance(found, str | int):
        return ""
    return _sound(" ".join(str(found)[:LINE].split()) if not isinstance(found, int) else str(found)[:LINE])


def text(payload: object, *keys: str) -> str:
    """Return a text, bounded: of a longer one the first two thirds and the last third stay."""
    found = field(payload, *keys)
    return cut(found) if isinstance(found, str) else ""


def cut(found: str) -> str:
    """Return a text held to `TEXT` characters, without halves of surrogate pairs."""
    if len(found) > TEXT:
        tail = TEXT // 3
        found = found[: TEXT - tail - len(_GAP)] + _GAP + found[-tail:]
    return _sound(found)


def _sound(found: str) -> str:
    return found if found.isascii() else found.encode("utf-8", "replace").decode("utf-8")


def whole_text(payload: object, *keys: str) -> str:
    """Return a text wherever it hides: a string, a list of parts, an object with an output, an object as JSON."""
    return cut(_flat(field(payload, *keys), 0))


def _flat(found: object, depth: int) -> str:
    if isinstance(found, str):
        return found
    if depth > 4 or found is None or isinstance(found, bool):
        return ""
    if isinstance(found, list):
        return "\n".join(part for entry in found[:64] if (part := _flat(entry, depth + 1)))
    if isinstance(found, dict):
        for keys in (
            ("stdout", "stderr"),
            ("text",),
            ("content",),
            ("output",),
            ("llmContent",),
            ("textResultForLlm",),
            ("message",),
        ):
            parts = [part for key in keys if (part := _flat(found.get(key), depth + 1))]
            if parts:
                return "\n".join(parts)
        return ""
    return str(found)


def number(payload: object, *keys: str) -> int | None:
    """Return a whole number that a process may exit with, else None."""
    found = field(payload, *keys)
    if isinstance(found, bool) or not isinstance(found, int) or abs(found) > _EXIT_LIMIT:
        return None
    return found


def flag(payload: object, *keys: str) -> bool | None:
    """Return a truth value, else None."""
    found = field(payload, *keys)
    return found if isinstance(found, bool) else None


def action(payload: object, *keys: str) -> str:
    """Return what a tool was asked to do: its command, else its arguments as JSON."""
    given = field(payload, *keys)
    if isinstance(given, str):
        return cut(given)
    if isinstance(given, list) and all(isinstance(part, str) for part in given):
        return cut(" ".join(given))
    if not isinstance(given, dict) or not given:
        return ""
    # An editor's `command` is `str_replace` or the like: what it did is in all of its arguments.
    for key in _COMMANDS if not path({"given": given}, "given") else ():
        if isinstance(given.get(key), str | list):
            return action(given, key)
    import json

    return cut(json.dumps(given, ensure_ascii=False, sort_keys=True, default=str))


def path(payload: object, *keys: str) -> str:
    """Return the file that a tool's arguments name."""
    given = nested(payload, *keys)
    return next((found for key in _PATHS if (found := line(given, key))), "")


def exit_code_in(output: str) -> int | None:
    """Return the exit code that a text reports on a line of its own among its first or last, as `Exit code 1`; else None."""
    lines = output.splitlines()
    for said in [*lines[:_FIRST], *lines[-_LAST:]]:
        lowered = said.strip().lower()
        for start in _EXITS:
            if lowered.startswith(start):
                digits = lowered[len(start) :].strip(" :=.")
                if digits.lstrip("-").isdecimal() and len(digits) < 11:
                    return int(digits)
    return None


def kind_of(kinds: Mapping[str, Kind], name: str) -> Kind:
    """Return the kind of an event; a name that is not known is `other`, and ignored."""
    return kinds.get(name, "other")


def named(dialect: str, name: str, kind: Kind, payload: Payload, **known: Any) -> Event:
    """Return the event of a payload that names session, place and transcript as most harnesses do."""
    common: dict[str, Any] = {
        "session": line(payload, "session_id"),
        "cwd": line(payload, "cwd"),
        "agent": line(payload, "agent_id"),
        "transcript": line(payload, "transcript_path"),
    }
    return Event(dialect, name, kind, **{**common, **known})
