"""JSON with comments and trailing commas, read with the place of everything, so that a text can be changed where it stands."""

from __future__ import annotations

import functools
import json
import re
from typing import Any, Final, NamedTuple, TypeAlias

from ..errors import ReflectGateError, Source

__all__ = ["Member", "Node", "parse", "place_of"]

_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_DEEPEST: Final = 100


class Node(NamedTuple):
    """A value of a text, from `start` to `end`; `members` of an object, `items` of an array, `comma` behind the last of them.

    `comma` is where a trailing comma stands, -1 where there is none.
    """

    start: int
    end: int
    value: Any
    members: tuple[Member, ...] = ()
    items: tuple[Node, ...] = ()
    comma: int = -1

    @property
    def parts(self) -> tuple[tuple[int, int], ...]:
        """Where the children stand, with their names."""
        named = tuple((member.start, member.node.end) for member in self.members)
        return named or tuple((item.start, item.end) for item in self.items)

    def get(self, name: str) -> Node | None:
        """Return the value under a name, None where there is none; the last one counts, as it does for every reader."""
        return next((member.node for member in reversed(self.members) if member.name == name), None)


class Member(NamedTuple):
    """A name of an object, which begins at `start`, and its value."""

    start: int
    name: str
    node: Node


_Found: TypeAlias = tuple[Node, int]


def place_of(text: str, at: int, file: str) -> Source:
    """Return line and column, from 1, of a place in a text."""
    before = text[:at]
    return Source(file, before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1)


@functools.lru_cache(8)
def parse(text: str, file: str) -> Node:
    """Return the value of a text; what it returns is shared by all who ask for the same, and not to be changed.

    Raises:
        ReflectGateError: `settings-syntax` with the place, for what is no JSON even with comments, or twice the same name.
    """
    reader = _Reader(text, file)
    node, at = reader.value(reader.skip(0), 0)
    at = reader.skip(at)
    if at < len(text):
        raise reader.wrong(at, "the end of the file")
    return node


class _Reader:
    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file

    def wrong(self, at: int, expected: str) -> ReflectGateError:
        found = f"`{self.text[at]}`" if at < len(self.text) else "the end of the file"
        return ReflectGateError("settings-syntax", f"expected {expected}, found {found}", place_of(self.text, at, self.file))

    def skip(self, at: int) -> int:
        found = _BLANK.match(self.text, at)
        return found.end() if found else at

    def value(self, at: int, depth: int) -> _Found:
        first = self.text[at : at + 1]
        if depth > _DEEPEST:
            raise self.wrong(at, f"at most {_DEEPEST} levels")
        if first == "{":
            return self._object(at, depth)
        if first == "[":
            return self._array(at, depth)
        found = (_STRING if first == '"' else _SCALAR).match(self.text, at)
        if found is None:
            raise self.wrong(at, "a value")
        said = found.group()
        if first == '"' and "\\" not in said:
            return Node(at, found.end(), said[1:-1]), found.end()
        try:
            return Node(at, found.end(), json.loads(said)), found.end()
        except ValueError:
            raise self.wrong(at, "a string with sound escapes") from None

    def _object(self, start: int, depth: int) -> _Found:
        members: list[Member] = []
        seen: set[str] = set()
        at, comma = self.skip(start + 1), -1
        while self.text[at : at + 1] != "}":
            if members and comma < 0:
                raise self.wrong(at, "`,` or `}`")
            name, colon = self._name(at)
            if name in seen:
                message = f"`{name}` is there twice, and which of them counts depends on the reader"
                raise ReflectGateError("settings-syntax", message, place_of(self.text, at, self.file))
            seen.add(name)
            node, behind = self.value(self.skip(colon + 1), depth + 1)
            members.append(Member(at, name, node))
            at, comma = self._comma(behind)
        value = {member.name: member.node.value for member in members}
        return Node(start, at + 1, value, tuple(members), (), comma), at + 1

    def _name(self, at: int) -> tuple[str, int]:
        found = _STRING.match(self.text, at)
        if found is None:
            raise self.wrong(at, "a name in quotes")
        colon = self.skip(found.end())
        if self.text[colon : colon + 1] != ":":
            raise self.wrong(colon, "`:`")
        return str(self.value(at, 0)[0].value), colon

    def _array(self, start: int, depth: int) -> _Found:
        items: list[Node] = []
        at, comma = self.skip(start + 1), -1
        while self.text[at : at + 1] != "]":
            if items and comma < 0:
                raise self.wrong(at, "`,` or `]`")
            node, behind = self.value(at, depth + 1)
            items.append(node)
            at, comma = self._comma(behind)
        return Node(start, at + 1, [item.value for item in items], (), tuple(items), comma), at + 1

    def _comma(self, behind: int) -> tuple[int, int]:
        at = self.skip(behind)
        return (self.skip(at + 1), at) if self.text[at : at + 1] == "," else (at, -1)
