"""YAML with places: a small, strict reading of YAML in which every value knows its file, line and column.

What makes YAML surprising is refused rather than interpreted: aliases and anchors, tags, directives, duplicate keys, several
documents, keys that are not scalars, control characters, byte-order marks, and anything too large or too deep. Scalars stay text;
whoever knows the domain of a value reads it (`values.py`), so `no`, `on`, `11` and `2027-01-01` mean what they say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import yaml

from ..errors import Source
from .problems import Problems

__all__ = ["MAX_BYTES", "MAX_DEPTH", "Entry", "ListNode", "MapNode", "Node", "ScalarNode", "parse_document"]

MAX_BYTES: Final = 1_048_576
MAX_DEPTH: Final = 32

_LOADER: Final[type] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Apart from tab and line ends; U+0085, U+2028 and U+2029 end lines for YAML alone, so places would not be those of the editor.
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A scalar as written; `plain` when it stood without quotes, so that it may be a number or a flag."""

    text: str
    plain: bool
    source: Source


@dataclass(frozen=True, slots=True)
class ListNode:
    """A sequence."""

    items: tuple[Node, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class Entry:
    """A key and its value."""

    key: ScalarNode
    value: Node


@dataclass(frozen=True, slots=True)
class MapNode:
    """A mapping in the order of the file; keys are unique."""

    entries: tuple[Entry, ...]
    source: Source


Node: TypeAlias = ScalarNode | ListNode | MapNode


def parse_document(data: bytes, file: str, problems: Problems) -> Node | None:
    """Return the one document of `data`, or `None` where it could not be read; every fault goes to `problems`.

    `file` is the name that sources carry.
    """
    text = _decode(data, file, problems)
    if text is None:
        return None
    builder = _Builder(file, problems)
    try:
        for event in _events(text):
            if not builder.take(event):
                return None
    except yaml.YAMLError as error:
        problems.add("policy-yaml", *_syntax(error, file))
        return None
    if builder.root is None:
        problems.add("policy-shape", "the file is empty", Source(file, 1, 1))
    return None if builder.lost else builder.root


def _syntax(error: yaml.YAMLError, file: str) -> tuple[str, Source]:
    """Return the parser's complaint in one line, and its place."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return "not valid YAML: cannot be read", Source(file)
    reason = " ".join(str(error.problem or error.context or "cannot be read").split()).lower()
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return f"not valid YAML: {reason}", Source(file)
    return f"not valid YAML: {reason}", Source(file, mark.line + 1, mark.column + 1)


def _events(text: str) -> Iterator[yaml.events.Event]:
    yield from yaml.parse(text, Loader=_LOADER)


def _decode(data: bytes, file: str, problems: Problems) -> str | None:
    if len(data) > MAX_BYTES:
        problems.add("policy-too-large", f"the file has {len(data)} bytes, more than {MAX_BYTES}", Source(file))
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        problems.add("policy-encoding", f"byte `0x{data[error.start]:02x}` is not UTF-8", _place(file, before))
        return None
    bad = _UNPRINTABLE.search(text)
    if bad:
        what = "a byte-order mark" if bad.group() == "\ufeff" else "a control character"
        problems.add("policy-encoding", f"`U+{ord(bad.group()):04X}` is {what}", _place(file, text[: bad.start()]))
        return None
    return text


def _place(file: str, before: str) -> Source:
    lines = re.split("\r\n|\r|\n", before)
    return Source(file, len(lines), len(lines[-1]) + 1)


@dataclass(slots=True)
class _Open:
    """A collection that is being read; `key` is a mapping's key that waits for its value."""

    is_map: bool
    source: Source
    items: list[Node] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    seen: dict[str, Source] = field(default_factory=dict)
    key: ScalarNode | None = None

    def close(self) -> Node:
        return MapNode(tuple(self.entries), self.source) if self.is_map else ListNode(tuple(self.items), self.source)


class _Builder:
    """Builds nodes from parser events: the composer of PyYAML resolves aliases before anyone can refuse them."""

    def __init__(self, file: str, problems: Problems) -> None:
        self._file = file
        self._problems = problems
        self._stack: list[_Open] = []
        self._documents = 0
        self.lost = False
        """Whether something was left out, so that reading on would only find what is missing."""
        self.root: Node | None = None

    def take(self, event: yaml.events.Event) -> bool:
        """Take one event; false when reading must stop."""
        mark = event.start_mark
        source = Source(self._file) if mark is None else Source(self._file, mark.line + 1, mark.column + 1)
        if isinstance(event, yaml.events.DocumentStartEvent):
            return self._document(event, source)
        if isinstance(event, yaml.events.AliasEvent):
            self._problems.add("policy-yaml-feature", f"alias `*{event.anchor}`: write the value out", source)
            self.lost = True
            self._put(ScalarNode("", False, source))
        elif isinstance(event, yaml.events.NodeEvent):
            self._refuse_properties(event, source)
            if isinstance(event, yaml.events.ScalarEvent):
                # The pure parser says `None` and libyaml the empty text where a scalar is plain.
                self._put(ScalarNode(event.value, not event.style, source))
            else:
                return self._open(isinstance(event, yaml.events.MappingStartEvent), source)
        elif isinstance(event, yaml.events.CollectionEndEvent):
            self._put(self._stack.pop().close())
        return True

    def _document(self, event: yaml.events.DocumentStartEvent, source: Source) -> bool:
        self._documents += 1
        if self._documents > 1:
            self._problems.add("policy-yaml-feature", "a second document: a file holds one", source)
            return False
        if event.version or event.tags:
            self._problems.add("policy-yaml-feature", "a YAML directive: remove it", source)
        return True

    def _refuse_properties(self, event: yaml.events.NodeEvent, source: Source) -> None:
        if event.anchor is not None:
            self._problems.add("policy-yaml-feature", f"anchor `&{event.anchor}`: write the value out where it is used", source)
        tag = getattr(event, "tag", None)
        if tag is not None:
            self._problems.add("policy-yaml-feature", f"tag `{tag}`: values are read by what their place allows", source)

    def _open(self, is_map: bool, source: Source) -> bool:
        if len(self._stack) >= MAX_DEPTH:
            self._problems.add("policy-too-deep", f"nested deeper than {MAX_DEPTH} levels", source)
            return False
        self._stack.append(_Open(is_map, source))
        return True

    def _put(self, node: Node) -> None:
        if not self._stack:
            self.root = node
            return
        top = self._stack[-1]
        if not top.is_map:
            top.items.append(node)
        elif top.key is None:
            top.key = self._key(node)
        else:
            self._enter(top, top.key, node)
            top.key = None

    def _key(self, node: Node) -> ScalarNode:
        if isinstance(node, ScalarNode):
            return node
        self._problems.add("policy-shape", "a key must be a scalar", node.source)
        self.lost = True
        return ScalarNode("", False, node.source)

    def _enter(self, top: _Open, key: ScalarNode, value: Node) -> None:
        first = top.seen.setdefault(key.text, key.source)
        if first is key.source:
            top.entries.append(Entry(key, value))
        else:
            self._problems.add("policy-duplicate", f"key `{key.text}` stands twice, first in line {first.line}", key.source)
