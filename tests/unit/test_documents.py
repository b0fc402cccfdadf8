"""Reading JSON: what is not exactly one well-formed document is refused on one line that says where."""

from __future__ import annotations

import enum
import io
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_gate.config import Limits
from reflect_gate.documents import ARRAY_FACTOR, MAX_DEPTH, plain, read_documents, read_json, read_ndjson
from reflect_gate.errors import ReflectGateError

LIMITS = Limits()
SMALL = Limits(request_bytes=64)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False, allow_infinity=False), TEXTS
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=20,
)


def refusal(data: bytes, limits: Limits = LIMITS) -> ReflectGateError:
    """Return why a document is refused; fail where it is not."""
    with pytest.raises(ReflectGateError) as caught:
        read_json(data, "in", limits)
    [error] = caught.value.errors
    assert "\n" not in str(error)
    return error


def told(data: bytes, limits: Limits = LIMITS) -> list[tuple[str, object]]:
    """Return what `read_documents` yields, errors by their code."""
    found = read_documents(io.BytesIO(data), "in", limits)
    return [(place, document.code if isinstance(document, ReflectGateError) else document) for place, document in found]


# -- one document ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "in:1: holds no JSON [document-empty]"),
        (b" \r\n\t", "in:1: holds no JSON [document-empty]"),
        (b'\xef\xbb\xbf{"a":1}', "in:1:1: starts with a byte-order mark [document-bom]"),
        (b'{\n"caf\xe9":1}', "in:2:5: not UTF-8: byte `0xe9` [document-encoding]"),
        (b"\xff\xfe{\x00}\x00", "in:1:1: not UTF-8: byte `0xff` [document-encoding]"),
        (b'{"a":"\xed\xa0\x80"}', "in:1:7: not UTF-8: byte `0xed` [document-encoding]"),
        (b'{"a":1,\n "b":{"c":1,"c":2}}', 'in:2:13: the key `"c"` appears twice [document-duplicate-key]'),
        (b'{"a":1,"\\u0061":2}', 'in:1:8: the key `"a"` appears twice [document-duplicate-key]'),
        ('{"é":1,"é":2}'.encode(), 'in:1:8: the key `"\\u00e9"` appears twice [document-duplicate-key]'),
        (b'{"a":"\\ud800"}', "in:1:7: a lone surrogate in a string [document-surrogate]"),
        (b'["\\udc00\\ud800"]', "in:1:3: a lone surrogate in a string [document-surrogate]"),
        (b"[1, 18446744073709551616]", "in:1:5: a whole number above 64 bits [document-number]"),
        (b"[-9223372036854775809]", "in:1:2: a whole number above 64 bits [document-number]"),
        (b"[[" * 50, "in:1:65: nested deeper than 64 levels [document-depth]"),
        (b"[" * 65 + b"]" * 65, "in:1:65: nested deeper than 64 levels [document-depth]"),
    ],
)
def test_a_bad_document_is_refused_where_it_is_bad(data: bytes, expected: str) -> None:
    """Line and column are those that an editor shows."""
    assert str(refusal(data)) == expected


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [(b'{"a":\n "b', 2, 4), (b'{"a":1}\n{"b":2}', 2, 1), (b'{"a":1}\x00', 1, 8), ('["é" 1]'.encode(), 1, 6), (b"{,}", 1, 2)],
)
def test_a_syntax_error_has_its_line_and_column(data: bytes, line: int, column: int) -> None:
    """Truncated documents, two documents, and what no parser understands."""
    source = refusal(data).source
    assert source is not None
    assert (source.line, source.column) == (line, column)


@pytest.mark.parametrize(
    "data",
    [
        b"NaN",
        b"[Infinity]",
        b"[-Infinity]",
        b"[1e999]",
        b"[01]",
        b"[+1]",
        b"{'a':1}",
        b"[1,]",
        b'{"a":"\x01"}',
        b"[1//2\n]",
        b"{}{}",
    ],
)
def test_what_json_does_not_have_is_refused(data: bytes) -> None:
    """Constants, numbers and quotes that some parsers take are refused; nothing is read as something else."""
    assert refusal(data).code == "document-syntax"


