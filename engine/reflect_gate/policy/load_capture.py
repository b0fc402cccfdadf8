"""The keys `capture:` and `queue:` of `policies.yaml`: when a failure is captured, how its queue behaves, what it may cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from ..capture.settings import VARIABLES, parse
from ..errors import ReflectGateError, Source
from .fields import Fields
from .problems import Problems
from .source import Node

__all__ = ["SECTIONS", "Declared", "key_of", "load_capture"]


class Declared(NamedTuple):
    """A setting as the policies file has it: its value, the text that stands for it, and where that stands."""

    value: Any
    text: str
    source: Source


def key_of(field: str) -> tuple[str, str]:
    """Return the key of the policies file and the one below it that a field of `Settings` is written as."""
    return ("queue", field.removeprefix("queue_")) if field.startswith("queue_") else ("capture", field)


def _sections() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {"capture": {}, "queue": {}}
    for field in VARIABLES:
        section, key = key_of(field)
        found[section][key] = field
    return found


SECTIONS: Final[Mapping[str, Mapping[str, str]]] = _sections()
"""For each key of the policies file the keys below it, each with the field of `Settings` that it is."""


def load_capture(get: Callable[[str], Node | None], problems: Problems) -> dict[str, Declared]:
    """Return the settings that the file gives, by the fields of `capture.settings.Settings`; `get` looks a top key up."""
    found = {}
    for section, keys in SECTIONS.items():
        node = get(section)
        if node is None:
            continue
        parts = Fields(node, f"`{section}`", problems, optional=tuple(keys))
        for key, field in keys.items():
            scalar = parts.scalar(key)
            if scalar is None:
                continue
            try:
                found[field] = Declared(parse(field, scalar.text, scalar.source), scalar.text, scalar.source)
            except ReflectGateError as error:
                problems.add("policy-value", f"`{key}` of {parts.what}: {error.message}", scalar.source)
    return found
