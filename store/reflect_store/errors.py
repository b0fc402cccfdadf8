"""The one error of the store: a stable code, one line of text, and the place it came from.

Codes of files and servers: `store-missing`, `store-foreign`, `store-newer`, `store-corrupt`, `store-read-only`, `store-full`,
`store-busy`, `store-io`, `store-exists`; of servers alone: `store-unreachable`, `store-denied`. Codes of what was asked for:
`store-moved`, `store-payload`, `store-reference`, `store-conflict`, `store-import`, `store-unknown`, `store-unsupported`. Codes
of the queue: `queue-gone`, `queue-full-disk`, `queue-read-only`, `queue-io`, `queue-busy`, `queue-latched`, `queue-closed`,
`queue-claim`, `queue-handler`, `queue-payload`, `queue-settings`, `queue-unknown`, `queue-conflict`; on servers also
`queue-unreachable`, `queue-denied`, `queue-newer`, `queue-foreign`, `queue-unsupported`.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Place", "StoreError"]


class Place(NamedTuple):
    """A file and a line in it; the line counts from 1, and 0 means unknown."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class StoreError(Exception):
    """Anything that the store refuses or cannot do; nothing of the transaction was written, unless the message says so."""

    def __init__(self, code: str, message: str, source: Place | None = None) -> None:
        super().__init__(code, message, source)
        self.code = code
        self.message = message
        self.source = source

    def __str__(self) -> str:
        place = f"{self.source}: " if self.source else ""
        return f"{place}{self.message} [{self.code}]"
