"""Changing a text of JSON where it stands: one value more, another one, or one less; everything else keeps its bytes.

What `append` puts in, `remove` takes out again without a trace, whatever was changed elsewhere in between.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias

from ..errors import ReflectGateError
from .jsonc import Node, parse

__all__ = ["Way", "append", "at", "remove", "render", "replace"]

Way: TypeAlias = Sequence[str | int]
"""Names and positions that lead from the root to a value."""

_INDENT: Final = re.compile(r"\n([ \t]+)[^ \t\r\n]")
_WIDEST: Final = 16
_DEEPEST: Final = 1_024
"""Characters of one step of indentation and of all: each line that is put in repeats it, and a file could grow without end."""

_REST_OF_LINE: Final = re.compile(r"(?:[ \t]*/\*[^\n]*?\*/)*(?:[ \t]*//[^\r\n]*)?")


def at(node: Node, way: Way) -> Node | None:
    """Return the value that a way leads to, None where it ends before."""
    for step in way:
        if isinstance(step, str):
            found = node.get(step)
        else:
            found = node.items[step] if step < len(node.items) else None
        if found is None:
            return None
        node = found
    return node


def _found(root: Node, way: Way) -> Node:
    node = at(root, way)
    if node is None:
        raise KeyError(way)
    return node


def render(value: Any, unit: str = "  ", newline: str = "\n", lead: str = "", *, compact: bool = False) -> str:
    """Return a value as text: on lines that begin with `lead` but for the first, or on one line."""
    if compact:
        return json.dumps(value, ensure_ascii=False)
    text = json.dumps(value, ensure_ascii=False, indent=unit)
    return text.replace("\n", newline + lead)


def append(text: str, way: Way, value: Any, name: str | None = None) -> str:
    """Return a text with one value more at the end of an array, or under `name` at the end of an object."""
    root = parse(text, "")
    into = _found(root, way)
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = _unit(text)
    parts = into.parts
    compact = _on_one_line(text, root if not parts else into)
    lead = _lead_of(text, parts[-1][0]) if parts and not compact else _lead_of(text, into.start) + unit
    label = "" if name is None else json.dumps(name, ensure_ascii=False) + ": "
    child = label + render(value, unit, newline, lead, compact=compact)
    before = "" if compact else newline + lead
    if not parts:
        inner = text[into.start + 1 : into.end - 1]
        # Where the bracket stands on a line of its own already, it stays there.
        behind = "" if compact or "\n" in inner else newline + _lead_of(text, into.start)
        return text[: into.start + 1] + before + child + behind + text[into.start + 1 :]
    gap = " " if compact else before
    last = parts[-1][1]
    if into.comma >= 0:
        there = _behind_remarks(text, into.comma + 1)
        return text[:there] + gap + child + "," + text[there:]
    there = _behind_remarks(text, last)
    return text[:last] + "," + text[last:there] + gap + child + text[there:]


def replace(text: str, way: Way, value: Any) -> str:
    """Return a text with another value at a place."""
    node = _found(parse(text, ""), way)
    newline = "\r\n" if "\r\n" in text else "\n"
    compact = "\n" not in text[node.start : node.end] and isinstance(node.value, dict | list)
    return (
        text[: node.start] + render(value, _unit(text), newline, _lead_of(text, node.start), compact=compact) + text[node.end :]
    )


def remove(text: str, way: Way, empty: str | None = None) -> str:
    """Return a text without a value; `empty` is what stood between the brackets when nothing else did."""
    into = _found(parse(text, ""), way[:-1])
    step = way[-1]
    names = [member.name for member in into.members]
    index = names.index(step) if isinstance(step, str) else step
    start, end = into.parts[index]
    expected = _without(into.value, step)
    # Up to the end of what stands before it; where that is a remark to the end of its line, the line break has to stay.
    for begin in (len(text[:start].rstrip(" \t\r\n")), start):
        left = _emptied(text, into, begin, end, empty) if len(into.parts) == 1 else _cut(text, into, index, begin)
        with suppress(ReflectGateError):
            found = at(parse(left, ""), way[:-1])
            if found is not None and found.value == expected:
                return left
    raise ReflectGateError("settings-shape", f"`{step}` cannot be taken out without touching the rest")


def _without(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return {name: inner for name, inner in value.items() if name != step}
    return [inner for index, inner in enumerate(value) if index != step]


def _cut(text: str, into: Node, index: int, begin: int) -> str:
    end = into.parts[index][1]
    if index + 1 < len(into.parts) or into.comma >= 0:
        # The comma behind it goes too; remarks between are the user's and stay.
        comma = _comma_behind(text, end)
        return text[:begin] + text[end:comma] + text[comma + 1 :]
    comma = _comma_behind(text, into.parts[index - 1][1])
    return text[:comma] + text[comma + 1 : begin] + text[end:]


def _emptied(text: str, into: Node, start: int, end: int, empty: str | None) -> str:
    behind = into.comma + 1 if into.comma >= 0 else end
    left = text[into.start + 1 : start] + text[behind : into.end - 1]
    was = empty or ""
    if left.split() == was.split():
        left = was
    return text[: into.start + 1] + left + text[into.end - 1 :]


def _comma_behind(text: str, place: int) -> int:
    """Return where the comma behind a value stands; the text has been parsed, so there is one, behind remarks at most."""
    while text[place] != ",":
        if text.startswith("//", place):
            place = text.index("\n", place)
        elif text.startswith("/*", place):
            place = text.index("*/", place) + 2
        else:
            place += 1
    return place


def _behind_remarks(text: str, place: int) -> int:
    found = _REST_OF_LINE.match(text, place)
    return found.end() if found else place


def _on_one_line(text: str, node: Node) -> bool:
    return bool(node.parts) and "\n" not in text[node.start : node.end]


def _lead_of(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))][:_DEEPEST]


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found.group(1) if found and len(found.group(1)) <= _WIDEST else "  "
