"""Stores as text: every event one JSON object a line, the same bytes for the same store; and merging such a text into a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias

import orjson

from .checking import apply, by_seq, settle
from .errors import Place, StoreError
from .events import GENESIS, MOST_BYTES, Event, Head, canonical, later, link, payload_digest
from .protocol import Backend, Progress, Transaction, Writer
from .redaction import scrub
from .shapes import EVENT_TYPES, REDACTED, check_payload

__all__ = ["FORMAT", "Check", "Imported", "export", "import_events"]

FORMAT: Final = "urn:reflect-gate:schema:store-export:1"

Check: TypeAlias = Callable[[object, Place], None]
"""Holds one event's document to the schema, or raises."""

MANY: Final = 10_000
"""An import of so many events that also outnumber those of the store makes the search index anew at its end."""

_HEADER = {"format", "events", "head"}
_EVENT = set(Event._fields)
# Clocks of two machines differ; an event from far ahead would push the time of every later one.
_AHEAD = timedelta(days=1)


class Imported(NamedTuple):
    """What an import did: events read, added, there already, erased here though not in the file, and the other way round."""

    read: int
    added: int
    known: int
    stay_erased: int
    withheld: int
    head: Head


def export(backend: Backend, stream: Writer, progress: Progress) -> Head:
    """Write one state of the store: a header with the number of events and the last hash, then the events by number."""
    with backend.reading() as transaction:
        head = transaction.head()
        stream.write(canonical({"format": FORMAT, "events": head.seq, "head": head.hash}) + b"\n")
        for event in by_seq(transaction):
            stream.write(canonical(event.to_json()) + b"\n")
            progress(event.seq, head.seq)
    return head


class _File:
    """An export as it is read: its own chain is checked line by line, so that a line cut, changed or missing is noticed."""

    def __init__(self, lines: Iterable[bytes], name: str, check: Check | None) -> None:
        self._lines = iter(lines)
        self._name = name
        self._check = check
        self.head = Head(0, GENESIS)
        self.whole = 0
        self._end = ""

    def _error(self, message: str, line: int) -> StoreError:
        return StoreError("store-import", message, Place(self._name, line))

    def _document(self, text: bytes, line: int) -> dict[str, Any]:
        if len(text) > 2 * MOST_BYTES:
            raise self._error("the line is too long", line)
        try:
            document = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise self._error(f"no JSON: {str(error).partition(':')[0]}", line) from None
        if not isinstance(document, dict):
            raise self._error("a line is a JSON object", line)
        return document

    def start(self) -> None:
        """Read the header: how many events there are, and how they end."""
        header = self._document(next(self._lines, b""), 1)
        if set(header) != _HEADER or header["format"] != FORMAT:
            raise self._error(f"no export of a store: the first line is no header of the format `{FORMAT}`", 1)
        self.whole, self._end = int(header["events"]), str(header["head"])

    def events(self) -> Iterator[Event]:
        """Yield the events that follow the header; at the end what it promised is compared."""
        for line, text in enumerate(self._lines, 2):
            yield self._event(self._document(text, line), line)
        if self.head != (self.whole, self._end):
            raise self._error(f"the export ends at event {self.head.seq} of {self.whole}", self.head.seq + 2)

    def _event(self, document: dict[str, Any], line: int) -> Event:
        place = Place(self._name, line)
        if self._check is not None:
            self._check(document, place)
        if set(document) != _EVENT or document["type"] not in EVENT_TYPES:
            raise self._error("no event of this format", line)
        payload = document["payload"]
        if payload is not None:
            check_payload(document["type"], payload, place)
        event = Event(**{**document, "payload": None if payload is None else canonical(payload)})
        if (event.payload is None) != (event.nonce is None):
            raise self._error("a payload is erased together with its nonce", line)
        if event.payload is not None and payload_digest(str(event.nonce), event.payload) != event.digest:
            raise self._error("the payload is not the one that its digest covers", line)
        expected = link(self.head.hash, self.head.seq + 1, event.id, event.type, event.time, event.digest)
        if (event.seq, event.hash) != (self.head.seq + 1, expected):
            raise self._error(f"event {event.seq} does not follow from the line before", line)
        self.head = Head(event.seq, event.hash)
        return event


