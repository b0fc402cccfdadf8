"""What a hook's events are connected to: the queue of failures and the store of lessons, each imported when it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .event import Event

__all__ = ["collect", "recall"]

_ASKS: Final = frozenset({"session_start", "prompt", "failure"})


def collect(event: Event) -> None:
    """Keep what an event tells of a failure (`collecting.collect`), with the queue of `capture` behind it."""
    from . import collecting

    def into_queue(termination: Mapping[str, Any]) -> object:
        from ..capture.capturing import capture

        return capture(termination)

    def concluded(told: Mapping[str, Any]) -> None:
        from .concluding import conclude

        conclude(told)

    collecting.collect(event, into_queue, concluded)


def recall(event: Event) -> str:
    """Return the lesson for an event (`recalling.recall`)."""
    if event.kind not in _ASKS:
        return ""
    from . import recalling

    return recalling.recall(event)
