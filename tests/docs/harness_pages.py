"""The parts of `docs/harnesses/` that the program knows: files, commands, events, where a lesson comes, what switches hooks off.

`python tests/docs/harness_pages.py --write` puts them into the pages, between `<!-- made: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from reflect_gate.hooks.dialects import DIALECTS, Dialect
from reflect_gate.hooks.event import Kind
from reflect_gate.hooks.running import DEADLINE
from reflect_gate.hooks.wiring import _ASKS
from reflect_gate.installing.commands import Program, argv_of
from reflect_gate.installing.harnesses import AGENTS, HARNESSES, Harness, Where, harness_of
from reflect_gate.installing.parts import Block, Entries, Entry, Part, Whole

__all__ = ["BLOCKS", "FOLDER", "PAGES", "Page", "block_of", "events", "lesson_events", "made", "written"]

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "docs" / "harnesses"
GOLDEN: Final = ROOT / "tests" / "hooks" / "golden"
PROGRAM: Final = Program(("/opt/tools/bin/reflect-gate",), windows=False)
USER: Final = Where("user", Path("/home/me"), PROGRAM)
PROJECT: Final = Where("project", Path("/srv/project"), PROGRAM)
_BLOCK: Final = re.compile(r"(?<=<!-- made: )(?P<name>[a-z]+)( -->\n)(?P<text>.*?)(?=<!-- end -->)", re.DOTALL)
_CONSTANTS: Final = ("COMMAND", "MILLISECONDS")
_HANDED: Final = re.compile(r'"(session\.[a-z]+)"|\bhook: "([a-z.]+)"')

_BECOMES: Final[Mapping[Kind, str]] = {
    "session_start": "sessions of which nothing was heard for a day are ended",
    "prompt": "kept as the task, where the event names no transcript; old sessions are ended here too",
    "tool_result": "kept where the session has a failure already",
    "failure": "kept: the call and its output, without secrets",
    "turn_end": "failures whose command has passed since go to the queue as `resolved`",
    "snapshot": "as at the end of a turn",
    "session_end": "the failures that are left go to the queue as `escalated`, and what was kept is removed",
    "other": "nothing: it is ignored",
}
_EITHER: Final = "kept as a failure where it says that it failed; else where the session has a failure already"
_BESIDE: Final = "; those that a subagent leaves, as `escalated`"

_HOOKS_SEND: Final = "- By the hooks: nothing. They open no connection, unless you named a store or a queue on PostgreSQL."
_SENT: Final = """\
- By the worker (`reflect-gate worker`): one request a failure, to the model that you have named, with the evidence, without
  secrets ([model.md](../model.md)). Where no model is named, failures wait in the queue.
- By {title} itself: a lesson that is handed over is part of its conversation, and goes where its conversations go.

