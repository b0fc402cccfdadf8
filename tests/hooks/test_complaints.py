"""What hooks are known to do to their users, where no other file shows it; and that the page of it names tests that there are."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from reflect_gate.hooks import wiring
from reflect_gate.hooks.event import Event
from reflect_gate.hooks.recalling import recall
from reflect_gate.hooks.running import Options, respond
from reflect_gate.hooks.sessions import spools
from reflect_store.queue import open_queue

from ..llm.server import ModelServer
from .at_once import ERROR, make_store

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "hooks-complaints.md").read_text("utf-8")
ROWS: Final = [line.strip("|").split("|") for line in PAGE.splitlines() if re.match(r"\| \d", line)]
HOOK: Final = [sys.executable, "-m", "reflect_gate", "hook", "--deadline", "60"]
FAILED: Final[dict[str, Any]] = {
    "session_id": "s-1",
    "transcript_path": "",
    "cwd": "/",
    "hook_event_name": "PostToolUseFailure",
    "tool_name": "Bash",
    "tool_input": {"command": "make test"},
    "error": f"Exit code 2\n{ERROR}",
}
END: Final[dict[str, Any]] = {**FAILED, "hook_event_name": "SessionEnd"}


def hook(payload: dict[str, Any], **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Run a hook; its pipes must be shut within the time."""
    data = json.dumps(payload).encode()
    return subprocess.run(HOOK, input=data, capture_output=True, env={**os.environ, **environ}, timeout=30, check=True)


@pytest.fixture(scope="module")
def tests_there() -> frozenset[str]:
    """The names of all tests."""
    files: Iterator[Path] = (ROOT / "tests").rglob("test_*.py")
    return frozenset(name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text("utf-8"), re.MULTILINE))


def test_each_row_is_held_by_tests_that_there_are(tests_there: frozenset[str]) -> None:
    """All 39 rows, numbered; each with an issue and with tests under their own names."""
    assert [int(row[0]) for row in ROWS] == list(range(1, 40))
    for row in ROWS:
        assert re.search(r"[\w.-]+/[\w.-]+#\d", row[2]), row
        named = set(re.findall(r"`(test_\w+)`", row[4]))
        assert named, row
        assert named <= tests_there, named - tests_there


def test_a_home_with_spaces_is_a_home(tmp_path: Path) -> None:
    """Spaces and letters beyond ASCII in the folder of a user (EmpiricaAI/empirica#111)."""
    home = tmp_path / "Program Files" / "Zoë's home"
    assert hook(FAILED, REFLECT_GATE_HOME=str(home)).stdout == b""
    hook(END, REFLECT_GATE_HOME=str(home))
    with open_queue(home / "queue") as queue:
        assert [waiting.job.outcome for waiting in queue.jobs()] == ["escalated"]


def test_a_worker_without_a_queue_does_not_hold_the_hook() -> None:
    """The process that reflects at once waits for its model; the harness has the end of both streams (oh-my-claudecode#3920)."""
    with ModelServer("hang") as model:
        environ = {
            "REFLECT_GATE_QUEUE_ENABLED": "false",
            "REFLECT_GATE_QUEUE_JOB_TIMEOUT": "120s",
            "REFLECT_GATE_MODEL": "tiny",
            "REFLECT_GATE_BASE_URL": model.base_url,
            "NO_PROXY": "127.0.0.1",
        }
        hook(FAILED, **environ)
        done = hook(END, **environ)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_start_with_every_message_gives_once(home: Path) -> None:
    """Copilot tells the start of a session again and again (github/copilot-cli#2491)."""
    make_store(home)
    payload = {"sessionId": "s-1", "timestamp": 1, "cwd": "/", "source": "new", "initialPrompt": ERROR}
    said = [respond({**payload, "timestamp": number}, Options("copilot"), wiring.collect, wiring.recall) for number in range(3)]
    assert [bool(each) for each in said] == [True, False, False]


def test_the_context_says_what_it_is(home: Path) -> None:
    """It begins with a word, tells that it is quoted and where from, and gives no order (mnemon-dev/mnemon#86)."""
    make_store(home)
    said = recall(Event("codex", "UserPromptSubmit", "prompt", "s-1", said=ERROR))
    assert said.startswith("Lessons on record from earlier failures.")
    assert 'learned from 1 failure "run-81"' in said


def test_a_start_that_knows_nothing_asks_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a prompt and outside of any repository there is nothing to ask by (openai/codex#22337)."""
    make_store(home)
    opened: list[object] = []
    monkeypatch.setattr("reflect_store.open_store", lambda *args, **_more: opened.append(args))
    assert recall(Event("codex", "SessionStart", "session_start", "s-1", cwd="/")) == ""
    assert opened == []
    assert not spools().exists()
