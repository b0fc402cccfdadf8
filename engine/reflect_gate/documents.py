"""Reading JSON strictly: what two parsers could read differently is refused, with its line and column.

Refused are: more bytes than the limit, anything but UTF-8, a byte-order mark, nothing at all, two documents, duplicate keys, NaN
and infinities, whole numbers above 64 bits, lone surrogates, and nesting deeper than `MAX_DEPTH`. Codes: `document-size`,
`document-encoding`, `document-bom`, `document-empty`, `document-syntax`, `document-surrogate`, `document-duplicate-key`,
`document-number`, `document-depth`, `document-type`. A column counts characters from 1.

Two parsers read every document: orjson is safe on hostile nesting and refuses lone surrogates; the standard library's shows
duplicate keys and keeps whole numbers whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import BinaryIO, Final

import orjson

from ._places import character_place, describe, first_duplicate, first_large_number, first_too_deep, first_unlike, open_levels
from .config import Limits
from .errors import ReflectGateError, Source

__all__ = ["ARRAY_FACTOR", "MAX_DEPTH", "plain", "read_documents", "read_json", "read_ndjson"]

MAX_DEPTH: Final = 64
"""Levels of objects and arrays, the outermost one included."""

ARRAY_FACTOR: Final = 8
"""An array of documents may be this many times `Limits.request_bytes` long: it is held in memory, unlike lines of JSON."""

_BOM: Final = b"\xef\xbb\xbf"
_SPACE: Final = b" \t\r\n"
_LEAST, _MOST = -(2**63), 2**64 - 1
_PASS: Final = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS


class _DuplicateKeyError(ValueError):
    pass


class _LargeNumberError(ValueError):
    pass


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _DuplicateKeyError
    return found


def _whole(digits: str) -> int:
    # 20 digits and a sign hold every 64-bit number; converting more would take quadratic time.
    number = int(digits) if len(digits) <= 21 else _MOST + 1
    if not _LEAST <= number <= _MOST:
        raise _LargeNumberError
    return number


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_pairs, parse_int=_whole)


def read_json(data: bytes, name: str, limits: Limits) -> object:
    """Return the one JSON document of `data`, at most `limits.request_bytes` long; `name` is what errors call it."""
    return _parse(data, name, limits.request_bytes)


def _parse(data: bytes, name: str, most: int, line: int = 1) -> object:
    """Parse `data`, whose first line is line `line` of the file."""
    if len(data) > most:
        raise ReflectGateError("document-size", f"more than {most} bytes", Source(name, line))
    text = _decoded(data, name, line)
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise _syntax(error, text, name, line) from None
    if _deeper(document):
        raise _error(
            "document-depth", f"nested deeper than {MAX_DEPTH} levels", text, first_too_deep(text, MAX_DEPTH), name, line
        )
    try:
        return _DECODER.decode(text)
    except _DuplicateKeyError:
        position, key = first_duplicate(text)
        raise _error("document-duplicate-key", f"the key {describe(key)} appears twice", text, position, name, line) from None
    except _LargeNumberError:
        raise _error("document-number", "a whole number above 64 bits", text, first_large_number(text), name, line) from None


def _decoded(data: bytes, name: str, line: int) -> str:
    if data.startswith(_BOM):
        raise ReflectGateError("document-bom", "starts with a byte-order mark", Source(name, line, 1))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        row, column = character_place(before, len(before))
        byte = data[error.start]
        raise ReflectGateError("document-encoding", f"not UTF-8: byte `0x{byte:02x}`", Source(name, line + row, column)) from None
    if not text.strip(_SPACE.decode()):
        raise ReflectGateError("document-empty", "holds no JSON", Source(name, line))
    return text


def _syntax(error: orjson.JSONDecodeError, text: str, name: str, line: int) -> ReflectGateError:
    position = first_too_deep(text, MAX_DEPTH)
    if position is not None and position <= error.pos:
        return _error("document-depth", f"nested deeper than {MAX_DEPTH} levels", text, position, name, line)
    said = error.msg.replace("`", "'")
    if "surrogate" in said:
        return _error("document-surrogate", "a lone surrogate in a string", text, error.pos, name, line)
    return _error("document-syntax", f"not JSON: {said[:1].lower()}{said[1:]}", text, error.pos, name, line)


def _error(code: str, message: str, text: str, position: int | None, name: str, line: int) -> ReflectGateError:
    row, column = character_place(text, position or 0)
    return ReflectGateError(code, message, Source(name, line + row, column))


def _deeper(document: object) -> bool:
    """Return whether `document` has more than `MAX_DEPTH` levels, without recursion."""
    level = [document] if document.__class__ in {dict, list} else []
    for _ in range(MAX_DEPTH):
        if not level:
            return False
        level = [
            child
            for parent in level
            for child in (parent.values() if parent.__class__ is dict else parent)
            if child.__class__ is dict or child.__class__ is list
        ]
    return bool(level)


# -- objects of the caller --------------------------------------------------------------------------------------------------


def plain(value: object, limits: Limits, name: str = "request") -> object:
    """Return a deep copy of `value` made of plain dicts, lists, strings, numbers, flags and `None`.

    Nothing is converted: other mappings and sequences, subclasses, dates, NaN, lone surrogates, keys that are not strings, whole
    numbers above 64 bits, cycles, and more than `limits.request_bytes` of JSON are refused, with the JSON pointer of the first
    offender.
    """
    try:
        data = orjson.dumps(value, option=_PASS)
        copy: object = orjson.loads(data)
        # orjson writes tuples, enumerations, UUIDs and NaN as something else; the copy is then not equal to what was given.
        same = bool(copy == value)
    except Exception:  # noqa: BLE001 - objects of the caller run their own code here, such as `__eq__` of an enumeration
        raise _unlike(value, name) from None
    if not same:
        raise _unlike(value, name)
    if len(data) > limits.request_bytes:
        raise ReflectGateError("document-size", f"more than {limits.request_bytes} bytes", Source(name))
    if _deeper(copy):
        raise ReflectGateError("document-depth", f"nested deeper than {MAX_DEPTH} levels", Source(name))
    return copy


def _unlike(value: object, name: str) -> ReflectGateError:
    pointer, code, message = first_unlike(value, MAX_DEPTH)
    return ReflectGateError(code, message, Source(name, pointer=pointer))


# -- streams ----------------------------------------------------------------------------------------------------------------


def _lines(stream: BinaryIO, most: int, number: int = 0) -> Iterator[tuple[int, bytes | None]]:
    """Yield `(line number, line)` of lines that are not blank; `None` for one of more than `most` bytes, which is skipped.

    `number` is that of the line before.
    """
    while line := stream.readline(most + 2):
        number += 1
        if _too_long(line, most):
            _skip_line(stream, line)
            yield number, None
        elif line.strip(_SPACE):
            yield number, line


def _too_long(line: bytes, most: int) -> bool:
    """Return whether a line of which at most `most + 2` bytes were read has more than `most` before its end."""
    return len(line.rstrip(b"\r\n")) > most or (len(line) == most + 2 and not line.endswith(b"\n"))


def _skip_line(stream: BinaryIO, begun: bytes) -> None:
    while begun and not begun.endswith(b"\n"):
        begun = stream.readline(1 << 20)


def _line(line: bytes | None, number: int, name: str, most: int) -> object | ReflectGateError:
    if line is None:
        return ReflectGateError("document-size", f"a line of more than {most} bytes", Source(name, number))
    return _attempt(line.rstrip(b"\r\n"), number, name, most)


def read_ndjson(stream: BinaryIO, name: str, limits: Limits) -> Iterator[tuple[int, object | ReflectGateError]]:
    """Yield `(line number, document or error)` for each line that is not blank; a bad line does not end the reading.

    At most one line, `limits.request_bytes` long, is held in memory.
    """
    for number, line in _lines(stream, limits.request_bytes):
        yield number, _line(line, number, name, limits.request_bytes)


def read_documents(stream: BinaryIO, name: str, limits: Limits) -> Iterator[tuple[str, object | ReflectGateError]]:
    """Yield `(place, object or error)` for each JSON object of `stream`, whichever way it holds them.

    Either one object, over as many lines as it likes (place: empty), an array of objects (place: `/index`), or an object a line
    (place: `line n`). Which one it is shows in the first line: an array starts with `[`; a line that is whole is followed by
    other whole lines, if by anything. Lines are read one at a time; an array may be `ARRAY_FACTOR` times as long as a request.
    What is no object, and a stream without any, is an error. The first of several lines is held until the next one is there.
    """
    most, number = limits.request_bytes, 1
    while (head := stream.readline(most + 2)) and not head.strip(_SPACE):
        number += head.endswith(b"\n")
    if not head:
        yield "", ReflectGateError("document-empty", "holds no JSON", Source(name))
    elif head.lstrip(_SPACE).startswith(b"["):
        yield from _array(head + stream.read(max(0, most * ARRAY_FACTOR + 1 - len(head))), number, name, limits)
    elif not _too_long(head, most) and _unfinished(head):
        yield "", _object(_attempt(head + stream.read(max(0, most + 1 - len(head))), number, name, most), Source(name, number))
    else:
        yield from _objects(stream, head, number, name, most)


def _objects(stream: BinaryIO, head: bytes, number: int, name: str, most: int) -> Iterator[tuple[str, object | ReflectGateError]]:
    """Yield an object a line; `head` is the first one, line `number`, as far as it was read."""
    long = _too_long(head, most)
    if long:
        _skip_line(stream, head)
    lines = _lines(stream, most, number)
    line, following = None if long else head, next(lines, None)
    yield "" if following is None else f"line {number}", _object(_line(line, number, name, most), Source(name, number))
    while following is not None:
        number, line = following
        yield f"line {number}", _object(_line(line, number, name, most), Source(name, number))
        following = next(lines, None)


def _unfinished(line: bytes) -> bool:
    """Return whether `line` opens an object that it does not close, as the first line of a document of several lines does."""
    text = line.removeprefix(_BOM).decode("utf-8", "replace")
    return text.lstrip().startswith("{") and open_levels(text) > 0


def _attempt(data: bytes, line: int, name: str, most: int) -> object | ReflectGateError:
    """Return the document, or the error that it is."""
    try:
        return _parse(data, name, most, line)
    except ReflectGateError as error:
        return error


def _array(data: bytes, line: int, name: str, limits: Limits) -> Iterator[tuple[str, object | ReflectGateError]]:
    documents = _attempt(data, line, name, limits.request_bytes * ARRAY_FACTOR)
    if isinstance(documents, ReflectGateError):
        yield "", documents
    elif not isinstance(documents, list) or not documents:
        yield "", ReflectGateError("document-empty", "an array without objects", Source(name, line))
    else:
        for index, document in enumerate(documents):
            yield f"/{index}", _object(document, Source(name, pointer=f"/{index}"))


def _object(document: object, source: Source) -> object | ReflectGateError:
    if isinstance(document, dict | ReflectGateError):
        return document
    return ReflectGateError("document-type", f"expected an object, found {describe(document)}", source)
