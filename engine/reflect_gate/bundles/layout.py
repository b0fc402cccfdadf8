"""A policies file whose folders and default are said to be others, with every other line as it was."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ..errors import ReflectGateError, Source
from ..policy.load_policies import load_policies
from ..policy.parsed import PoliciesFile
from ..policy.problems import Problems
from ..policy.source import MapNode, ScalarNode, parse_document

__all__ = ["parsed_policies", "with_keys"]


def parsed_policies(data: bytes, name: str) -> PoliciesFile:
    """Return what a policies file says; raises with every fault of it."""
    problems = Problems()
    found = load_policies(data, name, problems)
    problems.stop_if_any()
    if found is None:
        raise ReflectGateError("policy-file", "the policies could not be read", Source(name))
    return found


def with_keys(data: bytes, name: str, keys: Mapping[str, str]) -> bytes:
    """Return a policies file with other values of some top-level keys; lines keep their numbers.

    Raises:
        ReflectGateError: `bundle-layout` where a key does not stand with its value on a line of its own.
    """
    parsed_policies(data, name)
    root = parse_document(data, name, Problems())
    lines = data.decode("utf-8").splitlines(keepends=True)
    missing = dict(keys)
    for entry in root.entries if isinstance(root, MapNode) else ():
        key, value = entry.key, entry.value
        if key.text in missing and isinstance(value, ScalarNode) and key.source.column == 1:
            line = key.source.line - 1
            ending = lines[line][len(lines[line].rstrip("\r\n")) :]
            lines[line] = f"{key.text}: {missing.pop(key.text)}{ending}"
    text = "".join(lines)
    if missing:
        text = text.rstrip("\r\n") + "\n" + "".join(f"{key}: {value}\n" for key, value in missing.items())
    changed = text.encode()
    # The text was changed by lines; that this was right shows only in what it now says.
    if _meaning(changed, name, {}) != _meaning(data, name, keys):
        message = "`default`, `rules` and `lexicons` must each stand on a line of its own, without indentation"
        raise ReflectGateError("bundle-layout", message, Source(name))
    return changed


def _meaning(data: bytes, name: str, keys: Mapping[str, str]) -> object:
    """Return what a policies file says, with the values of `keys` in place of its own; `None` where it cannot be read."""
    try:
        found = parsed_policies(data, name)
    except ReflectGateError:
        return None
    return dataclasses.replace(found, **dict(keys))  # type: ignore[arg-type] # the keys are those of text
