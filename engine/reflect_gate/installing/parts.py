"""What an installation is made of: entries in a settings file, files of our own, and a block in a file of instructions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

__all__ = ["MARK", "Block", "Entries", "Entry", "Part", "Scope", "Whole"]

Scope: TypeAlias = Literal["user", "project", "plugin"]
"""For every project of a user, for one project, or as a folder that others install."""

MARK: Final = "reflect-gate init"
"""Stands in every file that is ours alone; a file without it is somebody else's."""


class Entry(NamedTuple):
    """A handler of one event; `matcher` holds it to some tools, where the harness groups handlers."""

    event: str
    handler: Mapping[str, Any]
    matcher: str = ""


class Entries(NamedTuple):
    """Handlers in a settings file of JSON or YAML.

    `grouped` says that an event lists groups of handlers and not handlers; `defaults` are what the file needs beside them;
    `spellings` are other names of the events, of which one may be there already; `bare` that the events stand at the root unless
    the file has them under `hooks`.
    """

    file: Path
    entries: tuple[Entry, ...]
    grouped: bool = True
    yaml: bool = False
    bare: bool = False
    defaults: Mapping[str, Any] = {}
    spellings: Mapping[str, str] = {}


class Whole(NamedTuple):
    """A file that is ours alone; where somebody else's is in its place, an `optional` one is left out."""

    file: Path
    text: str
    executable: bool = False
    optional: bool = False


class Block(NamedTuple):
    """A block between two marks, at the end of a file that may have other text."""

    file: Path
    text: str


Part: TypeAlias = Entries | Whole | Block
