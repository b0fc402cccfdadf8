"""Erasing for good: which events hold what must go, and taking their payloads away without breaking the chain."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .checking import by_seq
from .errors import StoreError
from .events import Event
from .projections import lesson_ids
from .protocol import Backend, Progress, Transaction
from .shapes import REDACTED

__all__ = ["about_lesson", "chosen", "containing", "scrub"]


def _holds(value: object, text: str) -> bool:
    if isinstance(value, str):
        return text in value
    if isinstance(value, dict):
        return any(text in key or _holds(inner, text) for key, inner in value.items())
    return isinstance(value, list) and any(_holds(inner, text) for inner in value)


def containing(text: str) -> Callable[[Event, dict[str, Any]], bool]:
    """Return the test of whether any string of a payload holds `text`."""
    return lambda _event, data: _holds(data, text)


def about_lesson(lesson_id: str) -> Callable[[Event, dict[str, Any]], bool]:
    """Return the test of whether an event is a part of a lesson's life, or a decision that was judged against the lesson."""

    def test(event: Event, data: dict[str, Any]) -> bool:
        if lesson_id in lesson_ids(event.type, data):
            return True
        view = data["inputs"].get("store_view") if event.type == "decision-made" else None
        return view is not None and any(entry["id"] == lesson_id for entry in view["lessons"])

    return test


def scrub(backend: Backend) -> None:
    """See to it that nothing erased is left in free pages or the log; where that fails, say that the erasing itself was done."""
    try:
        backend.compact()
    except StoreError as error:
        message = f"erased, but the files may show traces until `reflect-gate store vacuum` succeeds: {error.message}"
        raise StoreError(error.code, message, error.source) from error


def chosen(
    transaction: Transaction, ids: Iterable[str], tests: list[Callable[[Event, dict[str, Any]], bool]], progress: Progress
) -> list[str]:
    """Return the ids of the events to erase, in the order of the chain.

    Raises:
        StoreError: `store-unknown` where one of `ids` names no event, or the record of a redaction.
    """
    wanted = set(ids)
    for name in sorted(wanted):
        event = transaction.find(name)
        if event is None or event.type == REDACTED:
            raise StoreError("store-unknown", f"no event `{name}` that could be redacted")
    whole = transaction.head().seq
    found = []
    for event in by_seq(transaction):
        data = event.data()
        if data is not None and event.type != REDACTED and (event.id in wanted or any(test(event, data) for test in tests)):
            found.append(event.id)
        progress(event.seq, whole)
    return found
