"""ATIF (Harbor's trajectory format, any 1.x): one document with `steps`; no step says that it failed but by its own words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..dialects._fields import field, line, whole_text
from ..event import Payload
from ._evidence import Calls, Evidence, Format, plain

__all__ = ["FORMAT"]


def claims(record: Payload) -> bool:
    """The version names the format."""
    return line(record, "schema_version").startswith("ATIF-v1")


def read(records: Iterable[Payload]) -> Iterator[Evidence]:
    """Yield what the steps tell."""
    calls = Calls()
    for record in records:
        steps = record.get("steps")
        for step in steps if isinstance(steps, list) else []:
            yield from _step(step, calls)


def _step(step: object, calls: Calls) -> Iterator[Evidence]:
    source = line(step, "source")
    if source in {"user", "agent"}:
        yield from plain("user" if source == "user" else "plan", whole_text(step, "message"))
    made = field(step, "tool_calls")
    for call in made if isinstance(made, list) else []:
        yield from calls.called(line(call, "tool_call_id"), line(call, "function_name"), field(call, "arguments"))
    results = field(step, "observation", "results")
    for result in results if isinstance(results, list) else []:
        yield from calls.returned(line(result, "source_call_id"), whole_text(result, "content"))


FORMAT: Final = Format("atif", claims, read)
