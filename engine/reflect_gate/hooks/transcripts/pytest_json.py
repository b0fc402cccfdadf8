"""pytest-json-report's document (1.5): one object with `tests`, each with its outcome and where it crashed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..dialects._fields import field, line, text
from ..event import Payload
from ._evidence import Evidence, Format, bounded

__all__ = ["FORMAT"]


def claims(record: Payload) -> bool:
    """Tests beside the exit code of the run."""
    return isinstance(record.get("tests"), list) and "exitcode" in record


def read(records: Iterable[Payload]) -> Iterator[Evidence]:
    """Yield an entry a test that ran."""
    for record in records:
        tests = record.get("tests")
        for test in tests if isinstance(tests, list) else []:
            outcome, name = line(test, "outcome"), line(test, "nodeid")
            if outcome not in {"passed", "failed", "error"}:
                continue
            part = next((key for key in ("setup", "call", "teardown") if line(test, key, "outcome") == "failed"), "call")
            message = text(test, part, "crash", "message")
            said = f"{name} {outcome}: {message}\n{text(test, part, 'longrepr')}" if message else f"{name} {outcome}"
            file = line(field(test, part), "crash", "path") or name.partition("::")[0]
            yield Evidence("test_output", bounded(said), name, "pytest", file, failed=outcome != "passed")


FORMAT: Final = Format("pytest-json", claims, read)
