"""The envelope that Claude Code introduced and Codex, Gemini CLI and VS Code took over."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..event import Event

__all__ = ["envelope"]


def envelope(event: Event, text: str, events: Collection[str]) -> dict[str, Any] | None:
    """Return the document for an event that is one of `events`; Codex rejects a field more than these."""
    if event.name not in events:
        return None
    return {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}}
