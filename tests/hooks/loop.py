"""The loop of every dialect, each hook a process: failure, capture, worker, lesson, another session, hand-over, outcome.

    python tests/hooks/loop.py
    python tests/hooks/loop.py codex goose

A session fails and is repaired; a worker asks a model on loopback, and the gate admits the lesson. Another session, in another
repository, meets the same failure: it is handed the lesson where its dialect can, and ends; a worker records what became of it.
Prints a table, and ends with 1 where a dialect does not get as far as it can.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

if __package__:
    from ..capture.world import ANSWER, World
    from ..llm.server import Handler, ModelServer, saying
    from .harness import HARNESSES, Harness, Step, Told
else:
    sys.path += [str(Path(__file__).parents[1] / name) for name in ("capture", "llm")]
    from harness import HARNESSES, Harness, Step, Told  # type: ignore[import-not-found, no-redef]
    from server import Handler, ModelServer, saying  # type: ignore[import-not-found, no-redef]
    from world import ANSWER, World  # type: ignore[import-not-found, no-redef]

__all__ = ["LESSON", "Came", "Send", "expected", "loop", "model", "played"]

Send = Callable[[str, dict[str, Any]], str]
"""Hands a payload to a dialect's hook and returns what it said."""

LESSON: Final = str(ANSWER["reflection"]["candidate_lesson"])
TASK: Final = "Make total() work: load_cart() always returns a dict, so read cart['items'] and sum the prices for new sessions."
OTHER: Final = "Tidy the page of the monthly report."
FAILS: Final = "tests/test_cart.py::test_total_of_new_session FAILED\nTypeError: 'NoneType' object is not subscriptable\n1 failed"
AGAIN: Final = f"The cart's check fails since load_cart() returns None for a new session: {FAILS.splitlines()[1]}"
PASSES: Final = "5 passed"
_ID: Final = re.compile(r'"id":"([^"]+)"')


class Came(NamedTuple):
    """How far the loop of a dialect came.

    Attributes:
        dialect: whose.
        captured: failures in the queue after the first session.
        admitted: lessons in the store after the worker.
        told: at which step of the second session the lesson was said; empty where it was not.
        recorded: the outcome, how the task stood before, and what it counts as.
        standing: the lesson's, at the end.
        beside: in which list the second session's failure names the lesson.
    """

    dialect: str
    captured: int
    admitted: int
    told: str
    recorded: str
    standing: str
    beside: str

    @property
    def line(self) -> str:
        """The row as a line of the table."""
        parts = (self.dialect, self.captured, self.admitted, self.told or "silent", self.recorded or "none", self.standing)
        return "  ".join(f"{part!s:{width}}" for part, width in zip(parts, (12, 8, 8, 12, 28, 8), strict=True)) + self.beside


def expected(harness: Harness) -> tuple[str, str]:
    """Return where a dialect can say a lesson, and what is then recorded of it."""
    if harness.tells == "nothing":
        return "", ""
    if harness.tells in {"first prompt", "start"}:
        # Nothing had failed by then, so it cannot be said to have helped.
        return ("prompt" if harness.tells == "first prompt" else "start"), "resolved, unknown: applied"
    return harness.tells, "resolved, failing: helped"


def model(handler: Handler) -> None:
    """Answer with the lesson, on the evidence that was shown."""
    shown = handler.server.owner.asked[-1].body["messages"][-1]["content"]
    traces = shown.partition('"traces"')[2].partition('"diagnosis"')[0]
    reflection = {**ANSWER["reflection"], "evidence_ids": _ID.findall(traces)}
    saying({**ANSWER, "reflection": reflection})(handler)


def checkout(folder: Path, name: str) -> str:
    """Make a folder that is a checkout of a repository, and return it."""
    (folder / name / ".git").mkdir(parents=True)
    (folder / name / ".git" / "config").write_text(f'[remote "origin"]\n\turl = https://example.org/acme/{name}.git\n', "utf-8")
    (folder / name / ".git" / "HEAD").write_text("4be1c07f2d0c4a7f8d9a1b2c3d4e5f6071829304\n", "utf-8")
    return str(folder / name)