class _Merge:
    """One import while it runs."""

    def __init__(self, transaction: Transaction, limit: str) -> None:
        self._transaction = transaction
        self._limit = limit
        self.added = self.known = self.stay_erased = 0
        self.erased_there: list[str] = []
        self.redactions: set[str] = set()
        self.in_order = True
        self._latest = transaction.last_time()

    def take(self, event: Event, place: Place) -> None:
        """Add an event unless the store has it."""
        if event.type == REDACTED:
            self.redactions.update((event.data() or {}).get("events", ()))
        if event.payload is None:
            self.erased_there.append(event.id)
        mine = self._transaction.find(event.id)
        if mine is not None:
            self._compare(mine, event, place)
            return
        if event.time > self._limit:
            raise StoreError("store-import", f"event `{event.id}` lies in the future: `{event.time}`", place)
        head = self._transaction.head()
        hash_ = link(head.hash, head.seq + 1, event.id, event.type, event.time, event.digest)
        placed = event._replace(seq=head.seq + 1, hash=hash_)
        self._transaction.add(placed)
        self.added += 1
        self.in_order = self.in_order and event.time > self._latest
        self._latest = max(self._latest, event.time)
        if self.in_order:
            apply(placed, self._transaction.rows)

    def _compare(self, mine: Event, event: Event, place: Place) -> None:
        if (mine.type, mine.time, mine.digest) != (event.type, event.time, event.digest):
            raise StoreError("store-conflict", f"the store holds another event `{event.id}`", place)
        self.known += 1
        self.stay_erased += mine.payload is None and event.payload is not None

    def erase(self) -> int:
        """Erase here what the file says was erased, where it is not yet; return how many."""
        found = [event.id for name in sorted(self.redactions) if (event := self._transaction.find(name)) and event.payload]
        for name in found:
            self._transaction.erase(name)
        return len(found)

    def withheld(self) -> int:
        """Return how many events the file has erased and the store has not."""
        found = (self._transaction.find(name) for name in self.erased_there)
        return sum(event is not None and event.payload is not None for event in found)


def _gathered(transaction: Transaction, events: int) -> AbstractContextManager[None]:
    """Return what the events are added within."""
    many = events >= max(MANY, transaction.head().seq)
    return transaction.rows.index.gathered() if many else nullcontext()


def import_events(
    backend: Backend,
    lines: Iterable[bytes],
    name: str,
    *,
    check: Check | None,
    erase: bool,
    moment: datetime,
    progress: Progress,
) -> Imported:
    """Merge an export into the store, whole or not at all; importing it again adds nothing.

    Args:
        backend: the store.
        lines: the export.
        name: what errors call it.
        check: holds each line to the schema; the shapes are checked without it too.
        erase: erase here, too, what was redacted in the store that the export comes from.
        moment: now; events from more than a day ahead are refused.
        progress: hears of lines read.

    Raises:
        StoreError: `store-import` where the export is cut or changed, `store-conflict` where an id names two events.
    """
    file = _File(lines, name, check)
    with backend.writing() as transaction:
        merge = _Merge(transaction, later(moment + _AHEAD, ""))
        file.start()
        with _gathered(transaction, file.whole):
            for event in file.events():
                merge.take(event, Place(name, event.seq + 1))
                progress(event.seq, file.whole)
        unnamed = [event_id for event_id in merge.erased_there if event_id not in merge.redactions]
        if unnamed:
            message = f"the payload of event `{unnamed[0]}` is gone and no redaction names it"
            raise StoreError("store-import", message, Place(name))
        erased = merge.erase() if erase else 0
        if erased or not merge.in_order:
            settle(backend, transaction, progress)
        withheld = 0 if erase else merge.withheld()
        result = Imported(file.whole, merge.added, merge.known, merge.stay_erased, withheld, transaction.head())
    if erased:
        scrub(backend)
    return result
