"""Changing the `hooks:` of a YAML file by whole lines: entries more or less; every other line keeps its bytes.

What comes out is read again and must be what was wanted; a file that is laid out in another way is refused, not guessed at.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import yaml

from ..errors import ReflectGateError, Source

__all__ = ["Mine", "empties", "install", "load", "remove"]

Mine: TypeAlias = Callable[[Any], bool]
"""Says whether an entry is ours."""

_KEY: Final = "hooks"
_MOST: Final = 100_000
"""Nodes of a file, aliases followed: a file that a few lines blow up to more is refused."""
_LINE: Final = re.compile("[^\n\r\x85\u2028\u2029]*(?:\r\n|[\n\r\x85\u2028\u2029])|[^\n\r\x85\u2028\u2029]+$")
"""A line as YAML counts them."""


def load(text: str, file: str) -> dict[str, Any]:
    """Return the mapping that a text holds, an empty one for an empty text.

    Raises:
        ReflectGateError: `settings-syntax` with the place; `settings-shape` where the text is no mapping of hooks.
    """
    node = _compose(text, file)
    if node is None:
        return {}
    _count(node, file)
    with _told(file):
        document = yaml.SafeLoader("").construct_document(node)
    if not isinstance(document, dict):
        raise _shape(file, node, "a mapping")
    hooks = document.get(_KEY)
    if hooks is not None and not isinstance(hooks, dict):
        raise _shape(file, node, "`hooks` to be a mapping")
    for event, entries in (hooks or {}).items():
        if entries is not None and not isinstance(entries, list):
            raise _shape(file, node, f"`hooks.{event}` to be a list")
    return document


@functools.lru_cache(8)
def _compose(text: str, file: str) -> yaml.Node | None:
    with _told(file):
        node: yaml.Node | None = yaml.compose(text, yaml.SafeLoader)
    return node


@contextmanager
def _told(file: str) -> Iterator[None]:
    """Raise errors of the YAML library as ours."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        source = Source(file, mark.line + 1, mark.column + 1) if mark else Source(file)
        raise ReflectGateError("settings-syntax", " ".join(str(error.problem or error.context).split()), source) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ReflectGateError("settings-syntax", " ".join(str(error).split())[:200], Source(file)) from None


def _count(node: yaml.Node, file: str) -> None:
    left, count = [node], 0
    while left:
        one = left.pop()
        count += 1
        if count > _MOST:
            raise ReflectGateError("settings-shape", f"more than {_MOST} values", Source(file))
        if isinstance(one, yaml.SequenceNode):
            left += one.value
        elif isinstance(one, yaml.MappingNode):
            left += [part for pair in one.value for part in pair]


def _shape(file: str, node: yaml.Node, expected: str) -> ReflectGateError:
    return ReflectGateError("settings-shape", f"expected {expected}", Source(file, node.start_mark.line + 1, 1))


def empties(text: str, file: str) -> dict[str, str]:
    """Return how `hooks` and the events in it are written that hold nothing: ` {}`, ` []`, or not at all."""
    root = _compose(text, file)
    hooks = [(key, value) for key, value in _pairs(root) if key.value == _KEY]
    inner = [pair for _, value in hooks for pair in _pairs(value)]
    return {
        str(key.value): text[key.end_mark.index + 1 : value.end_mark.index]
        for key, value in [*hooks, *inner]
        if not _holds(value)
    }


def _holds(node: yaml.Node) -> bool:
    return bool(node.value) and not (isinstance(node, yaml.ScalarNode) and node.value in {"~", "null"})


def install(text: str, file: str, entries: Sequence[tuple[str, Mapping[str, Any]]], mine: Mine) -> str:
    """Return a text with each entry under its event, once: one of ours that is there already is renewed where it stands."""
    wanted = {event: dict(entry) for event, entry in entries}
    for event in list(load(text, file).get(_KEY) or {}):
        text = _renewed(text, file, event, wanted[event], mine) if event in wanted else _taken(text, file, event, mine)
    for event, entry in wanted.items():
        document = load(text, file)
        hooks = document.get(_KEY) or {}
        if not any(mine(each) for each in hooks.get(event) or ()):
            document[_KEY] = {**hooks, event: [*(hooks.get(event) or ()), entry]}
            text = _checked(_added(text, file, event, entry), file, document)
    return text


def remove(text: str, file: str, mine: Mine, empty: Mapping[str, str] | None = None) -> str:
    """Return a text without our entries, and without the keys that held nothing else.

    `empty` is what `empties` returned before: those keys stay, written as they were.
    """
    for event in list(load(text, file).get(_KEY) or {}):
        text = _taken(text, file, str(event), mine, empty or {})
    return text


def _renewed(text: str, file: str, event: str, entry: dict[str, Any], mine: Mine) -> str:
    """Return a text in which ours stands once under an event, as wanted."""
    document = load(text, file)
    entries = document[_KEY][event] or []
    ours = [index for index, each in enumerate(entries) if mine(each)]
    if not ours or [entries[index] for index in ours] == [entry]:
        return text
    _, listed = _nodes(text, file, event)
    lines = _LINE.findall(text)
    newline, ended = _newline(text), text.endswith("\n")
    for index in reversed(ours):
        node = listed.value[index]
        span = slice(node.start_mark.line, _last_line(node) + 1)
        new = _item(" " * listed.start_mark.column, entry) if index == ours[0] else []
        lines[span] = [line + newline for line in new]
    wanted = [entry if index == ours[0] else each for index, each in enumerate(entries) if index not in ours[1:]]
    left = "".join(lines) if ended else "".join(lines).removesuffix(newline)
    return _checked(left, file, {**document, _KEY: {**document[_KEY], event: wanted}})


