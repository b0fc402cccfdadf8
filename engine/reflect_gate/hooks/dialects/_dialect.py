"""What a dialect is: how its payloads are told apart and read, and how it takes a context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..event import Event, Payload

__all__ = ["Dialect"]


class Dialect(NamedTuple):
    """One harness's hooks.

    `claims` says whether a payload can only be this dialect's, given those that stand before it in `DIALECTS`. `read` takes the
    payload and the event's name as the command line gave it, for payloads that do not name it. `context` returns the document
    that hands a text to the model, None where this event cannot. Silence is zero bytes in every dialect.
    """

    name: str
    claims: Callable[[Payload], bool]
    read: Callable[[Payload, str], Event]
    context: Callable[[Event, str], dict[str, Any] | None]
