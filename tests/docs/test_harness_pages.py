"""The pages of the harnesses say what the program does: their tables are made from it, and their commands run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from reflect_gate.cli import main
from reflect_gate.hooks import wiring
from reflect_gate.hooks.running import options, respond
from reflect_gate.installing import delivering
from reflect_gate.installing.harnesses import AGENTS, HARNESSES

from ..homes import move_in
from . import harness_pages
from .harness_pages import BLOCKS, FOLDER, PAGES, ROOT, Page, block_of, events, lesson_events, made, written
from .test_tutorial import pattern

BY_NAME = {page.name: page for page in PAGES}
HOOKED = [name for name in BY_NAME if name != AGENTS]
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECTIONS = [
    "What is written where",
    "What is collected, and where a lesson appears",
    "What is sent where",
    "Limits",
    "Switching it off, taking it out",
    "Does it work?",
]

posix = pytest.mark.skipif(os.name != "posix", reason="scripts and paths are POSIX")


@pytest.fixture(scope="module")
def bundle_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One bundle cache for all homes."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, bundle_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's home folder; the working directory is a project beside it, and hooks are answered in this process."""
    place = tmp_path / "me"
    move_in(place, tmp_path / "project", bundle_cache, monkeypatch)
    monkeypatch.setattr(delivering, "_process", here)
    return place


def here(command: Sequence[str], payload: bytes, home: Path) -> delivering.Done:
    """Answer a hook's payload in this process, as the installed command would."""
    words = command if "evaluate" in command else shlex.split(Path(command[0]).read_text("utf-8").splitlines()[-1])
    chosen = options(list(words[words.index("evaluate") :]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFLECT_GATE_HOME", str(home))
        said = respond(json.loads(payload), chosen, wiring.collect, wiring.recall)
    return subprocess.CompletedProcess(list(command), 0, said, b"")


def test_there_is_a_page_for_each_harness() -> None:
    """One for each that `init` knows, one for VS Code, which shares a file, and no other."""
    assert {page.harness.name for page in PAGES} == {harness.name for harness in HARNESSES}
    assert sorted(file.stem for file in FOLDER.iterdir()) == sorted(BY_NAME)


@pytest.mark.parametrize("name", BY_NAME)
def test_what_the_program_knows_is_up_to_date(name: str) -> None:
    """Run `python tests/docs/harness_pages.py --write` when this fails."""
    page = BY_NAME[name]
    assert (FOLDER / f"{name}.md").read_text("utf-8") == made(page)
    assert set(written(page)) == (set(BLOCKS) if page.dialect else {"files", "sent"})


@pytest.mark.parametrize("name", BY_NAME)
def test_a_page_answers_every_question(name: str) -> None:
    """What is written, collected, sent; limits; how to switch off and take out; how to see that it works. No page is long."""
    text = (FOLDER / f"{name}.md").read_text("utf-8")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    wanted = SECTIONS if name in HOOKED else [each.replace("Switching it off, taking", "Taking") for each in SECTIONS]
    assert headings == wanted
    assert len(text.splitlines()) < 120


@posix
@pytest.mark.parametrize("name", BY_NAME)
def test_the_commands_of_a_page_print_what_it_shows(name: str, home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each is typed in the page's order, in an empty home; none of them fails, and nothing is left of them."""
    blocks = _CONSOLE.findall((FOLDER / f"{name}.md").read_text("utf-8"))
    said = []
    # What proves that it works is the last block of a page, and is tried before it is taken out.
    for block in [blocks[0], *blocks[1:-2], *(blocks[-1:] if name in HOOKED else []), blocks[-2]]:
        for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, shown = command.partition("\n")
            code = main(shlex.split(line)[1:])
            out = capfd.readouterr().out
            said.append(line)
            assert code == 0, line
            assert re.fullmatch(pattern(_spaced(shown)), _spaced(out)), (line, out)
    assert [line.split()[1] for line in said][:2] == ["init", "init"]
    assert [path.name for path in home.iterdir() if path.name != ".reflect-gate"] == []


def _spaced(text: str) -> str:
    return re.sub(r"(?<=\S) {2,}", "  ", text)


def test_the_table_of_dialects_names_the_events_that_can_carry_a_lesson() -> None:
    """`docs/hooks.md` lists them for each harness, in one line."""
    rows = [line.split("|") for line in (ROOT / "docs" / "hooks.md").read_text("utf-8").splitlines() if line.startswith("| ")]
    told = {re.sub(r" \[(.+)\]\(.+\) ", r"\1", row[1]): re.findall(r"`(\w+(?:\.\w+)*)`", row[3]) for row in rows if len(row) == 6}
    for title, name in {
        "Claude Code": "claude-code",
        "Codex": "codex",
        "Gemini CLI": "gemini",
        "Cursor": "cursor",
        "Copilot CLI and cloud agent": "copilot",
        "VS Code": "vscode",
        "OpenHands": "openhands",
        "Cline": "cline",
        "Goose": "goose",
        "Hermes": "hermes",
        "OpenCode": "opencode",
    }.items():
        assert sorted(told[title]) == sorted(lesson_events(BY_NAME[name])), title


def test_the_page_of_installing_counts_the_events_and_links_the_pages() -> None:
    """`docs/install.md` has a row for each harness."""
    text = (ROOT / "docs" / "install.md").read_text("utf-8")
    for page in PAGES:
        assert f"(harnesses/{page.name}.md)" in text, page.name
        row = next(line for line in text.splitlines() if line.startswith("| [") and f"(harnesses/{page.harness.name}.md)" in line)
        counted = re.search(r"\| (\d+)(?: scripts)? \|", row)
        if counted is not None:
            assert int(counted[1]) == len(events(page)), page.name
        else:
            assert page.name in {"opencode", AGENTS}


@pytest.mark.parametrize("name", HOOKED)
def test_an_event_of_a_page_is_one_that_the_dialect_reads(name: str) -> None:
    """None is asked for in vain, but those that VS Code does not have and Copilot does."""
    rows = [line for line in block_of(BY_NAME[name], "events").splitlines() if line.startswith("| `")]
    assert len(rows) > 4
    assert not [row for row in rows if "no such event" in row and name != "vscode"]


def test_a_change_of_the_program_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that is asked for no more, and a text that comes no more, each change a page."""
    page = BY_NAME["cursor"]
    silent = page._replace(dialect=BY_NAME["goose"].dialect)
    assert block_of(silent, "events") != block_of(page, "events")
    monkeypatch.setattr(harness_pages, "_entries", lambda _page: [])
    assert made(page) != (FOLDER / "cursor.md").read_text("utf-8")


def test_a_page_of_nobody_is_refused() -> None:
    """A harness without a page cannot slip by: the page is read where it should be."""
    with pytest.raises(FileNotFoundError):
        made(Page("nobody", HARNESSES[0], None, "Nobody"))
