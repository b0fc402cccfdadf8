"""Handlers in a settings file: put in where they are missing, renewed where they stand, taken out without a trace."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import ReflectGateError, Source
from . import jsontext, yamltext
from .commands import argv_of, is_ours
from .jsonc import Node, parse, place_of
from .parts import Entries, Entry

__all__ = ["Found", "empties", "handlers", "install", "remove"]

_HOOKS = "hooks"


class Found(NamedTuple):
    """One of our handlers in a file: where, for which event, and what it is."""

    way: tuple[str | int, ...]
    event: str
    handler: Mapping[str, Any]


def install(text: str, part: Entries) -> str:
    """Return a settings file with each handler in it, once.

    Raises:
        ReflectGateError: `settings-syntax` or `settings-shape` with the place, for a file that cannot be changed safely.
    """
    if part.yaml:
        wanted = [(entry.event, entry.handler) for entry in part.entries]
        return yamltext.install(text, str(part.file), wanted, is_ours)
    if not text.strip():
        return jsontext.render(_whole(part)) + "\n"
    text = _renewed(text, part)
    for name, value in part.defaults.items():
        if parse(text, str(part.file)).get(name) is None:
            text = jsontext.append(text, (), value, name)
    for entry in part.entries:
        text = _with(text, part, entry)
    return text


def _whole(part: Entries) -> dict[str, Any]:
    events = {entry.event: [_element(part, entry)] for entry in part.entries}
    return {**part.defaults, **(events if part.bare else {_HOOKS: events})}


def _element(part: Entries, entry: Entry) -> dict[str, Any]:
    if not part.grouped:
        return dict(entry.handler)
    matcher = {"matcher": entry.matcher} if entry.matcher else {}
    return {**matcher, "hooks": [dict(entry.handler)]}


def _with(text: str, part: Entries, entry: Entry) -> str:
    """Return a text that has a handler of ours for an event, at the end of the event's list if there is none."""
    root, found = _read(text, part), handlers(text, part)
    names = {entry.event, part.spellings.get(entry.event, entry.event)}
    if any(each.event in names for each in found):
        return text
    way = _way(root, part)
    node = jsontext.at(root, way)
    if node is None:
        return jsontext.append(text, (), {entry.event: [_element(part, entry)]}, _HOOKS)
    event = next((name for name in names if node.get(name) is not None), "")
    if event:
        return jsontext.append(text, (*way, event), _element(part, entry))
    return jsontext.append(text, way, [_element(part, entry)], entry.event)


def _renewed(text: str, part: Entries) -> str:
    """Return a text in which each handler of ours is wanted, runs what it should, and stands once."""
    wanted = {name: entry for entry in part.entries for name in (entry.event, part.spellings.get(entry.event, entry.event))}
    seen: set[str] = set()
    for found in handlers(text, part):
        entry = wanted.get(found.event)
        if entry is None or entry.event in seen:
            # What is taken out moves what stands behind it: begin again.
            return _renewed(_without(text, part, found), part)
        seen.add(entry.event)
        if argv_of(found.handler) != argv_of(entry.handler):
            return _renewed(jsontext.replace(text, found.way, dict(entry.handler)), part)
    return text


def remove(
    text: str, part: Entries, empty: Mapping[str, str] | None = None, defaults: Collection[str] = (), *, created: bool = False
) -> str:
    """Return a settings file without our handlers, and without the lists and objects that held nothing else.

    Args:
        text: the file.
        part: what was put in; whatever is ours goes, wherever the program lies.
        empty: what `empties` returned before, so that those are left as they were.
        defaults: what the file needs beside the handlers and did not have before; it goes too.
        created: whether there was no file before: then `defaults` stay as long as there is anything else.
    """
    if part.yaml:
        return yamltext.remove(text, str(part.file), is_ours, empty)
    if not text.strip():
        return text
    while found := handlers(text, part):
        text = _without(text, part, found[-1], empty or {})
    there = {member.name: member.node.value for member in parse(text, str(part.file)).members}
    ours = [name for name in defaults if name in there and there[name] == part.defaults.get(name)]
    for name in reversed(ours) if not created or len(ours) == len(there) else ():
        text = jsontext.remove(text, (name,), (empty or {}).get(""))
    return text


