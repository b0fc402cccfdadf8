"""Whose hooks are understood.

One command line can meet several dialects, since harnesses load each other's settings: what a payload is, its fields say, and
`--harness` is a hint for payloads that do not.
"""

from __future__ import annotations

from typing import Final

from ..event import Event, Payload
from . import claude_code, cline, codex, copilot, cursor, gemini, goose, hermes, opencode, openhands, vscode
from ._dialect import Dialect

__all__ = ["DIALECTS", "Dialect", "dialect_of", "read"]

DIALECTS: Final[tuple[Dialect, ...]] = (
    cursor.DIALECT,
    cline.DIALECT,
    openhands.DIALECT,
    opencode.DIALECT,
    hermes.DIALECT,
    goose.DIALECT,
    vscode.DIALECT,
    gemini.DIALECT,
    copilot.DIALECT,
    codex.DIALECT,
    claude_code.DIALECT,
)
"""In the order in which they are asked: those with fields of their own first, those that look like others last."""

_ALIASES: Final = {
    "claude": "claude-code",
    "gemini-cli": "gemini",
    "copilot-cli": "copilot",
    "codex-cli": "codex",
    "vs-code": "vscode",
}


def dialect_of(payload: Payload, hint: str = "") -> Dialect | None:
    """Return the dialect of a payload: the one that its fields show, else the hinted one, else none."""
    found = next((dialect for dialect in DIALECTS if dialect.claims(payload)), None)
    if found is not None:
        return found
    name = _ALIASES.get(hint, hint)
    return next((dialect for dialect in DIALECTS if dialect.name == name), None)


def read(payload: Payload, hint: str = "", event: str = "") -> tuple[Dialect, Event] | None:
    """Return the dialect and the event of a payload; None where nobody claims it."""
    dialect = dialect_of(payload, hint)
    return None if dialect is None else (dialect, dialect.read(payload, event))
