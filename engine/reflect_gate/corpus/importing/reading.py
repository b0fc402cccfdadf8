"""From files to records: told apart by what they hold, read one at a time, checked, joined with labels of people."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from ... import schemas
from ...config import Limits
from ...documents import read_ndjson
from ...errors import ReflectGateError, Source, did_you_mean
from ...hooks.transcripts._records import records as documents_of
from . import IMPORTERS, Document, Importer
from .faults import document_fault
from .record import Judged, bad, is_corpus_record
from .rows import opened

__all__ = ["AUTO", "Checker", "People", "claimed", "importer", "read_corpus", "read_files"]

AUTO: Final = "auto"
_SNIFFED: Final = 50
_HEAD: Final = 65_536
_DIGEST: Final = 12
_TEXTS: Final = frozenset({".md", ".markdown", ".mdc", ".txt"})


class People(NamedTuple):
    """Labels of people by record id, and which of them say that the candidate should be admitted; none leaves that open."""

    labels: Mapping[str, str]
    admits: frozenset[str] = frozenset()

    def join(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return the record with its label, where it has one."""
        label = self.labels.get(record["termination"]["failure_id"])
        if label is None:
            return record
        judged = Judged(label in self.admits if self.admits else None, "person", label)
        return {**record, "should_admit": judged._asdict()}


def importer(name: str) -> Importer:
    """Return the importer of a name; `corpus-unknown-form` with the nearest where there is none."""
    for known in IMPORTERS:
        if known.name == name:
            return known
    near = did_you_mean(name, [AUTO, *(known.name for known in IMPORTERS)])
    raise ReflectGateError("corpus-unknown-form", f"unknown corpus format `{name}`{near}")


def claimed(path: str) -> Importer:
    """Return the importer that claims what a file holds first; `corpus-unknown-form` where none does, or it is a corpus."""
    for document in _documents(path):
        if is_corpus_record(document):
            message = "it is a corpus already; corpora are joined by writing one file behind the other"
            raise ReflectGateError("corpus-unknown-form", message, Source(path))
        for known in IMPORTERS:
            if known.claims(document):
                return known
    fault = document_fault(path)
    if fault is not None:
        raise fault
    names = ", ".join(known.name for known in IMPORTERS)
    raise ReflectGateError("corpus-unknown-form", f"nothing in it is known; the formats are {names}", Source(path))


def _documents(path: str) -> Iterator[Document]:
    """Yield the first objects of a file, or the beginning of one that is named as a text; `cannot-read` where there is none."""
    if Path(path).suffix.lower() in _TEXTS or not Path(path).exists():
        with opened(path) as stream:
            yield stream.read(_HEAD).decode("utf-8", "replace")
        return
    yield from islice(documents_of(path), _SNIFFED)


class Checker:
    """Holds records to their schema; no id comes twice. Of each id a digest is held."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def checked(self, record: Any, name: str, place: str = "", line: int = 0) -> dict[str, Any] | ReflectGateError:
        """Return the record, or the error that it is; `place` is where it stands as `documents.read_documents` says it."""
        source = Source(name, line or (int(place.removeprefix("line ")) if place.startswith("line ") else 0))
        try:
            schemas.check("corpus-record", record, name)
        except ReflectGateError as error:
            first = error.errors[0]
            pointer = first.source.pointer if first.source else ""
            return ReflectGateError(first.code, first.message, source._replace(pointer=pointer))
        identifier = record["termination"]["failure_id"]
        digest = hashlib.blake2b(identifier.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()
        if digest in self._seen:
            return ReflectGateError("corpus-duplicate-id", f"`{identifier[:80]}` is the id of an earlier record", source)
        self._seen.add(digest)
        checked: dict[str, Any] = record
        return checked


def read_files(name: str, paths: Sequence[str], people: People | None = None) -> Iterator[dict[str, Any] | ReflectGateError]:
    """Yield the records of the files in order, and an error for whatever is none; no id comes twice."""
    checker = Checker()
    for path in paths:
        try:
            chosen = claimed(path) if name == AUTO else importer(name)
            for line, found in chosen.read(path):
                if isinstance(found, ReflectGateError):
                    yield found
                else:
                    yield checker.checked(people.join(found) if people else found, path, line=line)
        except ReflectGateError as error:
            if error.code == "cannot-read":
                raise
            yield error


def read_corpus(path: str) -> Iterator[dict[str, Any] | ReflectGateError]:
    """Yield the records of an imported corpus, one line at a time; what is none is an error with its line."""
    checker = Checker()
    with opened(path) as stream:
        for number, found in read_ndjson(stream, path, Limits()):
            if isinstance(found, ReflectGateError):
                yield found
            elif is_corpus_record(found):
                yield checker.checked(found, path, line=number)
            else:
                yield bad("no record of an imported corpus: `reflect-gate corpus import` makes them", path, number)
