"""Everything that a store owes its lessons, in order: the sweep of levels, contradictions, and held candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from .adjudicating import adjudicate
from .revisiting import revisit
from .sweeping import Change, sweep

if TYPE_CHECKING:
    from reflect_store import Store

    from ..policy import Bundle

__all__ = ["ROUNDS", "sweep_all"]

ROUNDS: Final = 16
"""How often contradictions and candidates are looked at: settling one may settle another, of which each step leaves fewer."""


def sweep_all(
    store: Store,
    bundle: Bundle,
    *,
    lessons: Sequence[str] | None = None,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[Change]:
    """Promote, demote and retire, settle contradictions, then judge held candidates again, and return every change.

    A dry run judges each step on the store as it is, so what a change would bring about in a later step is not seen by it. With
    `lessons`, only these and the contradictions between them and others are looked at, and no candidate.

    Raises:
        ReflectGateError: `lesson-unknown` where an id names no lesson.
        StoreError: the store cannot be read or written.
    """
    changes = sweep(store, bundle, lessons=lessons, dry_run=dry_run, progress=progress)
    for _ in range(1 if dry_run else ROUNDS):
        settled = adjudicate(store, bundle, lessons=lessons, dry_run=dry_run)
        if lessons is None:
            settled += revisit(store, bundle, dry_run=dry_run)
        if not settled:
            break
        changes += settled
    return changes
