"""The golden payloads: what each dialect's events look like, what is read of them, and what is said with a lesson at hand.

`python tests/hooks/golden.py --write` reads every payload again and writes down what came of it, for review.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from reflect_gate.hooks.dialects import read
from reflect_gate.hooks.event import Event
from reflect_gate.hooks.running import Options, respond

__all__ = ["FILES", "LESSON", "answer", "event_of", "load", "told"]

FOLDER: Final = Path(__file__).parent / "golden"
FILES: Final = sorted(FOLDER.glob("*.json"))
LESSON: Final = "On record: int() takes no empty line."
_EMPTY: Final = Event("", "", "other")


def load(file: Path) -> dict[str, Any]:
    """Return a golden file: `payload`, `event` (what is not empty of it) and `answer` (None where it is silent)."""
    document: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return document


def event_of(payload: dict[str, Any], hint: str = "") -> Event:
    """Return the event of a payload that is some dialect's."""
    found = read(payload, hint)
    assert found is not None
    return found[1]


def told(event: Event) -> dict[str, Any]:
    """Return what an event says that is not empty."""
    pairs = zip(Event._fields, event, _EMPTY, strict=True)
    return {name: value for name, value, empty in pairs if value != empty or name in {"dialect", "name", "kind"}}


def answer(payload: dict[str, Any]) -> dict[str, Any] | None:
    """Return the document that is said with a lesson at hand, None for silence."""
    said = respond(payload, Options(), lambda _event: None, lambda _event: LESSON)
    document: dict[str, Any] | None = json.loads(said) if said else None
    return document


def _write() -> None:
    for file in FILES:
        payload = load(file)["payload"]
        document = {"payload": payload, "event": told(event_of(payload)), "answer": answer(payload)}
        file.write_text(json.dumps(document, indent=2, ensure_ascii=True) + "\n", "utf-8")


if __name__ == "__main__" and "--write" in sys.argv:
    _write()
