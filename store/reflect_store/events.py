"""Events, the only truth of a store, and the chain that makes a change of the past visible.

An event's `digest` covers its payload together with a random nonce; its `hash` covers the hash before it, its number, id, type,
time and digest, never the payload itself. So a payload can be erased (`redacted`) while the chain still verifies, and since the
nonce is erased with it, what was erased cannot be guessed from the digest.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, cast

from ._reading import loads
from .errors import StoreError

__all__ = [
    "GENESIS",
    "REDACTED",
    "Draft",
    "Event",
    "Head",
    "canonical",
    "draft",
    "later",
    "link",
    "now",
    "payload_digest",
]

GENESIS: Final = "0" * 64
"""The hash before the first event."""

REDACTED: Final = "redacted"
"""The type of the event by which payloads of others are erased."""

MOST_BYTES: Final = 32 * 1024 * 1024
"""A payload is no longer than this as canonical JSON."""

_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


class Head(NamedTuple):
    """The end of a chain: the number and hash of the last event, 0 and `GENESIS` before the first."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


class Draft(NamedTuple):
    """An event before the store has placed it; `id` makes adding it twice harmless, `payload` is canonical JSON."""

    id: str
    type: str
    payload: bytes
    nonce: str


class Event(NamedTuple):
    """An event in its place; `payload` and `nonce` are `None` once they are erased. `time` is UTC with microseconds."""

    seq: int
    id: str
    type: str
    time: str
    digest: str
    hash: str
    nonce: str | None
    payload: bytes | None

    def data(self) -> dict[str, Any] | None:
        """Return the payload as a fresh document, `None` once it is erased."""
        return None if self.payload is None else cast("dict[str, Any]", loads(self.payload))

    def to_json(self) -> dict[str, Any]:
        """Return the document of `event.schema.json`."""
        return {**self._asdict(), "payload": self.data()}


def canonical(value: object) -> bytes:
    """Return canonical JSON: sorted keys, UTF-8, no space; `store-payload` where `value` is more than JSON can hold."""
    import orjson

    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        raise StoreError("store-payload", f"a payload is plain JSON: {error}") from None


def draft(type_: str, payload: Mapping[str, Any], *, id_: str | None = None, nonce: str | None = None) -> Draft:
    """Return a new event of type `type_`, checked against its shape.

    Args:
        type_: one of `EVENT_TYPES`.
        payload: the fields of its shape, plain JSON.
        id_: names the event for good; whoever may have to try again gives the same one. Random when absent.
        nonce: 32 hexadecimal digits that hide the payload behind its digest; random when absent.

    Raises:
        StoreError: `store-payload` where the payload is not of the shape or too long.
    """
    from .shapes import check_payload

    text = canonical(payload)
    check_payload(type_, loads(text))
    if len(text) > MOST_BYTES:
        raise StoreError("store-payload", f"event `{type_}`: more than {MOST_BYTES} bytes")
    return Draft(id_ or os.urandom(16).hex(), type_, text, nonce or os.urandom(16).hex())


def payload_digest(nonce: str, payload: bytes) -> str:
    """Return the digest that the chain covers in place of the payload."""
    import hashlib

    return hashlib.sha256(nonce.encode() + b"\n" + payload).hexdigest()


def link(previous: str, seq: int, id_: str, type_: str, time: str, digest: str) -> str:
    """Return the hash of an event that follows the hash `previous`; no part may hold a line break, which the shapes see to."""
    import hashlib

    return hashlib.sha256("\n".join((previous, str(seq), id_, type_, time, digest)).encode()).hexdigest()


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


def later(moment: datetime, last: str) -> str:
    """Return `moment` as the time of an event, moved behind `last` where the clock stands still or runs back."""
    written = moment.astimezone(UTC).strftime(_TIME)
    if written > last:
        return written
    return (datetime.strptime(last, _TIME).replace(tzinfo=UTC) + timedelta(microseconds=1)).strftime(_TIME)