def played(harness: Harness, send: Send, session: str, cwd: str, *steps: tuple[Step, str]) -> str:
    """Play a session; return at which step a lesson was said, empty where none was."""
    told = ""
    for number, (step, text) in enumerate(steps):
        turn = f"t-{1 + sum(one == 'prompt' for one, _ in steps[:number])}"
        payload = harness.payload(step, Told(session, cwd, text, f"{session}-call-{number}", turn))
        said = send(harness.name, payload) if payload is not None else ""
        if said:
            assert not told, f"{harness.name} was told twice"
            assert LESSON[:60] in said.replace("\\u0027", "'"), said
            told = step
    return told


def loop(harness: Harness, world: World, send: Send, work: Callable[[], None]) -> Came:
    """Go round once; `send` is a hook, and `work` works off the queue."""
    home, away = checkout(world.root, "shop"), checkout(world.root, "blog")
    played(
        harness, send, "s-1", home, ("start", ""), ("prompt", TASK), ("fail", FAILS), ("pass", PASSES), ("turn", ""), ("end", "")
    )
    swept(harness, world, send, home)
    captured = len(list((world.home / "queue" / "wal").glob("*.wal")))
    work()
    admitted = len(world.rows("lessons"))
    first = AGAIN if harness.tells in {"first prompt", "start"} else OTHER
    told = played(
        harness, send, "s-2", away,
        ("start", AGAIN if harness.tells == "start" else ""), ("prompt", first), ("fail", FAILS), ("prompt", AGAIN),
        ("pass", PASSES), ("turn", ""), ("end", ""),
    )  # fmt: skip
    swept(harness, world, send, away)
    work()
    return came(harness.name, world, captured, admitted, told)


def swept(harness: Harness, world: World, send: Send, cwd: str) -> None:
    """Where a dialect has no end of a session, let a day pass, and another session begin."""
    if harness.payload("end", Told("", "")) is not None:
        return
    day_ago = time.time() - 90_000
    for file in (world.home / "hooks").iterdir():
        os.utime(file, (day_ago, day_ago))
    played(harness, send, "s-next", cwd, ("start", ""))


def came(name: str, world: World, captured: int, admitted: int, told: str) -> Came:
    """Return what the store says of it."""
    outcomes = world.rows("outcomes")
    recorded = "; ".join(f"{row['outcome']}, {row['before']}: {row['effect']}" for row in outcomes)
    failures = [row for row in world.rows("terminations") if row["origin"].get("session") == "s-2"]
    beside = "recalled" if any(row["recalled"] for row in failures) else ""
    standing = ", ".join(sorted(row["standing"] for row in world.rows("lessons")))
    return Came(name, captured, admitted, told, recorded, standing, beside)


def by_process(world: World) -> Send:
    """Return what starts a hook's process for each payload."""

    def send(dialect: str, payload: dict[str, Any]) -> str:
        ran = world.run("hook", "--harness", dialect, "--event", _event(payload), "--deadline", "60", stdin=payload)
        assert (ran.code, ran.err) == (0, ""), ran
        return ran.out

    return send


def _event(payload: dict[str, Any]) -> str:
    """Return the name for the payload that does not tell it."""
    return "session.created" if "event" in payload and isinstance(payload["event"], dict) else ""


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dialects", nargs="*", metavar="DIALECT", help="all unless given")
    chosen = parser.parse_args().dialects
    lines, wrong = ["dialect       captured  admitted  told at       recorded                      lesson    its failure says"], 0
    with ExitStack() as stack:
        cache = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(ModelServer(model))
        for harness in HARNESSES:
            if chosen and harness.name not in chosen:
                continue
            world = World(Path(stack.enter_context(tempfile.TemporaryDirectory())), cache)
            world.asks(server)
            row = loop(harness, world, by_process(world), lambda world=world: worked(world))  # type: ignore[misc]
            wrong += (row.told, row.recorded) != expected(harness) or not (row.captured and row.admitted)
            lines.append(row.line.rstrip())
    lines.append(f"{len(lines) - 1} dialects, {wrong} short of what they can")
    print("\n".join(lines))  # noqa: T201 - the report
    return 1 if wrong else 0


def worked(world: World) -> None:
    """Let a worker's process work off the queue."""
    done = world.run("worker", "--once", "--workers", "1", "--error-format", "json")
    assert done.code == 0, done
    ended = json.loads(done.err.splitlines()[-1])["summary"]
    assert (ended["dead"], ended["waiting"]) == (0, 0), done


if __name__ == "__main__":
    sys.exit(main())
