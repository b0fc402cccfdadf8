"""The bytes of a record: a frame that shows every damage, around a JSON document that holds a job and what became of it.

The frame: 4 bytes `LSN1`; 4 bytes N, big-endian; 4 bytes CRC-32 of the payload; N bytes payload; 4 bytes CRC-32 of all before.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from ..errors import StoreError
from .job import Job

__all__ = [
    "HEADROOM",
    "MOST_BYTES",
    "MOST_PAYLOAD",
    "CorruptError",
    "NewerError",
    "Reason",
    "Record",
    "decode",
    "encode",
    "frame",
    "new_record",
    "short",
    "unframe",
]

MAGIC: Final = b"LSN1"
MOST_PAYLOAD: Final = 16 * 1024 * 1024
"""Bytes of JSON in a record that is put."""
HEADROOM: Final = 64 * 1024
"""Bytes that a failed attempt may add to a record of the greatest size, so that its retry can always be written down."""
VERSION: Final = 1

_HEAD: Final = struct.Struct(">4sII")
_TAIL: Final = struct.Struct(">I")
_AROUND: Final = _HEAD.size + _TAIL.size
MOST_BYTES: Final = MOST_PAYLOAD + HEADROOM + _AROUND
"""Bytes of the greatest file that can be a record."""
_MOST_ERROR: Final = 2000

Reason: TypeAlias = Literal["permanent", "exhausted", "poison", "dropped", "moving"]
"""Why a job is dead: its error was permanent, its attempts were used up, it killed its process, or the queue was full.
One that is `moving` is on its way to another queue and does not run in this one any more."""

_REASONS: Final = (None, "permanent", "exhausted", "poison", "dropped", "moving")


class CorruptError(ValueError):
    """Bytes that are no whole record; the message says what is wrong with them."""


class NewerError(ValueError):
    """A whole record of a later version of this format."""


class Record(NamedTuple):
    """A job and what became of it so far; times are seconds since 1970."""

    id: str
    job: Job
    created: float
    next: float
    attempts: int = 0
    error: str | None = None
    reason: Reason | None = None
    died: float | None = None


def new_record(job: Job, now: float) -> Record:
    """Return the record of a job that is put now."""
    return Record(job.id, job, now, now)


def short(error: object) -> str:
    """Return the text of an error, cut so that a record can hold it."""
    text = f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else str(error)
    return text if len(text) <= _MOST_ERROR else f"{text[: _MOST_ERROR - 1]}…"


def frame(payload: bytes, most: int = MOST_PAYLOAD + HEADROOM) -> bytes:
    """Return the payload in its frame.

    Raises:
        StoreError: `queue-payload` where it is empty or has more than `most` bytes.
    """
    if not 1 <= len(payload) <= most:
        raise StoreError("queue-payload", f"a record holds 1 to {most} bytes, not `{len(payload)}`")
    head = _HEAD.pack(MAGIC, len(payload), zlib.crc32(payload))
    return b"".join((head, payload, _TAIL.pack(zlib.crc32(payload, zlib.crc32(head)))))


def unframe(data: bytes) -> bytes:
    """Return the payload of a frame, of which every byte was checked.

    Raises:
        CorruptError: where the data is not exactly one frame.
    """
    if len(data) < _AROUND + 1:
        raise CorruptError(f"{len(data)} bytes are too few")
    magic, length, check = _HEAD.unpack_from(data)
    if magic != MAGIC:
        raise CorruptError("it does not begin with LSN1")
    if length > MOST_PAYLOAD + HEADROOM or len(data) != length + _AROUND:
        raise CorruptError(f"its header speaks of {length} bytes, and {len(data) - _AROUND} are there")
    payload = data[_HEAD.size : -_TAIL.size]
    if zlib.crc32(payload) != check:
        raise CorruptError("the checksum of the payload is wrong")
    if zlib.crc32(payload, zlib.crc32(data[: _HEAD.size])) != _TAIL.unpack_from(data, len(data) - _TAIL.size)[0]:
        raise CorruptError("the checksum of the whole is wrong")
    return payload


def encode(record: Record, most: int = MOST_PAYLOAD + HEADROOM) -> bytes:
    """Return the bytes of a record.

    Raises:
        StoreError: `queue-payload` where the job is no JSON, or the document has more than `most` bytes.
    """
    document = {"v": VERSION, **record._asdict(), "job": record.job._asdict()}
    try:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError("queue-payload", f"the payload of the job is no JSON: {str(error).lower()}") from None
    # Half a surrogate pair is legal in JSON, and a tool may print one.
    return frame(text.encode("utf-8", "surrogatepass"), most)


def decode(data: bytes) -> Record:
    """Return the record in the bytes.

    Raises:
        CorruptError: where they are no record, or not as this program writes them.
        NewerError: where a later version of this program wrote them.
    """
    payload = unframe(data)
    try:
        document = json.loads(payload.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise CorruptError("the payload is no JSON") from None
    version = document.get("v") if isinstance(document, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise NewerError(f"it has version {version}, and this program knows {VERSION}")
    try:
        record = _record(document)
    except (TypeError, KeyError, ValueError):
        raise CorruptError("the payload is no job") from None
    if record.id != record.job.id:
        raise CorruptError("its id is not that of its job")
    return record


def _record(document: dict[str, Any]) -> Record:
    parts = document["job"]
    job = Job(*(parts[name] for name in Job._fields))
    error, reason, died, attempts = (document[name] for name in ("error", "reason", "died", "attempts"))
    sound = (
        document["v"] == VERSION
        and all(isinstance(text, str) for text in job[:4])
        and isinstance(attempts, int)
        and attempts >= 0
        and (error is None or isinstance(error, str))
        and reason in _REASONS
    )
    if not sound:
        raise ValueError
    return Record(
        document["id"],
        job,
        _seconds(document["created"]),
        _seconds(document["next"]),
        attempts,
        error,
        cast("Reason | None", reason),
        None if died is None else _seconds(died),
    )


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError
    return float(value)
