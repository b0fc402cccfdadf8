"""Ids on the command line: completed from the store while they are typed, and found by their beginning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from ..config import store_path
from ..errors import ReflectGateError

if TYPE_CHECKING:
    from reflect_store import Store, TableName

__all__ = ["complete_lesson", "complete_retrieval", "lesson_named"]

SHORTEST: Final = 6
"""Characters of an abbreviation."""

_PREFIX: Final = "lesson-"
_OFFERED: Final = 50
_NAMED: Final = 5
_PATIENCE: Final = 0.5
"""Seconds that a prompt waits for a store."""


def lesson_named(store: Store, given: str) -> str:
    """Return the id of the lesson that `given` is, or is the beginning of, with or without `lesson-`.

    Raises:
        ReflectGateError: `lesson-unknown`, or `lesson-ambiguous` where several begin so.
    """
    if store.get("lessons", given) is not None:
        return given
    found: list[str] = []
    if len(given) >= SHORTEST:
        # One more than is named, so that there is something to say of more.
        found = store.keys("lessons", given, _NAMED + 1) or store.keys("lessons", _PREFIX + given, _NAMED + 1)
    if not found:
        short = f"; an abbreviation has {SHORTEST} characters or more" if 0 < len(given) < SHORTEST else ""
        raise ReflectGateError("lesson-unknown", f"no lesson `{given}`{short}")
    if len(found) > 1:
        named = ", ".join(f"`{name}`" for name in found[:_NAMED]) + (" and more" if len(found) > _NAMED else "")
        raise ReflectGateError("lesson-ambiguous", f"`{given}` is the beginning of {named}")
    return found[0]


def complete_lesson(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the ids of lessons, the newest where nothing is typed yet, each with what it says."""
    return _complete(ctx, "lessons", "id", incomplete, lambda row: str(row["lesson"]["statement"]))


def complete_retrieval(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the ids of retrievals, the newest where nothing is typed yet, each with its time and task."""
    return _complete(ctx, "retrievals", "retrieval_id", incomplete, lambda row: f"{row['time'][:16]} {row['task']}".strip())


def _complete(
    ctx: click.Context, table: TableName, key: str, incomplete: str, told: Callable[[Mapping[str, Any]], str]
) -> list[CompletionItem]:
    from reflect_store import StoreError, open_store

    from ..report._safe import plain

    try:
        with open_store(store_path(ctx.params.get("store_file")), read_only=True, timeout=_PATIENCE) as store:
            if incomplete:
                rows = [store.get(table, name) for name in store.keys(table, incomplete, _OFFERED)]
            else:
                rows = [*store.page(table, limit=_OFFERED, newest=True).rows]
    except (ReflectGateError, StoreError, OSError):  # a prompt is no place to say what is wrong
        return []
    return [CompletionItem(row[key], help=plain(told(row))) for row in rows if row is not None]
