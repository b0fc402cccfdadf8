"""Which harnesses are on this machine, and which of our hooks stand in their settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..errors import ReflectGateError
from . import entries, files
from .blocks import BEGIN
from .commands import argv_of, is_ours, running
from .harnesses import HARNESSES, Harness, Where, harness_of
from .jsonc import parse
from .parts import MARK, Block, Entries, Part, Scope, Whole

__all__ = [
    "Installed",
    "Row",
    "as_written",
    "elsewhere",
    "events_of",
    "found",
    "installed",
    "overview",
    "project",
    "spelt",
    "switched_off",
    "wheres",
    "words_of",
]

_COMMAND: Final = re.compile(r"^const COMMAND = (\[.*\])$", re.MULTILINE)


class Installed(NamedTuple):
    """One of our hooks as it stands: in which file, for which event, and the words that it runs.

    `script` says that the file itself is what the harness runs.
    """

    harness: Harness
    scope: Scope
    file: Path
    event: str
    argv: tuple[str, ...]
    script: bool = False


class Row(NamedTuple):
    """A harness: whether its folder is here, and for whom the hooks are installed."""

    name: str
    title: str
    found: bool
    installed: tuple[str, ...]


def project() -> Path:
    """Return the folder of the project that the working directory is in: the nearest one with `.git`, else itself."""
    here = Path.cwd()
    return next((place for place in (here, *here.parents) if (place / ".git").exists()), here)


def found(harness: Harness) -> bool:
    """Return whether a harness has a folder in this home."""
    return bool(harness.folder) and harness.home(Path.home()).is_dir()


def wheres(harness: Harness) -> list[Where]:
    """Return the places where a harness's hooks may stand on this machine, for the user and for the project here.

    In the home folder itself most harnesses have one file for both, which is the user's.
    """
    roots: dict[Scope, Path] = {"user": Path.home(), "project": project()}
    places: list[Where] = []
    known: set[Path] = set()
    for scope in harness.scopes:
        if scope in roots:
            where = Where(scope, roots[scope], running())
            files = {part.file for part in harness.parts(harness, where) if not (isinstance(part, Whole) and part.optional)}
            if not files <= known:
                places.append(where)
            known |= files
    return places


def overview() -> list[Row]:
    """Return every harness and how it stands here; a file that cannot be read holds nothing of ours that anybody could run."""
    rows = []
    for harness in HARNESSES:
        scopes = []
        for where in wheres(harness):
            with suppress(ReflectGateError):
                if any(_there(part) for part in harness.parts(harness, where)):
                    scopes.append(where.scope)
        rows.append(Row(harness.name, harness.title, found(harness), tuple(scopes)))
    return rows


def _there(part: Part) -> bool:
    """Return whether a part that makes hooks run, or the block, stands in its file; commands and skills may be shared."""
    if isinstance(part, Whole) and part.optional:
        return False
    data = files.read(part.file)
    if data is None:
        return False
    text = files.decoded(data, part.file).removeprefix("\ufeff")
    if isinstance(part, Entries):
        return bool(entries.handlers(text, part))
    return (BEGIN if isinstance(part, Block) else MARK) in text


def installed(harness: Harness, where: Where) -> Iterator[Installed]:
    """Yield our hooks in a harness's settings; a settings file that cannot be read raises, with its place."""
    for part in harness.parts(harness, where):
        if isinstance(part, Block) or (isinstance(part, Whole) and part.optional):
            continue
        data = files.read(part.file)
        if data is None:
            continue
        text = files.decoded(data, part.file).removeprefix("\ufeff")
        if isinstance(part, Entries):
            for one in entries.handlers(text, part):
                yield Installed(harness, where.scope, part.file, one.event, argv_of(one.handler))
        elif MARK in text and part.file.suffix != ".json":
            yield from _scripts(harness, where, part, text)


def _scripts(harness: Harness, where: Where, part: Whole, text: str) -> Iterator[Installed]:
    listed = _COMMAND.search(text)
    if listed is not None:
        with suppress(ValueError):
            yield Installed(harness, where.scope, part.file, "chat.message", tuple(map(str, json.loads(listed.group(1)))))
        return
    # A script whose last line is no command of ours is none that runs: its event counts as missing.
    last = text.rstrip("\n").rsplit("\n", 1)[-1].removeprefix("exec ").removeprefix("$input | ")
    if is_ours({"command": last}):
        yield Installed(harness, where.scope, part.file, part.file.stem, argv_of({"command": last}), script=True)


def events_of(harness: Harness, where: Where) -> set[str]:
    """Return the events that hooks are installed for, each as the file here spells it."""
    names = set()
    for part in harness.parts(harness, where):
        if isinstance(part, Entries):
            there = {one.event for one in installed(harness, where)}
            names |= {
                part.spellings[each.event] if part.spellings.get(each.event) in there else each.event for each in part.entries
            }
        elif isinstance(part, Whole) and not part.optional and part.file.suffix != ".json":
            names.add("chat.message" if part.file.suffix == ".js" else part.file.stem)
    return names


def spelt(harness: Harness, where: Where, event: str) -> set[str]:
    """Return the names that an event may have in a harness's settings."""
    more = {part.spellings.get(event, event) for part in harness.parts(harness, where) if isinstance(part, Entries)}
    return {event, *more}


def as_written(one: Installed, where: Where) -> bool:
    """Return whether a file that a harness runs is what `init` would write there now."""
    parts = [part for part in one.harness.parts(one.harness, where) if isinstance(part, Whole) and part.file == one.file]
    return any(files.read(part.file) == files.encoded(part.text) for part in parts)


def words_of(harness: Harness, where: Where) -> set[tuple[str, ...]]:
    """Return every command that `init` would write into the settings here now."""
    parts = [part for part in harness.parts(harness, where) if isinstance(part, Entries)]
    return {argv_of(entry.handler) for part in parts for entry in part.entries}


def switched_off(harness: Harness, where: Where) -> list[str]:
    """Return what in a harness's settings keeps every hook from running."""
    notes = []
    for part in harness.parts(harness, where):
        if isinstance(part, Entries) and not part.yaml:
            with suppress(ReflectGateError):
                value = _value(part)
                notes += [
                    f"{part.file} has `{name}`, which switches hooks off" for name, off in harness.off if _at(value, name) is off
                ]
    return notes


def _value(part: Entries) -> Any:
    data = files.read(part.file)
    text = files.decoded(data or b"", part.file).removeprefix("\ufeff")
    return parse(text, str(part.file)).value if text.strip() else None


def _at(value: Any, way: str) -> Any:
    for name in way.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def elsewhere(harness: Harness, where: Where) -> list[str]:
    """Return a remark for each other place that has our hooks too and that this harness reads: both would run."""
    notes = []
    for name in harness.reads:
        with suppress(ReflectGateError):
            if any(any(installed(harness_of(name), place)) for place in wheres(harness_of(name))):
                notes.append(
                    f"{harness.title}: the hooks of {name} are read too, and an event may come twice, which changes nothing"
                )
    for other in wheres(harness):
        if where.scope in (other.scope, "plugin"):
            continue
        with suppress(ReflectGateError):
            if any(installed(harness, other)):
                mend = f"reflect-gate uninstall {harness.name} --{other.scope}"
                notes.append(f"the hooks are installed for the {other.scope} too, and both run; one will do: {mend}")
    return notes
