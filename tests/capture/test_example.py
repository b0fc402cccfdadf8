"""S1's example from end to end: a timeout on a 2,000-line file teaches a lesson that a later, similar task is offered (R-k3)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ..llm.server import Handler, ModelServer, saying
from .world import World

TASK = "refactor pkg/engine to extract Close method"
LATER = "refactor pkg/auth/manager.go split into smaller files"

LESSON = (
    "When refactoring a large Go file of more than 1000 lines, use @coder patch or the Edit tool for surgical changes instead of "
    "a rewrite of the whole file, because the provider times out on a write of the whole file."
)


def provider(handler: Handler) -> None:
    """Answer a small request at once, and a large one never."""
    size = len(handler.asked.body["messages"][0]["content"])
    if size > 10_000:
        handler.leave()
        handler.server.owner.ended.wait(30)
    else:
        handler.send(200, b"{}")


def go_file(path: Path, lines: int) -> Path:
    """Write a Go file of that many lines."""
    path.parent.mkdir(parents=True)
    head = ["package engine", "", "type Engine struct{ open bool }", ""]
    body = [f"func (e *Engine) step{number}() {{ e.open = true }}" for number in range(lines - len(head))]
    path.write_text("\n".join(head + body) + "\n", encoding="utf-8")
    return path


def coder(world: World, how: str, file: Path, server: ModelServer) -> subprocess.CompletedProcess[str]:
    """Run the coding tool."""
    script = Path(__file__).with_name("coder.py")
    place = file.relative_to(world.root).as_posix()
    command = [sys.executable, str(script), how, place, server.base_url]
    return subprocess.run(command, capture_output=True, text=True, cwd=world.root, check=False)


def termination(attempt: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return what a harness says of the attempt that failed: the plan, the action, and what the tool printed."""
    action, _ = attempt.stdout.splitlines()
    path = "pkg/engine/engine.go"
    plan = f"Extract Close from {path}. One write call can hold the whole file, so rewrite all of it at once."
    return {
        "failure_id": "coder-41",
        "outcome": "escalated",
        "task": TASK,
        "repository": "acme/engine",
        "language": "go",
        "session": "monday",
        "traces": [
            {"id": "plan", "kind": "plan", "text": plan},
            {"id": "action", "kind": "action", "path": path, "text": action},
            {
                "id": "error",
                "kind": "error",
                "path": path,
                "error_class": "TimeoutError",
                "exit_code": attempt.returncode,
                "text": attempt.stdout,
            },
        ],
    }


ANSWER: dict[str, Any] = {
    "skip": False,
    "tags": ["go", "refactor", "large-file", "edit-tool"],
    "reflection": {
        "outcome": "escalated",
        "failed_assumption": "The plan assumed that one write call can hold the whole file, but the write ended in TimeoutError.",
        "overlooked_evidence": "",
        "strategy_error": "Rewriting the whole file pkg/engine/engine.go at once with @coder write made the provider time out.",
        "violated_invariant": "",
        "evidence_ids": ["plan", "action", "error"],
        "counterfactual": "A patch of the few lines around Close would have been answered within the time.",
        "candidate_lesson": LESSON,
        "scope": "error:TimeoutError lang:go",
        "confidence": 0.8,
    },
}


def offered(world: World, text: str, *more: str) -> dict[str, Any]:
    """Return what a task in the same repository is offered."""
    place = ("--repository", "acme/engine", "--language", "go", "--format", "json")
    document: dict[str, Any] = json.loads(world.run("retrieve", text, *place, *more).out)
    return document


@pytest.mark.slow
def test_a_timeout_teaches_a_lesson_that_a_later_task_is_offered(world: World) -> None:
    """R-k3: real files, a real tool that times out over HTTP, a real call, a real store; then the later task goes otherwise."""
    first = go_file(world.root / "pkg" / "engine" / "engine.go", 2_000)
    with ModelServer(provider) as coding, ModelServer(saying(ANSWER)) as model:
        failed = coder(world, "write", first, coding)
        assert (failed.returncode, "2000 of 2000 lines" in failed.stdout) == (124, True)

        world.asks(model)
        assert world.run("capture", "-", "--trigger", "error", stdin=termination(failed)).code == 0
        done = world.run("worker", "--once")
        assert (done.code, len(model.asked)) == (0, 1), done.err
        (lesson,) = world.rows("lessons")
        assert (lesson["lesson"]["statement"], lesson["lesson"]["type"], lesson["standing"]) == (LESSON, "episodic", "active")

        # S1: the lesson comes back by its tags.
        second = go_file(world.root / "pkg" / "auth" / "manager.go", 1_800)
        found = offered(world, LATER, "--path", "pkg/auth/manager.go", "--hint", "refactor", "--hint", "large-file")
        assert [match["lesson_id"] for match in found["matches"]] == [lesson["id"]]
        how = "patch" if "@coder patch" in found["retrieve"]["lessons"][0]["statement"] else "write"
        assert coder(world, how, second, coding).returncode == 0

    recorded = world.run(
        "record", "--retrieval", found["retrieval_id"], "--task", LATER, "--outcome", "resolved", "--exit-code", "0"
    )
    assert recorded.code == 0, recorded.err
    (row,) = world.rows("lessons")
    assert row["lesson"]["times_applied"] == 1


@pytest.mark.slow
def test_another_task_is_offered_nothing(world: World) -> None:
    """R-P4: silence is an answer: a task that has nothing to do with it does not see the lesson."""
    with ModelServer(saying(ANSWER)) as model:
        world.asks(model)
        attempt = subprocess.CompletedProcess[str](
            [], 124, "@coder write pkg/engine/engine.go: 2000 lines\nTimeoutError: no answer"
        )
        world.run("capture", "-", stdin=termination(attempt))
        world.run("worker", "--once")
    assert len(world.rows("lessons")) == 1
    assert offered(world, "translate the invoice template into Czech", "--hint", "i18n")["matches"] == []
