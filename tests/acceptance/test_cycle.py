"""The life of a lesson from the command line, each step a process of its own on one file (R-P4, R-P5, R-g1, R-h1, R-i1, R-s1)."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HOME = {"repository": "acme/shop", "task": "checkout", "session": "s-0", "language": "python"}
TYPE_ERROR = "TypeError: 'NoneType' object is not subscriptable"


class Life:
    """A store in a file, and commands that are run on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / "store.db"

    def run(self, *arguments: str, expected: int = 0, stdin: object = None) -> Any:
        """Run a command with `--format json`, hold its exit code to `expected` and return what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", "reflect_gate", *arguments, "--store", str(self.store), "--format", "json"],
            input=b"" if stdin is None else json.dumps(stdin).encode(),
            capture_output=True,
            cwd=self.folder,
            env={**os.environ, "REFLECT_GATE_HOME": str(self.folder), "REFLECT_GATE_CACHE": str(self.folder / "cache")},
            check=False,
        )
        assert done.returncode == expected, done.stderr.decode()
        return json.loads(done.stdout) if done.stdout else None

    def learns(self, request: dict[str, Any], expected: int = 0) -> Any:
        """Judge a request against the store and commit the decision."""
        return self.run("evaluate", "-", "--apply", expected=expected, stdin=request)

    def ends(self, retrieval: str, outcome: str, **where: str) -> Any:
        """Record how a task ended for which a lesson was recalled."""
        code = "0" if outcome == "resolved" else "1"
        place = [part for name, value in where.items() for part in (f"--{name}", value)]
        ran = self.run(
            "record", "--retrieval", retrieval, "--outcome", outcome, "--before", "failing", "--exit-code", code, *place
        )
        return [str(change["action"]) for change in ran["changes"]]

    def recalls(self, text: str, *, expected: int = 0, **where: str) -> Any:
        """Ask for lessons for a task."""
        place = [part for name, value in where.items() for part in (f"--{name}", value)]
        return self.run("retrieve", text, "--limit", "1", *place, expected=expected)

    def history(self, lesson: str) -> list[str]:
        """Return the types of the events of a lesson's life, in order."""
        return [event["type"] for event in self.run("lessons", "history", lesson)["events"]]


@pytest.fixture
def life(tmp_path: Path) -> Life:
    """A new store, and the failure from which it learns its first lesson."""
    made = Life(tmp_path)
    made.run("store", "init")
    return made


@pytest.fixture
def failure(request_document: dict[str, Any]) -> dict[str, Any]:
    """A failure that teaches a lesson for one error in Python, wherever it happens."""
    request_document["reflection"]["scope"] = "lang:python error:TypeError"
    return {**request_document, "project": HOME}


def _recalled(life: Life, repository: str, task: str) -> str:
    said = f"the loader returned None and reading its items raised {TYPE_ERROR}"
    return str(life.recalls(said, repository=repository, task=task, language="python")["retrieval_id"])


def helped(life: Life, number: int) -> list[str]:
    """Let the lesson help a task in another repository."""
    ended: list[str] = life.ends(
        _recalled(life, f"acme/service-{number % 2}", f"basket-{number}"), "resolved", session=f"h-{number}"
    )
    return ended


def hurt(life: Life, number: int) -> list[str]:
    """Let the lesson hurt a task."""
    ended: list[str] = life.ends(_recalled(life, "acme/other", f"report-{number}"), "worse", session=f"w-{number}")
    return ended


def test_a_lesson_rises_falls_and_goes(life: Life, failure: dict[str, Any]) -> None:
    """Admitted, found for a similar task alone, promoted after three helps elsewhere, demoted, retired with a tombstone."""
    decision = life.learns(failure)
    lesson = decision["applied"]["lesson_id"]
    assert (decision["status"], decision["applied"]["action"]) == ("admitted", "admitted")

    similar = life.recalls(
        f"open_cart() may return None for a guest: {TYPE_ERROR}", repository="acme/blog", task="guest", language="python"
    )
    assert similar["retrieve"]["retrieved_lesson_ids"] == [lesson]
    life.recalls("align the table of contents in the printed manual", expected=4, repository="acme/manual", task="print")

    assert [helped(life, number) for number in range(3)] == [[], [], ["promote"]]
    assert life.run("lessons", "show", lesson)["lessons"][0]["lesson"]["type"] == "procedural"

    falls = [action for number in range(3) for action in hurt(life, number)]
    assert falls == ["demote"]
    goes = [action for number in range(3, 6) for action in hurt(life, number)]
    assert goes == ["retire"]
    life.recalls(f"the loader returned None: {TYPE_ERROR}", expected=4, repository="acme/blog", task="x", language="python")

    old = life.history(lesson)
    assert old[0] in {"decision-made", "lesson-admitted"}
    assert {"lesson-admitted", "lessons-recalled", "outcome-recorded", "lesson-promoted", "lesson-demoted"} <= set(old)
    listed = life.run("lessons", "list", "--standing", "retired")["lessons"]
    assert len(listed) == 1
    assert listed[0]["lesson"]["supersedes"] == lesson
    assert listed[0]["lesson"]["superseded_by"].startswith("tombstone-")
    assert "lesson-retired" in life.history(listed[0]["id"])
    life.run("store", "verify")


def test_a_counterexample_retires_at_once(life: Life, failure: dict[str, Any]) -> None:
    """The same failure, executed, after the lesson was recalled: it did not prevent what it is about."""
    lesson = life.learns(failure)["applied"]["lesson_id"]
    again = {**copy.deepcopy(failure), "project": {**HOME, "task": "refund", "session": "s-9"}, "recalled": [lesson]}
    again["record"]["failure_id"] = "refund-7"
    life.learns(again, expected=4)
    assert life.run("lessons", "show", lesson)["lessons"][0]["standing"] == "retired"
    assert life.history(lesson)[-1] == "lesson-retired"
    life.recalls(f"the loader returned None: {TYPE_ERROR}", expected=4, repository="acme/blog", task="x", language="python")
