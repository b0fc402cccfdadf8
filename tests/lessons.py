"""Lessons that are in a store before a test begins, as if the gate had admitted them."""

from __future__ import annotations

from collections.abc import Sequence

from reflect_store import Draft, EventStore, draft, memory_store, new_lesson

__all__ = ["born", "store_of"]


def born(
    name: str,
    statement: str,
    scope: str = "",
    *,
    signature: str = "a",
    tags: Sequence[str] = (),
    red_flag: bool = False,
) -> Draft:
    """Return the event that admits a lesson; a signature of one digit repeated may be given as that digit."""
    lesson = new_lesson(statement, scope, failures=["f-1"], evidence=["t-1"], confidence=0.5)
    envelope = {
        "lesson_id": name,
        "signature": signature * (64 // len(signature)),
        "project": {},
        "red_flag": red_flag,
        "bundle": "b" * 64,
    }
    envelope |= {"tags": list(tags)} if tags else {}
    return draft("lesson-admitted", {"lesson": lesson, "envelope": envelope, "decision_id": f"d-{name}"})


def store_of(*drafts: Draft) -> EventStore:
    """Return a store in memory in which `drafts` happened."""
    store = memory_store()
    store.append(drafts)
    return store
