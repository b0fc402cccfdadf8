"""Small logs in every form that can be imported, made up for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

__all__ = ["FORMS", "FORM_ROWS", "JUNIT", "LESSONS", "PROGRAMMING", "programming", "written"]

PROGRAMMING: Final[dict[str, Any]] = {
    "id": "run-1",
    "lang": "py",
    "task_id": "mbpp_12_mean",
    "task_prompt": "Write mean(values), the mean of the values.",
    "failed_attempt": "def mean(values):\n    return sum(values) / len(values)",
    "feedback": "Tests failed:\nassert mean([]) == 0 # output: division by zero",
    "feedback_kind": "logged",
    "reflection_text": "The code does not handle an empty list. To fix this, return 0 where the list is empty.",
    "before_outcome": False,
    "next_outcome": True,
    "next_outcome_basis": "hidden_tests_reexecuted",
    "next_attempt": "def mean(values):\n    return sum(values) / len(values) if values else 0",
    "source": "acme/runs",
    "license": "MIT",
    "run": "run1",
    "model": "some-model",
    "strategy": "retry",
    "trial": 0,
}

_QUESTION: Final[dict[str, Any]] = {
    "reflection_text": "I assumed that the capital is the largest city. Check the definition of a capital first.",
    "failed_attempt": "The largest city is Sydney, so the capital is Sydney.",
    "before_outcome": False,
}

FORM_ROWS: Final[dict[str, dict[str, Any]]] = {
    "reflexion": PROGRAMMING,
    "lats": {**PROGRAMMING, "reflections_in_search": "4", "next_outcome": None, "next_outcome_basis": "none"},
    "hotpot": {
        **_QUESTION,
        "id": "question-1",
        "task_id": "Which city is the capital of Australia?",
        "feedback": "Answer is INCORRECT",
        "gold_answer_not_shown_to_model": "Canberra",
        "next_outcome": False,
        "next_outcome_basis": "exact match to the gold answer",
    },
    "alfworld": {
        "id": "house-1",
        "env": "alfworld",
        "task_id": "env_3",
        "reflection_text": "I was stuck in a loop. I should look for the lamp on the second desk.",
        "before_outcome": False,
        "next_outcome": True,
        "next_outcome_basis": "env",
        "feedback_kind": "not_kept",
    },
    "renze": {
        **_QUESTION,
        "id": "exam-1",
        "task_id": "geography-100#7",
        "task_prompt": "Which city is the capital of Australia? A) Sydney B) Canberra",
        "feedback": "answered A; correct answer B",
        "next_outcome": True,
        "next_outcome_basis": "answer key",
        "control_outcome": False,
    },
    "who-and-when": {
        "id": "agents-1",
        "task_id": "5f1c",
        "task_prompt": "Count the clients of 2031.",
        "failed_attempt": "[2] Analyst: there are 7 rows.",
        "trace_tail": "[3] Manager: the answer is 7.",
        "feedback": "final answer wrong; reference: 8",
        "mistake_step": 2,
        "reflection_text": "The analyst counted the rows of the first sheet alone.",
        "before_outcome": False,
    },
    "lessons-log": {
        "id": "lesson-1",
        "task_id": "Loaders",
        "source": "acme/shop",
        "reflection_text": "### Loaders\n\nCheck what load_cart() returns before reading it, because a new session has no cart.",
        "introduced_by": "fix: empty carts",
        "changed_files": ["cart.py", "tests/test_cart.py"],
    },
}

JUNIT: Final = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" tests="3">
<testcase classname="tests.test_cart" name="test_empty" file="tests/test_cart.py">
<failure message="ValueError: no cart">def test_empty():
E   ValueError: no cart
tests/test_cart.py:8: ValueError</failure></testcase>
<testcase classname="tests.test_cart" name="test_full"/>
<testcase classname="tests.test_cart" name="test_other"><error message="RuntimeError: no store">E RuntimeError</error></testcase>
</testsuite></testsuites>
"""

LESSONS: Final = """# Lessons

- Check what load_cart() returns before reading it, because a new session has no cart.
- Do not pop from an empty queue: it raises IndexError.
"""

FORMS: Final = (*FORM_ROWS, "lessons", "junit", "atif", "openhands", "openhands-eval", "swe-agent", "mini-swe-agent")


def programming(number: int, **changed: Any) -> dict[str, Any]:
    """Return a programming row with an id and a task of its own."""
    return {**PROGRAMMING, "id": f"run-{number}", "task_id": f"mbpp_{number}_mean", **changed}


def written(path: Path, *given: dict[str, Any] | bytes) -> str:
    """Write rows, one a line, and return the path."""
    path.write_bytes(b"".join(row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in given))
    return str(path)