def test_a_whole_number_keeps_every_digit() -> None:
    """The widest numbers that are let through arrive exactly."""
    assert read_json(b"[18446744073709551615, -9223372036854775808]", "in", LIMITS) == [2**64 - 1, -(2**63)]


def test_a_document_may_be_as_deep_as_the_limit() -> None:
    """The limit itself is allowed."""
    assert read_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, "in", LIMITS)


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a":'])
def test_hostile_nesting_is_an_error_and_not_a_crash(opening: bytes) -> None:
    """Ten thousand levels, closed or not, cost no recursion."""
    closing = b"".join({91: b"]", 123: b"}"}.get(byte, b"") for byte in reversed(opening))
    assert refusal(opening * 10_000).code == "document-depth"
    assert refusal(opening * 10_000 + b"1" + closing * 10_000).code == "document-depth"


def test_a_document_above_the_limit_is_refused_unread() -> None:
    """Fifty megabytes are refused by their length."""
    assert str(refusal(b" " * 50_000_000)) == "in:1: more than 8388608 bytes [document-size]"


@pytest.mark.parametrize("data", [b'"' + b'\\"' * 1_000_000, b'{"a":' * 3 + b'"' * 999_999, b"9" * 4_000_000, b"[" * 2_000_000])
def test_refusing_takes_linear_time(data: bytes) -> None:
    """Finding the place of an error in megabytes of quotes, digits or brackets takes a moment, not hours."""
    assert refusal(data).code in {"document-syntax", "document-depth"}


@given(document=JSON)
@settings(max_examples=200, deadline=None)
def test_what_is_written_is_read_back(document: object) -> None:
    """Every plain document survives writing and reading, whoever wrote it."""
    written = [orjson.dumps(document), json.dumps(document).encode(), json.dumps(document, ensure_ascii=False, indent=1).encode()]
    assert [read_json(data, "in", LIMITS) for data in written] == [document] * 3


CUT = JSON.map(orjson.dumps).flatmap(lambda data: st.integers(0, len(data)).map(lambda cut: data[:cut] + data[cut + 1 :]))


@given(line=st.one_of(st.binary(max_size=40), CUT).map(lambda data: data.replace(b"\n", b" ")))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_a_document_or_one_error(line: bytes) -> None:
    """No input ends in another exception, and what is accepted the standard library reads the same way."""
    for _, document in read_ndjson(io.BytesIO(line), "in", LIMITS):
        if isinstance(document, ReflectGateError):
            assert document.code.startswith("document-")
            assert "\n" not in str(document)
        else:
            assert json.loads(line) == document


# -- a document a line -------------------------------------------------------------------------------------------------


def test_a_bad_line_is_told_by_its_number_and_does_not_end_the_reading() -> None:
    """A batch is judged to its end."""
    found = list(read_ndjson(io.BytesIO(b'{"a":1}\n\n{"a":\n[NaN]\r\n{"b":2}'), "in", LIMITS))
    assert [(number, str(document)) for number, document in found] == [
        (1, "{'a': 1}"),
        (3, "in:3:6: not JSON: unexpected end of data [document-syntax]"),
        (4, "in:4:2: not JSON: unexpected character, expected a JSON value [document-syntax]"),
        (5, "{'b': 2}"),
    ]


def test_a_line_above_the_limit_is_skipped() -> None:
    """An endless line costs one error and no memory; the line after it is read."""
    data = b'{"a":"' + b"x" * 5_000_000 + b'"}\n{"b":2}\n'
    assert [(number, getattr(found, "code", found)) for number, found in read_ndjson(io.BytesIO(data), "in", SMALL)] == [
        (1, "document-size"),
        (2, {"b": 2}),
    ]


def test_a_line_may_be_as_long_as_the_limit() -> None:
    """The line end does not count."""
    line = b'{"a":"' + b"x" * 56 + b'"}'
    assert len(line) == SMALL.request_bytes
    assert [type(found) for _, found in read_ndjson(io.BytesIO(line + b"\r\n" + line), "in", SMALL)] == [dict, dict]


