"""Where in a document an error lies, and how its value is shown. Used only once something is refused, on texts of any content.

Everything here is linear in the text and free of recursion.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple, cast

__all__ = [
    "Unlike",
    "character_place",
    "describe",
    "first_duplicate",
    "first_large_number",
    "first_too_deep",
    "first_unlike",
    "open_levels",
    "pointer",
]

SHOWN: Final = 60
"""Characters of a value that a message shows."""

# A string that is never closed runs to the end of the text: starting anew at each of its quotes would take quadratic time.
_PIECE: Final = r'(?s)"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}:]|-?[0-9][0-9.eE+-]*+'
_LEAST, _MOST = -(2**63), 2**64 - 1


class Unlike(NamedTuple):
    """The first value that is not plain JSON: its JSON pointer, the error's code, and its message."""

    pointer: str
    code: str
    message: str


def describe(value: object) -> str:
    """Return `value` as a message shows it: text, numbers and constants in backticks, shortened; objects and arrays in words."""
    if isinstance(value, dict):
        return "an object" if value else "an empty object"
    if isinstance(value, list | tuple):
        return "an array" if value else "an empty array"
    if isinstance(value, str):
        shown = json.dumps(str(value[: SHOWN + 1])).replace("`", "'")
        return f"`{shown}`" if len(shown) <= SHOWN + 2 else f"`{shown[:SHOWN]}…`"
    if value is None or isinstance(value, bool | float):
        return f"`{json.dumps(value)}`"
    if isinstance(value, int):
        return f"`{value:d}`" if _LEAST <= value <= _MOST else "a number above 64 bits"
    return f"a value of type `{type(value).__name__[:SHOWN]}`"


def pointer(*steps: object) -> str:
    """Return the JSON pointer (RFC 6901) of `steps`, each shortened."""
    return "".join("/" + json.dumps(str(step)[:256])[1:-1].replace("~", "~0").replace("/", "~1") for step in steps)


def character_place(text: str, position: int) -> tuple[int, int]:
    """Return how many lines precede `position`, and its column counted from 1."""
    return text.count("\n", 0, position), position - text.rfind("\n", 0, position)


def _parts(text: str) -> Iterator[tuple[int, str]]:
    for match in re.finditer(_PIECE, text):
        yield match.start(), match.group()


def first_too_deep(text: str, most: int) -> int | None:
    """Return the position of the first bracket that opens more than `most` levels, `None` where none does."""
    depth = 0
    for position, part in _parts(text):
        if part in "[{":
            depth += 1
            if depth > most:
                return position
        elif part in "]}":
            depth -= 1
    return None


def open_levels(text: str) -> int:
    """Return how many brackets are open at the end of `text`; -1 where it ends within a string."""
    depth = 0
    for _, part in _parts(text):
        if part in "[{":
            depth += 1
        elif part in "]}":
            depth -= 1
        elif part[0] == '"' and not _closed(part):
            return -1
    return depth


def _closed(part: str) -> bool:
    body = part[1:-1]
    return len(part) > 1 and part.endswith('"') and (len(body) - len(body.rstrip("\\"))) % 2 == 0


def first_duplicate(text: str) -> tuple[int, str]:
    """Return the position and name of the first key that its object already has; `text` is well-formed and has one."""
    keys: list[set[str]] = []
    last = (0, "")
    for position, part in _parts(text):
        if part in "[{":
            keys.append(set())
        elif part in "]}":
            keys.pop()
        elif part == ":":
            key = str(json.loads(last[1]))
            if key in keys[-1]:
                return last[0], key
            keys[-1].add(key)
        else:
            last = (position, part)
    return 0, ""


def first_large_number(text: str) -> int:
    """Return the position of the first whole number that 64 bits do not hold; `text` is well-formed and has one."""
    for position, part in _parts(text):
        if part[0] in "-0123456789" and part.lstrip("-").isdigit() and (len(part) > 21 or not _LEAST <= int(part) <= _MOST):
            return position
    return 0


def first_unlike(value: object, depth: int) -> Unlike:
    """Return what in `value` is not plain JSON, or is nested deeper than `depth` levels."""
    todo: list[tuple[tuple[object, ...], object]] = [((), value)]
    while todo:
        steps, inner = todo.pop()
        kind = type(inner)
        if kind not in {dict, list}:
            message = _unlike_scalar(inner)
            if message:
                return Unlike(pointer(*steps), "document-type", message)
            continue
        if len(steps) >= depth:
            return Unlike("", "document-depth", f"nested deeper than {depth} levels")
        entries: list[tuple[object, object]] = [
            *(inner.items() if isinstance(inner, dict) else enumerate(cast("list[object]", inner)))
        ]
        for key, _ in entries if kind is dict else ():
            if type(key) is not str or _unlike_scalar(key):
                return Unlike(pointer(*steps), "document-type", f"a key must be plain text, found {describe(key)}")
        todo += [((*steps, key), child) for key, child in reversed(entries)]
    return Unlike("", "document-type", "holds a value that is not plain JSON")


def _unlike_scalar(value: object) -> str:
    """Return why `value` is not a plain JSON scalar, or nothing where it is one."""
    kind = type(value)
    if kind is str:
        try:
            str(value).encode()
        except UnicodeEncodeError:
            return f"text with a lone surrogate: {describe(value)}"
        return ""
    if kind is int:
        return "" if _LEAST <= int(value) <= _MOST else "a whole number above 64 bits"  # type: ignore[call-overload]
    if kind is float:
        return "" if float("-inf") < float(value) < float("inf") else f"not a finite number: {describe(value)}"  # type: ignore[arg-type]
    if value is None or kind is bool:
        return ""
    return f"not plain JSON: a value of type `{kind.__name__[:SHOWN]}`"
