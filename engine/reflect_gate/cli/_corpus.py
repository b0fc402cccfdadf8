"""Records of an imported corpus where a verb reads requests: what a gate may see goes on, the rest is kept beside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import click

from ..config import Limits
from ..errors import ReflectGateError
from ._batch import Entry
from ._output import note

__all__ = ["Corpus"]


class Corpus:
    """The requests of one file, of a corpus or not.

    Args:
        with_bare: records without a candidate are requests without a reflection, instead of being passed over.

    Attributes:
        labels: what is known of each record of a corpus, by id, as a line of a labels file; empty where the file held requests.
    """

    def __init__(self, *, with_bare: bool = False) -> None:
        self._with_bare = with_bare
        self.labels: dict[str, dict[str, Any]] = {}
        self._caveats: tuple[str, ...] = ()

    def entries(self, stream: BinaryIO, name: str, limits: Limits) -> Iterator[Entry]:
        """Yield place and request; a record without a candidate is passed over, and how many were is said at the end."""
        from ..corpus.importing.describing import Description
        from ..corpus.importing.reading import Checker
        from ..corpus.importing.record import failure_of, is_corpus_record, labels_of, request_of
        from ..documents import read_documents

        described, checker = Description(), Checker()
        for place, document in read_documents(stream, name, limits):
            if not is_corpus_record(document):
                yield place, document
                continue
            record = checker.checked(document, name, place)
            if isinstance(record, ReflectGateError):
                yield place, record
                continue
            described.add(record)
            request = request_of(record) or (failure_of(record) if self._with_bare else None)
            if request is not None:
                line = labels_of(record)
                self.labels[line["id"]] = line
                yield place, request
        self._caveats = tuple(described.caveats())
        if described.without_candidate and not self._with_bare:
            left = described.without_candidate
            note(f"{left} records hold no candidate and are passed over", {"without_candidate": left})

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the corpus says that it cannot prove, once all entries were read; nothing of a file of requests."""
        return self._caveats

    def needs_labels(self, given: str | None) -> None:
        """Raise where neither a labels file nor the requests themselves say what is known."""
        if given is None and not self.labels:
            raise click.UsageError("'--labels' is missing: the file holds requests, not a corpus that `corpus import` wrote")
