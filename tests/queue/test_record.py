"""The bytes of a record, and the id of a job."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_store.queue import MOST_PAYLOAD, CorruptError, Job, Record, StoreError, decode, encode, job_id
from reflect_store.queue.record import HEADROOM, NewerError, Reason, frame, unframe

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
JOBS = st.builds(Job, st.text(), st.text(max_size=9), st.text(max_size=9), st.text(max_size=9), JSON)
TIMES = st.floats(0, 4e9)


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Draw a record of any job."""
    job = draw(JOBS)
    reasons: list[Reason | None] = [None, "permanent", "exhausted", "poison", "dropped"]
    reason = draw(st.sampled_from(reasons))
    times = draw(TIMES), draw(TIMES)
    return Record(job.id, job, *times, draw(st.integers(0, 99)), draw(st.none() | st.text()), reason, draw(st.none() | TIMES))


@given(records())
def test_a_record_comes_back(record: Record) -> None:
    """R-q1: whatever is in a job, also half a surrogate pair."""
    assert decode(encode(record)) == record


@given(records(), st.data())
def test_every_truncation_shows(record: Record, data: st.DataObject) -> None:
    """R-q1: a file that was cut anywhere is no record."""
    whole = encode(record)
    with pytest.raises(CorruptError):
        decode(whole[: data.draw(st.integers(0, len(whole) - 1))])


@given(records(), st.data())
def test_every_flipped_bit_shows(record: Record, data: st.DataObject) -> None:
    """R-q1: header, payload and trailer are all covered."""
    whole = bytearray(encode(record))
    bit = data.draw(st.integers(0, len(whole) * 8 - 1))
    whole[bit // 8] ^= 1 << bit % 8
    with pytest.raises(CorruptError):
        decode(bytes(whole))


@given(records(), st.binary(min_size=1, max_size=20))
def test_anything_behind_it_shows(record: Record, more: bytes) -> None:
    """R-q1: a record is exactly as long as it says."""
    with pytest.raises(CorruptError):
        decode(encode(record) + more)


@given(st.binary(max_size=200))
def test_other_bytes_are_no_record(data: bytes) -> None:
    """Nothing but `CorruptError` comes of foreign bytes."""
    with pytest.raises(CorruptError):
        decode(data)


@given(st.binary(min_size=1, max_size=60))
def test_a_framed_payload_that_is_no_job_is_corrupt(payload: bytes) -> None:
    """A sound frame around something else is not taken for a job."""
    with pytest.raises(CorruptError):
        decode(frame(payload))


def test_the_layout_is_that_of_the_seed() -> None:
    """R-q1: magic, length, CRC of the payload, payload, CRC of all before; spelled out by other means."""
    payload = b'{"x":1}'
    head = b"LSN1" + struct.pack(">I", 7) + struct.pack(">I", zlib.crc32(payload))
    assert frame(payload) == head + payload + struct.pack(">I", zlib.crc32(head + payload))


@pytest.mark.parametrize("size", [1, 4084, 4085, 5000, 65_536, MOST_PAYLOAD])
def test_payloads_of_any_size_come_back(size: int) -> None:
    """R-q1: 1 byte to 16 MiB."""
    payload = bytes(range(256)) * (size // 256) + bytes(size % 256)
    assert unframe(frame(payload, MOST_PAYLOAD)) == payload


@pytest.mark.parametrize("size", [0, MOST_PAYLOAD + 1])
def test_other_sizes_are_refused(size: int) -> None:
    """R-q1: nothing, and a byte too many."""
    with pytest.raises(StoreError, match="queue-payload"):
        frame(bytes(size), MOST_PAYLOAD)


def test_a_length_beyond_the_limit_is_not_believed() -> None:
    """A header that speaks of more than a record may have is corrupt, whatever follows."""
    payload = bytes(MOST_PAYLOAD + HEADROOM + 1)
    head = struct.pack(">4sII", b"LSN1", len(payload), zlib.crc32(payload))
    with pytest.raises(CorruptError):
        unframe(head + payload + struct.pack(">I", zlib.crc32(head + payload)))


def test_a_later_version_is_not_called_corrupt() -> None:
    """What a later program wrote is told apart from damage."""
    with pytest.raises(NewerError):
        decode(frame(b'{"v":2,"whatever":true}'))


def test_an_id_that_is_not_of_the_job_is_corrupt() -> None:
    """The id in a record is checked against its job."""
    record = Record("0" * 16, Job("t", "error", "a", "failed"), 1.0, 1.0)
    with pytest.raises(CorruptError, match="id"):
        decode(encode(record))


def test_the_id_is_a_hash_of_a_json_array() -> None:
    """R-q2: sha256 over [normalized task, trigger, attempt, outcome], 16 hexadecimal digits; other languages get the same."""
    text = json.dumps(["fix the test", "error", "t-1", "failed"], separators=(",", ":"))
    assert job_id(" fix\n the  test ", "error", "t-1", "failed") == hashlib.sha256(text.encode()).hexdigest()[:16]


@given(st.tuples(*[st.text(max_size=6)] * 4), st.tuples(*[st.text(max_size=6)] * 4))
def test_different_parts_have_different_ids(one: tuple[str, str, str, str], two: tuple[str, str, str, str]) -> None:
    """R-q2: no separator in a part can make two jobs one; white space of the task alone does not count."""
    same = (" ".join(one[0].split()), *one[1:]) == (" ".join(two[0].split()), *two[1:])
    assert (job_id(*one) == job_id(*two)) is same


def test_the_payload_has_no_part_in_the_id() -> None:
    """R-q2: the same failure told with other evidence is the same job."""
    assert Job("t", "error", "a", "failed", 1).id == Job("t", "error", "a", "failed", {"x": 2}).id
