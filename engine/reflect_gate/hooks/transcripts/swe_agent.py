"""SWE-agent's `.traj` (1.1): one document with `trajectory` (action, observation, thought).

A demonstration may hold `history` only. No exit codes are kept: an observation says by its own words whether it failed, and how
the run ended stands in `info`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..dialects._fields import field, line, text, whole_text
from ..event import Payload
from ._evidence import Calls, Evidence, Format, plain

__all__ = ["FORMAT"]


def claims(record: Payload) -> bool:
    """A trajectory, or a history, as lists."""
    return any(isinstance(record.get(key), list) for key in ("trajectory", "history", "attempts"))


def read(records: Iterable[Payload]) -> Iterator[Evidence]:
    """Yield what the steps tell."""
    for record in records:
        attempts = record.get("attempts")
        for run in attempts if isinstance(attempts, list) and attempts else [record]:
            yield from _run(run)


def _run(run: object) -> Iterator[Evidence]:
    calls = Calls()
    steps, history = field(run, "trajectory"), field(run, "history")
    task = next((found for found in history if line(found, "role") == "user"), None) if isinstance(history, list) else None
    yield from plain("user", whole_text(task, "content"))
    for number, step in enumerate(steps if isinstance(steps, list) else []):
        yield from plain("plan", text(step, "thought"))
        done = text(step, "action").strip()
        if done:
            tool = done.split(maxsplit=1)[0]
            yield from calls.called(str(number), "edit" if tool in {"edit", "create", "insert"} else "bash", {"command": done})
            yield from calls.returned(str(number), text(step, "observation"))
    status = line(run, "info", "exit_status")
    if status.startswith("exit_"):
        yield Evidence("error", f"the run ended with {status}", error_class=status, failed=True)


FORMAT: Final = Format("swe-agent", claims, read)
