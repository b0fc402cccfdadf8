"""Reflect once in a process of its own, and end it where it is told to: `ask.py BASE_URL JOURNAL [POINT]`.

POINT is a place to be killed at: `reserved` (before the request), `sent` (before the response is kept), `kept` (before it is
read). Prints the outcome as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reflect_gate import schemas
from reflect_gate.llm import journal as module
from reflect_gate.llm.client import Client
from reflect_gate.llm.journal import open_journal
from reflect_gate.llm.settings import ModelSettings
from reflect_gate.stages import reflect as stage

POINTS = {"reserved": (Client, "ask"), "sent": (module.Slot, "keep"), "kept": (stage, "parse_response")}


def die(*_: object, **__: object) -> Any:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


def main(base_url: str, folder: str, point: str = "") -> None:
    """Reflect on the example record."""
    if point:
        owner, name = POINTS[point]
        replacement: Callable[..., Any] = die
        setattr(owner, name, replacement)
    record: Any = schemas.schema("record")["examples"][0]
    context: Any = schemas.schema("signature-context")["examples"][0]
    found = stage.reflect(record, context, Client(ModelSettings("tiny", base_url)), open_journal(Path(folder)))
    print(json.dumps(found.to_json()))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