def _without(text: str, part: Entries, found: Found, empty: Mapping[str, str] | None = None) -> str:
    """Return a text without one handler, its group, its event's list and `hooks`, as far as nothing else is in them."""
    way = found.way
    floor = len(_way(parse(text, str(part.file)), part))
    kept = empty or {}
    while True:
        inner = kept.get(_name(way[:-1]))
        text = jsontext.remove(text, way, inner)
        way = way[:-1]
        node = jsontext.at(parse(text, str(part.file)), way)
        bare_group = part.grouped and way and way[-1] == "hooks" and len(way) > floor
        if node is None or node.parts or not way or (inner is not None and not bare_group):
            return text
        if bare_group:
            way = way[:-1]


def _name(way: tuple[str | int, ...]) -> str:
    return "/".join(str(step) for step in way)


def empties(text: str, part: Entries) -> dict[str, str]:
    """Return what stands inside the root, `hooks` and the events' lists that hold nothing, by their way."""
    if part.yaml:
        return yamltext.empties(text, str(part.file))
    if not text.strip():
        return {}
    root = _read(text, part)
    way = _way(root, part)
    hooks = jsontext.at(root, way)
    nodes = {(): root, tuple(way): hooks}
    nodes |= {(*way, member.name): member.node for member in (hooks.members if hooks else ())}
    return {_name(place): text[node.start + 1 : node.end - 1] for place, node in nodes.items() if node and not node.parts}


def handlers(text: str, part: Entries) -> list[Found]:
    """Return our handlers in a file, in its order."""
    if part.yaml:
        return list(_listed(text, part))
    if not text.strip():
        return []
    root = _read(text, part)
    way = _way(root, part)
    hooks = jsontext.at(root, way)
    found = []
    for member in hooks.members if hooks else ():
        for index, item in enumerate(member.node.items):
            place: tuple[str | int, ...] = (*way, member.name, index)
            found += [Found(each, member.name, handler) for each, handler in _inside(place, item, part) if is_ours(handler)]
    return found


def _inside(place: tuple[str | int, ...], item: Node, part: Entries) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    listed = item.get("hooks") if part.grouped else None
    if listed is None:
        yield place, item.value
    else:
        for index, handler in enumerate(listed.items):
            yield (*place, "hooks", index), handler.value


def _listed(text: str, part: Entries) -> Iterator[Found]:
    for event, entries in (yamltext.load(text, str(part.file)).get(_HOOKS) or {}).items():
        for index, entry in enumerate(entries or ()):
            if is_ours(entry):
                yield Found((_HOOKS, event, index), event, entry)


def _way(root: Node, part: Entries) -> tuple[str, ...]:
    return () if part.bare and root.get(_HOOKS) is None else (_HOOKS,)


def _read(text: str, part: Entries) -> Node:
    """Return the root of a settings file whose hooks have the shape that the harness documents."""
    root = parse(text, str(part.file))
    if not isinstance(root.value, dict):
        raise _shape(text, part, root, "an object")
    hooks = jsontext.at(root, _way(root, part))
    if hooks is None:
        return root
    if not isinstance(hooks.value, dict):
        raise _shape(text, part, hooks, "`hooks` to be an object")
    events = {entry.event for entry in part.entries} | set(part.spellings.values())
    for member in hooks.members:
        if member.name in events and not isinstance(member.node.value, list):
            raise _shape(text, part, member.node, f"`{member.name}` to be a list")
    return root


def _shape(text: str, part: Entries, node: Node, expected: str) -> ReflectGateError:
    where: Source = place_of(text, node.start, str(part.file))
    return ReflectGateError("settings-shape", f"expected {expected}", where)