What is kept lies in `~/.reflect-gate`, for you alone"""
_KEPT: Final = "; failures in `hooks/` until their command passes or the session ends, then in `queue/`"


class Page(NamedTuple):
    """A page: its name, the harness that is installed, the dialect that it speaks, and its title."""

    name: str
    harness: Harness
    dialect: Dialect | None
    title: str


def _page(name: str, harness: str, title: str = "") -> Page:
    dialect = next((each for each in DIALECTS if each.name == name), None)
    found = harness_of(harness)
    return Page(name, found, dialect, title or found.title)


PAGES: Final = (
    *(_page(each.name, each.name, "Copilot" if each.name == "copilot" else "") for each in HARNESSES if each.name != AGENTS),
    _page("vscode", "copilot", "VS Code"),
    _page(AGENTS, AGENTS, "the harness"),
)


def _short(file: Path) -> str:
    for where, mark in ((USER, "~/"), (PROJECT, "")):
        if file.is_relative_to(where.root):
            return f"`{mark}{file.relative_to(where.root).as_posix()}`"
    raise ValueError(file)


def _scripts(part: Part) -> bool:
    return isinstance(part, Whole) and not part.optional and part.file.suffix not in {".json", ".js"}


def _what(part: Part) -> str:
    if isinstance(part, Block):
        return "a block between two marks, at the end"
    if isinstance(part, Entries):
        return "the hooks, in a file of our own" if "reflect-gate" in str(part.file) else "the hooks, beside what is there"
    if _scripts(part):
        return "a script for each event"
    names = {
        "SKILL.md": "a skill: how to look for lessons",
        "plugin.json": "name and version of the plugin",
        "reflect-gate.js": "a plugin that hands events over",
    }
    told = "a workflow, `/reflect.md`" if "orkflows" in part.file.parent.name else "the command `/reflect`"
    return names.get(part.file.name, told)


def files(page: Page) -> Iterator[str]:
    """Yield a table of the files: for the user, for a project, and what each is."""
    rows: dict[str, list[str]] = {}
    for where in (USER, PROJECT):
        if where.scope in page.harness.scopes:
            for part in page.harness.parts(page.harness, where):
                shown = _short(part.file.parent)[:-1] + "/EVENT`" if _scripts(part) else _short(part.file)
                cells = rows.setdefault(_what(part), [])
                if shown not in cells:
                    cells.append(shown)
    both = all(len(cells) == 2 for cells in rows.values())
    only = "for you" if "user" in page.harness.scopes else "for a project"
    yield "| for you | for a project | what it is |" if both else f"| {only} | what it is |"
    yield "|---|---|---|" if both else "|---|---|"
    for told, cells in rows.items():
        yield f"| {' | '.join(cells)} | {told} |"
    if page.harness.variable:
        yield ""
        yield f"`{page.harness.variable}` moves the folder `~/{page.harness.folder}`, and is followed."


def _entries(page: Page) -> list[Entry]:
    where = USER if "user" in page.harness.scopes else PROJECT
    return [entry for part in page.harness.parts(page.harness, where) if isinstance(part, Entries) for entry in part.entries]


def _own_commands(page: Page) -> Iterator[str]:
    """Yield the command of a script or of the plugin, which have no timeout in any settings."""
    for part in page.harness.parts(page.harness, USER):
        if isinstance(part, Whole) and part.file.suffix == ".js":
            words, waits = (json.loads(part.text.partition(f"const {name} = ")[2].splitlines()[0]) for name in _CONSTANTS)
            yield f"The plugin runs `{' '.join(words)}`, and waits for a lesson for {waits / 1_000:g} seconds."
        elif _scripts(part):
            assert isinstance(part, Whole)
            command = part.text.splitlines()[-1].removeprefix("exec ")
            yield f"Each script runs `{command}`, which ends within {DEADLINE:g} seconds."


def commands(page: Page) -> Iterator[str]:
    """Yield the commands of the hooks, with their timeouts as the settings have them."""
    found: dict[tuple[str, str], list[str]] = {}
    for entry in _entries(page):
        words = " ".join("EVENT" if word == entry.event else word for word in argv_of(entry.handler))
        found.setdefault((words, f"`timeout: {entry.handler['timeout']}`"), []).append(f"`{entry.event}`")
    if not found:
        yield from dict.fromkeys(_own_commands(page))
        return
    yield "| command | with | on |"
    yield "|---|---|---|"
    for (words, timeout), names in found.items():
        some = "every event" if len(found) == 1 else "every other event" if len(names) > 2 else ", ".join(names)
        yield f"| `{words}` | {timeout} | {some} |"
    for entry in _entries(page):
        if entry.matcher:
            tools = ", ".join(f"`{tool}`" for tool in entry.matcher.split("|"))
            yield ""
            yield f"`{entry.event}` is asked for with the tools {tools} alone."


def events(page: Page) -> list[tuple[str, str]]:
    """Return the events that are asked for: as the settings spell them, and as the payload does."""
    spellings = {
        name: said
        for part in page.harness.parts(page.harness, USER)
        if isinstance(part, Entries)
        for name, said in part.spellings.items()
    }
    names = [entry.event for entry in _entries(page)]
    for part in page.harness.parts(page.harness, USER):
        if isinstance(part, Whole) and part.file.suffix == ".js":
            names += ["".join(found) for found in _HANDED.findall(part.text)]
        elif _scripts(part):
            names.append(part.file.stem)
    if page.name == "vscode":
        return [(name, name[:1].upper() + name[1:]) for name in names]
    return [(name, spellings.get(name, name)) for name in names]


def _kinds(page: Page, name: str) -> list[Kind]:
    """Return what an event can be: as a payload without any field, and as the golden ones of this name."""
    assert page.dialect is not None
    kinds: list[Kind] = [page.dialect.read({}, name).kind]
    for file in sorted(GOLDEN.glob(f"{page.dialect.name}.*.json")):
        told = json.loads(file.read_text("utf-8"))["event"]
        if told["name"] == name and told["kind"] not in (*kinds, "other"):
            kinds.append(told["kind"])
    return kinds


def _of_a_subagent(page: Page, name: str) -> bool:
    """Return whether an event that ends a turn can be a subagent's."""
    assert page.dialect is not None
    told = [json.loads(file.read_text("utf-8"))["event"] for file in sorted(GOLDEN.glob(f"{page.dialect.name}.*.json"))]
    return any(event["name"] == name and event["kind"] == "turn_end" and "agent" in event for event in told)


