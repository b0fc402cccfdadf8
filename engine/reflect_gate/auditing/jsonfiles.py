"""Entries of JSON: lists of texts or of objects with a text, mem0 exports, knowledge graphs, JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..config import Limits
from ..documents import read_json
from ..errors import ReflectGateError, Source
from .entries import MOST_BYTES, Entry, Step
from .markdown import prose_of

__all__ = ["TEXT_FIELDS", "json_entries", "jsonl_entries"]

TEXT_FIELDS: Final = ("memory", "text", "content", "statement", "lesson", "fact", "learning", "note", "summary", "body", "value")
"""Fields of an object that hold what it says, the first that is a text; `memory` is mem0's."""

_LISTS: Final = ("results", "memories", "entries", "lessons", "items", "facts", "data", "observations", "entities", "learnings")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_EDGE: Final = "relation"
"""The type of a line of a knowledge graph that joins two of its entities and says nothing."""

_BOM: Final = "\ufeff"


class _Places:
    """Where the texts of a JSON document stand, asked for in the order of the document."""

    def __init__(self, text: str, line: int) -> None:
        self._text = text
        self._tokens = _STRING.finditer(text)
        self._line = line
        self._at = 0

    def of(self, said: str) -> tuple[int, int, int]:
        """Return first line, last line and column of the next string with this value."""
        for token in self._tokens:
            if json.loads(token[0], strict=False) == said:
                self._line += self._text.count("\n", self._at, token.start())
                self._at = token.start()
                column = token.start() - self._text.rfind("\n", 0, token.start())
                return self._line, self._line + token[0].count("\n"), column
        return self._line, self._line, 1


def _found(document: object, path: tuple[Step, ...], source: Source) -> Iterator[tuple[tuple[Step, ...], str]]:
    """Yield `(path of what a pruned file does without, text)` of a document."""
    if isinstance(document, str):
        yield path, document
    elif isinstance(document, list):
        for index, inner in enumerate(document):
            yield from _element(inner, (*path, index), source)
    elif isinstance(document, Mapping):
        yield from _object(document, path, source)
    else:
        raise _strange(path, f"expected texts or objects, found {type(document).__name__}", source)


def _object(document: Mapping[str, Any], path: tuple[Step, ...], source: Source) -> Iterator[tuple[tuple[Step, ...], str]]:
    lists = [name for name in document if name in _LISTS and isinstance(document[name], list)]
    if document.get("type") == _EDGE:
        return
    if lists:
        for name in lists:
            yield from _found(document[name], (*path, name), source)
    elif any(isinstance(document.get(name), str) for name in TEXT_FIELDS):
        yield from _element(document, path, source)
    elif document and all(isinstance(inner, str | Mapping) for inner in document.values()):
        for name, inner in document.items():
            yield from _element(inner, (*path, name), source)
    else:
        known = ", ".join(_LISTS)
        raise _strange(path, f"no entries: expected a list, or an object with one of {known}", source)


def _element(inner: object, path: tuple[Step, ...], source: Source) -> Iterator[tuple[tuple[Step, ...], str]]:
    if isinstance(inner, str):
        yield path, inner
        return
    if not isinstance(inner, Mapping):
        raise _strange(path, f"expected a text or an object with a text, found {type(inner).__name__}", source)
    if inner.get("type") == _EDGE:
        return
    observations = inner.get("observations")
    if isinstance(observations, list):
        for place, said in enumerate(observations):
            if isinstance(said, str):
                yield (*path, "observations", place), said
        return
    lesson = inner.get("lesson")
    said = lesson.get("statement") if isinstance(lesson, Mapping) else None
    said = said or next((inner[name] for name in TEXT_FIELDS if isinstance(inner.get(name), str)), None)
    if not isinstance(said, str):
        known = ", ".join(TEXT_FIELDS)
        raise _strange(path, f"an object without a text: expected one of {known}", source)
    yield path, said


def _strange(path: Sequence[Step], message: str, source: Source) -> ReflectGateError:
    return ReflectGateError("audit-shape", message, source._replace(pointer=_pointer(path)))


def _pointer(path: Sequence[Step]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _entries(document: object, text: str, source: Source, first: int) -> Iterator[Entry]:
    places = _Places(text, source.line or 1)
    for number, (path, said) in enumerate(_found(document, (), source), first):
        line, end, column = places.of(said)
        yield Entry(f"e{number}", said, prose_of(said), line, end, column, path=path, pointer=_pointer(path))


def json_entries(text: str, name: str, limits: Limits) -> Iterator[Entry]:
    """Yield the entries of one JSON document.

    Raises:
        ReflectGateError: `document-…` where it is not strict JSON, `audit-shape` where it holds no entries.
    """
    plain = text.removeprefix(_BOM)
    document = read_json(plain.encode(), name, limits._replace(request_bytes=MOST_BYTES))
    yield from _entries(document, plain, Source(name), 1)


def jsonl_entries(text: str, name: str, limits: Limits) -> Iterator[Entry]:
    """Yield the entries of JSON lines; `path` leads into the document of the entry's line."""
    number = 1
    for row, line in enumerate(text.removeprefix(_BOM).split("\n"), 1):
        if not line.strip():
            continue
        try:
            document = read_json(line.encode(), name, limits._replace(request_bytes=MOST_BYTES))
        except ReflectGateError as error:
            column = error.source.column if error.source else 0
            raise ReflectGateError(error.code, error.message, Source(name, row, column)) from None
        for entry in _entries(document, line, Source(name, row), number):
            number += 1
            yield entry._replace(end_line=row)
