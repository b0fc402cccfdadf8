"""The log of the server: a JSON object a line on stderr, of what happened and never of what was said."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from pathlib import Path
from traceback import extract_tb
from typing import Any

__all__ = ["fault", "log", "take_over"]


def log(event: str, **fields: Any) -> None:
    """Write one line; a stderr that is gone is no reason to fail."""
    line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **fields}
    try:
        sys.stderr.write(json.dumps(line) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def fault(error: BaseException) -> dict[str, str]:
    """Return what a log may tell of an error that nobody foresaw: its type and place; its message could repeat a request."""
    frames = extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return {"error": type(error).__name__, "at": place}


class _Handler(logging.Handler):
    """Writes what libraries log as lines of the same form."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record: of an exception the type and place alone."""
        error = record.exc_info[1] if record.exc_info else None
        log("library", logger=record.name, level=record.levelname, message=record.getMessage(), **(fault(error) if error else {}))


def take_over() -> None:
    """Let warnings of all libraries of this process be written as lines of this log."""
    root = logging.getLogger()
    root.handlers[:] = [_Handler(logging.WARNING)]
    root.setLevel(logging.WARNING)
