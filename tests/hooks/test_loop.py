"""The hook's whole process with a real store and a real queue behind it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from reflect_gate.capture.route import chosen_route, store_of
from reflect_store import draft, new_lesson, open_store
from reflect_store.queue import open_queue

if __package__:
    from .records import COMMAND, WRITERS
else:
    from records import COMMAND, WRITERS  # type: ignore[import-not-found, no-redef]

STATEMENT: Final = "When a cart may hold empty lines, check each line before int() is called, since an empty text is no number."
TASK: Final = "Count the empty lines of a cart: int() fails on an empty text."
HOOK: Final = [sys.executable, "-m", "reflect_gate", "evaluate", "--hook", "claude-code", "--deadline", "60"]
SESSION: Final[dict[str, Any]] = {"session_id": "s-1", "transcript_path": "", "cwd": "/"}
PROMPT: Final[dict[str, Any]] = {**SESSION, "hook_event_name": "UserPromptSubmit", "prompt": TASK}


@pytest.fixture
def store(home: Path) -> Path:
    """A store of one lesson, where the default route looks for it."""
    home.mkdir(mode=0o700)
    path = Path(store_of(chosen_route()))
    lesson = new_lesson(STATEMENT, "", failures=["run-81"], evidence=["t-1"], confidence=0.5)
    envelope = {"lesson_id": "l-cart", "signature": "a" * 64, "project": {}, "red_flag": False, "bundle": "b" * 64}
    with open_store(path, create=True) as kept:
        kept.append([draft("lesson-admitted", {"lesson": lesson, "envelope": envelope, "decision_id": "d-1"})])
    return path


def started(payload: dict[str, Any]) -> subprocess.Popen[bytes]:
    """Start a hook and hand it its payload."""
    process = subprocess.Popen(HOOK, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps(payload).encode())
    process.stdin.close()
    process.stdin = None
    return process


def said(*payloads: dict[str, Any]) -> list[str]:
    """Return what hooks that run at once hand to the model, the empty text for silence; each must end well."""
    with ExitStack() as stack:
        processes = [stack.enter_context(started(payload)) for payload in payloads]
        ended = [(process.communicate(timeout=60), process.returncode) for process in processes]
    assert {(code, err) for (_, err), code in ended} == {(0, b"")}
    return [json.loads(out)["hookSpecificOutput"]["additionalContext"] if out else "" for (out, _), _ in ended]


def jobs(home: Path) -> Iterator[dict[str, Any]]:
    """Yield the terminations that wait in the queue."""
    from reflect_gate.capture.settings import read_settings

    settings = read_settings()
    assert settings.folder.is_relative_to(home)
    with open_queue(settings.folder, settings.queue()) as queue:
        while claim := queue.claim():
            yield dict(claim.job.payload["termination"])
            claim.ack()


def test_a_lesson_is_handed_over_once_and_logged(store: Path) -> None:
    """Where a prompt is about it, in the harness's own form, with its source and under 2,000 characters (R-P4)."""
    (text,) = said(PROMPT)
    assert STATEMENT in text
    assert len(text) < 2_000
    assert said(PROMPT) == [""]
    assert STATEMENT in said({**PROMPT, "session_id": "s-2"})[0]
    with open_store(store, read_only=True) as kept:
        assert {row["session"] for row in kept.page("retrievals").rows} == {"s-1", "s-2"}


def test_a_lesson_comes_back_where_its_failure_shows(store: Path) -> None:
    """A failing command asks by its own error."""
    del store
    error = "Exit code 1\nValueError: int() fails on an empty text in the cart's line"
    (text,) = said(
        {
            **SESSION,
            "hook_event_name": "PostToolUseFailure",
            "tool_name": "Bash",
            "tool_input": {"command": COMMAND},
            "error": error,
        }
    )
    assert STATEMENT in text


def test_a_prompt_of_something_else_is_silent(store: Path) -> None:
    """The rules abstain, and so does the hook."""
    del store
    assert said({**PROMPT, "prompt": "Name the capital of a country."}) == [""]


def test_hooks_at_once_give_one_lesson(store: Path) -> None:
    """Eight hooks of one session at the same time: one of them says it, none fails (openai/codex#15269)."""
    del store
    texts = said(*[PROMPT] * 8)
    assert sorted(bool(text) for text in texts) == [False] * 7 + [True]


def test_a_failure_goes_into_the_queue_and_names_what_was_recalled(store: Path, home: Path, tmp_path: Path) -> None:
    """From the transcript at the session's end, once, however often the end is told (R-P1)."""
    del store
    assert said(PROMPT) != [""]
    transcript = str(WRITERS["claude-code"](tmp_path))
    end = {**SESSION, "hook_event_name": "SessionEnd", "transcript_path": transcript, "reason": "exit"}
    assert said(end, end) == ["", ""]
    assert said(end) == [""]
    (one,) = jobs(home)
    assert (one["outcome"], one["session"], one["recalled"]) == ("resolved", "s-1", ["l-cart"])


def test_parallel_failures_are_all_kept(home: Path) -> None:
    """Hooks of one session that run at once lose nothing (cytostack/openwolf#83)."""
    failures = [
        {
            **SESSION,
            "hook_event_name": "PostToolUseFailure",
            "tool_name": "Bash",
            "tool_input": {"command": f"make part-{number}"},
            "error": f"Exit code 2\nno rule for part-{number}",
        }
        for number in range(8)
    ]
    assert said(*failures) == [""] * 8
    said({**SESSION, "hook_event_name": "SessionEnd"})
    assert [one["outcome"] for one in jobs(home)] == ["escalated"] * 8


def test_switched_off_collects_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the switch a failure leaves no trace."""
    monkeypatch.setenv("REFLECT_GATE_DISABLE", "1")
    assert said({**SESSION, "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "error": "Exit code 1"}) == [""]
    assert not home.exists()
    assert "REFLECT_GATE_DISABLE" in os.environ