def _answers(page: Page, name: str) -> dict[Kind, Any]:
    """Return the documents that can hand a lesson over on an event, by what the event is."""
    assert page.dialect is not None
    event = page.dialect.read({}, name)
    found = {kind: page.dialect.context(event._replace(kind=kind), "…") for kind in _kinds(page, name) if kind in _ASKS}
    return {kind: document for kind, document in found.items() if document is not None}


def lesson_events(page: Page) -> list[str]:
    """Return the events on which a lesson can come, as the payload spells them."""
    return [said for _, said in events(page) if _answers(page, said)]


def taken(page: Page) -> Iterator[str]:
    """Yield a table of the events, what becomes of each, and whether a lesson can come; then the answer that carries it."""
    forms: dict[str, None] = {}
    yield "| event | what becomes of it | a lesson may come |"
    yield "|---|---|---|"
    for name, said in events(page):
        kinds = _kinds(page, said)
        answers = _answers(page, said)
        becomes = _EITHER if len(kinds) > 1 else _BECOMES[kinds[0]] + _BESIDE * _of_a_subagent(page, said)
        if kinds == ["other"]:
            becomes = f"{page.title} has no such event"
        where = "" if not answers else "where it failed" if set(answers) != set(kinds) else "yes"
        forms.update({json.dumps(document, ensure_ascii=False).replace(said, "EVENT"): None for document in answers.values()})
        yield f"| `{name}` | {becomes} | {where} |"
    yield ""
    yield "A lesson comes as " + " or ".join(f"`{form}`" for form in forms) + "." if forms else "No event takes a text."


def switches(page: Page) -> Iterator[str]:
    """Yield what switches hooks off, and how they are taken out."""
    yield "- `REFLECT_GATE_DISABLE=1` in the environment of the harness: the hook ends before it reads anything."
    part = next((each for each in page.harness.parts(page.harness, USER) if isinstance(each, Entries)), None)
    for name, value in page.harness.off if part is not None and page.dialect and page.dialect.name != "vscode" else ():
        assert part is not None
        own = f" in {_short(part.file)}" if "reflect-gate" not in part.file.name else " in that file"
        yield f"- `{name}: {json.dumps(value)}`{own}: no hook runs, of anybody. `doctor` says so."


def sent(page: Page) -> Iterator[str]:
    """Yield what is sent where."""
    if page.dialect is not None:
        yield _HOOKS_SEND
    yield from f"{_SENT.format(title=page.title)}{_KEPT if page.dialect else ''}.".splitlines()


BLOCKS: Final[Mapping[str, Callable[[Page], Iterator[str]]]] = {
    "files": files,
    "commands": commands,
    "events": taken,
    "sent": sent,
    "off": switches,
}


def block_of(page: Page, name: str) -> str:
    """Return a block's text."""
    return "".join(f"{line}\n" for line in BLOCKS[name](page))


def written(page: Page) -> dict[str, str]:
    """Return the blocks that a page has."""
    return {match["name"]: match["text"] for match in _BLOCK.finditer((FOLDER / f"{page.name}.md").read_text("utf-8"))}


def made(page: Page) -> str:
    """Return a page with its blocks made anew."""
    text = (FOLDER / f"{page.name}.md").read_text("utf-8")
    return _BLOCK.sub(lambda match: f"{match['name']}{match[2]}{block_of(page, match['name'])}", text)


if __name__ == "__main__" and "--write" in sys.argv:
    for variable in {harness.variable for harness in HARNESSES if harness.variable}:
        os.environ.pop(variable, None)
    for each in PAGES:
        (FOLDER / f"{each.name}.md").write_text(made(each), "utf-8")