def test_a_line_is_not_cut_in_two() -> None:
    """What a line holds beyond the limit is not taken for the next line, even where the cut falls on a carriage return."""
    data = b'{"a":"' + b"x" * 56 + b'"}' + b'\r\r{"b":2}\n{"c":3}\n'
    assert told(data, SMALL) == [("line 1", "document-size"), ("line 2", {"c": 3})]


class Endless(io.RawIOBase):
    """A stream of lines that never ends; reading all of it would not return."""

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with lines."""
        line = b'{"a":1}\n'
        size = len(buffer) // len(line) * len(line)
        buffer[:size] = line * (size // len(line))
        return size


@pytest.mark.parametrize("read", [read_ndjson, read_documents])
def test_lines_are_read_as_they_are_asked_for(read: Any) -> None:
    """A stream without end can be read from."""
    found: Iterator[tuple[object, object]] = read(io.BufferedReader(Endless()), "in", LIMITS)
    assert [next(found)[1] for _ in range(5)] == [{"a": 1}] * 5


# -- documents, whichever way they come --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a":1}', [("", {"a": 1})]),
        (b'\n {"a":1}\n\n', [("", {"a": 1})]),
        (b'{\n  "a": {\n    "b": "}"\n  }\n}\n', [("", {"a": {"b": "}"}})]),
        (b'{"a": {}\n}', [("", {"a": {}})]),
        (b'{"a":1}\n{"b":2}\n', [("line 1", {"a": 1}), ("line 2", {"b": 2})]),
        (b'{"a":1}\n\nbad\n{"c":3}', [("line 1", {"a": 1}), ("line 3", "document-syntax"), ("line 4", {"c": 3})]),
        (b'bad\n{"a":1}', [("line 1", "document-syntax"), ("line 2", {"a": 1})]),
        (b'{"a":"cut\n{"b":2}', [("line 1", "document-syntax"), ("line 2", {"b": 2})]),
        (b'{"a":1}\n[2]\n', [("line 1", {"a": 1}), ("line 2", "document-type")]),
        (b'[{"a":1},\n 2, {"b":3}]', [("/0", {"a": 1}), ("/1", "document-type"), ("/2", {"b": 3})]),
        (b'[{"a":1}', [("", "document-syntax")]),
        (b'[{"a":1}] {"b":2}', [("", "document-syntax")]),
        (b"[]\n", [("", "document-empty")]),
        (b"", [("", "document-empty")]),
        (b"\n \n", [("", "document-empty")]),
        (b"7", [("", "document-type")]),
        (b'{"a":1}{"b":2}', [("", "document-syntax")]),
        (b'{"a":\n1,', [("", "document-syntax")]),
        (b'\xef\xbb\xbf{\n"a":1}', [("", "document-bom")]),
        (b'{\n"a":1,"a":2}', [("", "document-duplicate-key")]),
    ],
)
def test_one_object_an_array_or_lines(data: bytes, expected: list[tuple[str, object]]) -> None:
    """Which it is shows in the first line; whatever is wrong is an error in its place."""
    assert told(data) == expected


def test_an_error_within_a_document_of_several_lines_has_its_line() -> None:
    """Lines count from the beginning of the stream."""
    [(_, error)] = read_documents(io.BytesIO(b'\n\n{\n"a": nope\n}'), "in", LIMITS)
    assert str(error).startswith("in:4:6: not JSON")


def test_a_document_of_several_lines_is_bounded() -> None:
    """It may be as long as a request and is read no further."""
    stream = io.BytesIO(b"{\n" + b" " * 10_000 + b"}")
    [(_, error)] = read_documents(stream, "in", SMALL)
    assert getattr(error, "code", error) == "document-size"
    assert stream.tell() <= 2 * SMALL.request_bytes


def test_an_array_is_bounded() -> None:
    """It is held in memory, so it may only be a few times as long as a request."""
    element = b'{"a":1},'
    count = SMALL.request_bytes * ARRAY_FACTOR // len(element) - 1
    assert len(told(b"[" + element * (count - 1) + b'{"b":2}]', SMALL)) == count
    assert told(b"[" + element * 100 + b"{}]", SMALL) == [("", "document-size")]


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("bad.array.json", "document-empty"),
        ("bad.bom.json", "document-bom"),
        ("bad.empty.txt", "document-empty"),
        ("bad.lone-surrogate.json", "document-surrogate"),
        ("bad.non-utf8.bin", "document-encoding"),
        ("bad.truncated.json", "document-syntax"),
    ],
)
def test_hostile_samples(file: str, code: str) -> None:
    """Inputs that harnesses really send when something is wrong with them."""
    corpora = Path(os.environ.get("REFLECT_GATE_CORPORA") or Path(__file__).parents[3] / "shared" / "corpora")
    sample = corpora.parent / "hooks-samples" / file
    if not sample.is_file():
        pytest.skip("the samples are not here")
    assert told(sample.read_bytes()) == [("", code)]


# -- objects of the caller ---------------------------------------------------------------------------------------------


class Text(str):
    """A subclass of text."""

    __slots__ = ()


class Hostile(enum.Enum):
    """Looks like JSON to a serialiser, and raises when it is compared."""

    A = 1

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


def nested(levels: int) -> object:
    """Return lists within lists."""
    found: list[object] = []
    for _ in range(levels - 1):
        found = [found]
    return found


def cycle() -> object:
    """Return an object that holds itself."""
    found: dict[str, object] = {}
    found["self"] = found
    return found


@pytest.mark.parametrize(
    ("value", "place", "code"),
    [
        (float("nan"), "/a/0", "document-type"),
        (float("-inf"), "/a/0", "document-type"),
        ("\ud800", "/a/0", "document-type"),
        (2**64, "/a/0", "document-type"),
        (10**5_000, "/a/0", "document-type"),
        ((1, 2), "/a/0", "document-type"),
        ({1}, "/a/0", "document-type"),
        (b"x", "/a/0", "document-type"),
        (object(), "/a/0", "document-type"),
        (uuid.UUID(int=1), "/a/0", "document-type"),
        (Hostile.A, "/a/0", "document-type"),
        (Text("x"), "/a/0", "document-type"),
        (MappingProxyType({}), "/a/0", "document-type"),
        ({1: 2}, "/a/0", "document-type"),
        ({Text("x"): 1}, "/a/0", "document-type"),
        ({"\udc00": 1}, "/a/0", "document-type"),
        (nested(MAX_DEPTH), "", "document-depth"),
        (nested(100_000), "", "document-depth"),
        (cycle(), "", "document-depth"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_json_cannot_hold_is_refused_with_its_place(value: object, place: str, code: str) -> None:
    """Nothing of the caller's is converted silently, and nothing of it crashes the gate."""
    with pytest.raises(ReflectGateError) as caught:
        plain({"a": [value]}, LIMITS, "call")
    assert caught.value.code == code
    assert caught.value.source is not None
    assert (caught.value.source.file, caught.value.source.pointer) == ("call", place)


def test_a_pointer_escapes_its_steps() -> None:
    """RFC 6901: `~` and `/` in a key."""
    with pytest.raises(ReflectGateError, match=r"call at /a~1b~0c: not a finite number: `NaN` \[document-type\]"):
        plain({"a/b~c": float("nan")}, LIMITS, "call")


def test_a_call_is_held_to_the_size_of_a_request() -> None:
    """A caller in process has the limit of a caller on a pipe."""
    with pytest.raises(ReflectGateError, match="more than 64 bytes"):
        plain({"a": "x" * 64}, SMALL)


@given(document=JSON)
@settings(max_examples=200, deadline=None)
def test_a_plain_copy_is_equal_and_apart(document: object) -> None:
    """The copy has the same values and types, and shares no container with what was given."""
    copy = plain({"a": [document]}, LIMITS)
    assert copy == {"a": [document]}
    assert orjson.dumps(copy) == orjson.dumps({"a": [document]})
    assert isinstance(copy, dict)
    copy["a"].append(1)
    assert plain({"a": [document]}, LIMITS) == {"a": [document]}
