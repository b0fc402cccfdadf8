"""Hooks of one session that run at the same time: one hand-over, every failure kept, every job there, no lock in the way.

    python tests/hooks/at_once.py --hooks 20 --rounds 10

In every round a session of its own is told as many failures by processes that run at once, and then its end by as many. Prints
the figures as JSON, and ends with 1 where one of them is not as it must be.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

from reflect_store import draft, new_lesson, open_store
from reflect_store.queue import open_queue

__all__ = ["Round", "make_store", "run"]

HOOK: Final = [sys.executable, "-m", "reflect_gate", "hook", "--harness", "claude-code", "--deadline", "60"]
STATEMENT: Final = "When a cart may hold empty lines, check each line before int() is called, since an empty text is no number."
ERROR: Final = "ValueError: int() fails on an empty text in the cart's line"
FAILING: Final = "pytest -q tests/test_cart.py"


class Round(NamedTuple):
    """What came of one session.

    Attributes:
        spoken: hooks that handed a lesson over.
        wrong: hooks that ended otherwise than with 0, or said something on stderr.
        logged: retrievals that the store has of the session.
        failures: jobs of failures in the queue.
        outcomes: jobs of outcomes in the queue.
        seconds: from the first start to the last end.
    """

    spoken: int
    wrong: int
    logged: int
    failures: int
    outcomes: int
    seconds: float

    def right(self, failures: int) -> bool:
        """Return whether it is as it must be."""
        return self[:5] == (1, 0, 1, failures, 1)


def make_store(home: Path) -> None:
    """Make a store of one lesson in a home folder."""
    home.mkdir(mode=0o700, exist_ok=True)
    lesson = new_lesson(STATEMENT, "", failures=["run-81"], evidence=["t-1"], confidence=0.5)
    envelope = {"lesson_id": "l-cart", "signature": "a" * 64, "project": {}, "red_flag": False, "bundle": "b" * 64}
    with open_store(home / "store.db", create=True) as kept:
        kept.append([draft("lesson-admitted", {"lesson": lesson, "envelope": envelope, "decision_id": "d-1"})])


def _at_once(payloads: Sequence[dict[str, Any]], environ: dict[str, str]) -> list[tuple[int, bytes, bytes]]:
    """Start all hooks, hand each its payload, and return how they ended."""
    pipes = subprocess.PIPE
    with ExitStack() as stack:
        hooks = [
            stack.enter_context(subprocess.Popen(HOOK, stdin=pipes, stdout=pipes, stderr=pipes, env=environ)) for _ in payloads
        ]
        for hook, payload in zip(hooks, payloads, strict=True):
            assert hook.stdin is not None
            hook.stdin.write(json.dumps(payload).encode())
            hook.stdin.close()
            hook.stdin = None
        ended = [(*hook.communicate(timeout=120), hook.returncode) for hook in hooks]
    return [(code, out, err) for out, err, code in ended]


def run(home: Path, number: int, hooks: int, environ: dict[str, str]) -> Round:
    """Play one session."""
    session = {"session_id": f"s-{number}", "transcript_path": "", "cwd": "/"}
    tool = {**session, "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "error": f"Exit code 1\n{ERROR}"}
    failures = [
        {**tool, "tool_input": {"command": f"{FAILING} -k part_{each}"}, "tool_use_id": f"c-{each}"} for each in range(hooks)
    ]
    begun = time.monotonic()
    ended = _at_once(failures, environ)
    ends = _at_once([{**session, "hook_event_name": "SessionEnd"}] * hooks, environ)
    seconds = time.monotonic() - begun
    triggers = []
    with open_queue(home / "queue") as queue:
        while claim := queue.claim():
            triggers.append(claim.job.trigger)
            claim.ack()
    with open_store(home / "store.db", read_only=True) as kept:
        logged = sum(row["session"] == f"s-{number}" for row in kept.iterate("retrievals"))
    wrong = sum(bool(code or err) for code, _, err in (*ended, *ends))
    spoken = sum(bool(out) for _, out, _ in (*ended, *ends))
    return Round(spoken, wrong, logged, triggers.count("error"), triggers.count("outcome"), round(seconds, 2))


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hooks", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("REFLECT")}
        environ = {**kept, "REFLECT_GATE_HOME": str(home), "REFLECT_GATE_CACHE": str(Path(folder) / "cache")}
        make_store(home)
        rounds = [run(home, number, options.hooks, environ) for number in range(options.rounds)]
    wrong = [each._asdict() for each in rounds if not each.right(options.hooks)]
    told = {
        "hooks": options.hooks,
        "rounds": len(rounds),
        "handed over": sum(each.spoken for each in rounds),
        "failures lost": sum(options.hooks - each.failures for each in rounds),
        "outcomes": sum(each.outcomes for each in rounds),
        "hooks that failed": sum(each.wrong for each in rounds),
        "seconds a round": max(each.seconds for each in rounds),
        "wrong": wrong,
    }
    print(json.dumps(told, indent=1))  # noqa: T201 - the report
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
