"""What a harness sends, in whatever state it arrives."""

from __future__ import annotations

import os
import threading

import pytest

from reflect_gate.hooks.reading import payload_of, read_bytes


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"   \n",
        b"[]",
        b'[{"a":1}]',
        b"null",
        b"3",
        b'"x"',
        b'{"a":',
        b"{a:1}",
        b"\xff\xfe\xfa",
        b"{" * 100_000,
        b'{"a":' * 50_000,
    ],
)
def test_what_is_no_object_is_nothing(data: bytes) -> None:
    """Arrays, scalars, halves, bytes and abysses are passed over without an error."""
    assert payload_of(data) is None


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
        ('{"a":"é"}'.encode("utf-16"), {"a": "é"}),
        (b'{"a":"caf\xe9"}', {"a": "caf\ufffd"}),
        (b'{"a":"\\ud800"}', {"a": "\ud800"}),
        (b'{"a":1}\n{"a":2}', {"a": 1}),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b'{"a":"line\nbreak"}', {"a": "line\nbreak"}),
    ],
)
def test_what_can_be_read_is_read(data: bytes, value: dict[str, object]) -> None:
    """Marks of order, foreign code pages, half surrogates, a second document, a key said twice."""
    assert payload_of(data) == value


def test_a_number_beyond_all_bounds_is_nothing() -> None:
    """Python refuses to read an integer of many digits; a hook does not say so."""
    assert payload_of(b'{"a":' + b"9" * 10_000 + b"}") is None


def test_reading_ends_with_the_value_where_the_pipe_stays_open() -> None:
    """A writer that never closes its end is not waited for (anthropics/claude-code#90585)."""
    ours, theirs = os.pipe()
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(read_bytes(ours)), daemon=True)
    reader.start()
    os.write(theirs, b'{"a":{"b":1}')
    os.write(theirs, b"}")
    reader.join(20)
    assert [payload_of(data) for data in got] == [{"a": {"b": 1}}]
    os.close(theirs)
    os.close(ours)


def test_too_much_is_read_away_and_ignored() -> None:
    """A payload over the limit is nothing, and its writer finds no closed pipe."""
    ours, theirs = os.pipe()
    sent: list[int] = []

    def write() -> None:
        sent.extend(os.write(theirs, b"x" * 50_000) for _ in range(40))
        os.close(theirs)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    assert read_bytes(ours, most=100_000) == b""
    writer.join(20)
    assert len(sent) == 40
    os.close(ours)


def test_a_descriptor_that_is_shut_is_empty() -> None:
    """Standard input may not be there at all."""
    ours, theirs = os.pipe()
    os.close(theirs)
    os.close(ours)
    assert read_bytes(ours) == b""