def _checked(text: str, file: str, wanted: Mapping[str, Any]) -> str:
    try:
        found: Mapping[str, Any] | None = load(text, file)
    except ReflectGateError:
        found = None
    if found != wanted:
        message = "this layout of `hooks` cannot be changed without touching the rest: write it in block style, a line an entry"
        raise ReflectGateError("settings-shape", message, Source(file))
    return text


def _added(text: str, file: str, event: str, entry: Mapping[str, Any]) -> str:
    node = _compose(text, file)
    hooks = _under(node, _KEY)
    if hooks is None:
        return _at_end(text, [f"{_KEY}:", f"  {event}:", *_item("    ", entry)], _newline(text))
    if not _holds(hooks):
        return _into_empty(text, hooks, [f"  {event}:", *_item("    ", entry)])
    lead = " " * hooks.value[0][0].start_mark.column
    listed = _under(hooks, event)
    if listed is None:
        return _after(text, _last_line(hooks), [f"{lead}{event}:", *_item(lead + "  ", entry)])
    if not _holds(listed):
        return _into_empty(text, listed, _item(lead + "  ", entry))
    return _after(text, _last_line(listed), _item(" " * listed.start_mark.column, entry))


def _into_empty(text: str, node: yaml.Node, lines: Sequence[str]) -> str:
    """Put lines under a key that holds nothing; what said so (`{}`, `null`) goes, a remark behind it stays."""
    start, end = node.start_mark.index, node.end_mark.index
    text = text[:start].rstrip(" ") + text[end:] if end > start else text
    return _after(text, node.start_mark.line, lines)


def _item(lead: str, entry: Mapping[str, Any]) -> list[str]:
    lines = []
    for index, (name, value) in enumerate(entry.items()):
        shown = str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"
        lines.append(f"{lead}{'- ' if index == 0 else '  '}{name}: {shown}")
    return lines


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _at_end(text: str, lines: Sequence[str], newline: str) -> str:
    added = newline.join(lines)
    return f"{text}{newline}{added}" if text and not text.endswith("\n") else f"{text}{added}{newline}"


def _after(text: str, line: int, lines: Sequence[str]) -> str:
    there, newline = _LINE.findall(text), _newline(text)
    if line + 1 >= len(there):
        return _at_end(text, lines, newline)
    return "".join([*there[: line + 1], *(each + newline for each in lines), *there[line + 1 :]])


def _taken(text: str, file: str, event: str, mine: Mine, empty: Mapping[str, str] | None = None) -> str:
    """Return a text without our entries of one event."""
    document, was = load(text, file), empty or {}
    entries = document[_KEY][event] or []
    kept = [entry for entry in entries if not mine(entry)]
    if len(kept) == len(entries):
        return text
    hooks, listed = _nodes(text, file, event)
    gone = set(_lines_of(node for entry, node in zip(entries, listed.value, strict=True) if mine(entry)))
    left = {**document[_KEY], event: kept}
    marks: dict[int, str] = {}
    if not kept:
        left[event] = _closed(hooks, event, was, gone, marks)
        left = {name: value for name, value in left.items() if name != event or event in was}
    wanted = {**document, _KEY: left}
    if not left:
        wanted[_KEY] = _closed(_compose(text, file), _KEY, was, gone, marks)
        wanted = {name: value for name, value in wanted.items() if name != _KEY or _KEY in was}
    return _checked(_without(text, gone, marks), file, wanted)


def _closed(node: yaml.Node | None, name: str, was: Mapping[str, str], gone: set[int], marks: dict[int, str]) -> Any:
    """Let the line of an emptied key go, or be written as it was; return what the key then holds."""
    line, column = next((key.start_mark.line, key.end_mark.column) for key, _ in _pairs(node) if key.value == name)
    if name not in was:
        gone.add(line)
        return None
    marks[line] = f"{column + 1}:{was[name]}"
    return yaml.load(was[name] or "null", yaml.SafeLoader)


def _lines_of(nodes: Iterable[yaml.Node]) -> Iterable[int]:
    for node in nodes:
        yield from range(node.start_mark.line, _last_line(node) + 1)


def _without(text: str, gone: set[int], marks: Mapping[int, str]) -> str:
    lines = _LINE.findall(text)
    for number, mark in marks.items():
        column, _, said = mark.partition(":")
        lines[number] = lines[number][: int(column)] + said + lines[number][int(column) :]
    left = "".join(line for number, line in enumerate(lines) if number not in gone)
    # A file that did not end with a line break does not get one by this.
    if len(lines) - 1 in gone and not lines[-1].endswith("\n"):
        left = left.removesuffix("\n").removesuffix("\r")
    return left


def _nodes(text: str, file: str, event: str) -> tuple[yaml.MappingNode, yaml.SequenceNode]:
    hooks = _under(_compose(text, file), _KEY)
    listed = _under(hooks, event)
    if not isinstance(hooks, yaml.MappingNode) or not isinstance(listed, yaml.SequenceNode):
        raise ReflectGateError("settings-shape", f"expected `hooks.{event}` to be a list", Source(file))
    return hooks, listed


def _pairs(node: yaml.Node | None) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
    return node.value if isinstance(node, yaml.MappingNode) else []


def _under(node: yaml.Node | None, name: str) -> yaml.Node | None:
    return next((value for key, value in _pairs(node) if key.value == name), None)


def _last_line(node: yaml.Node) -> int:
    """Return the last line that a value stands on; a block's own end is where the next token begins, so its parts tell."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _last_line(last[1] if isinstance(last, tuple) else last)
    mark = node.end_mark
    return int(mark.line if mark.column or mark.line == node.start_mark.line else mark.line - 1)
