"""The store: events appended in one transaction a decision, projections folded with them, whatever keeps them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from . import searching
from .errors import Place, StoreError
from .events import Draft, Event, Head, draft, later, link, now, payload_digest
from .protocol import Backend, Get, Page, Progress, Row, Status, Transaction, Writer, silent
from .searching import Found, SearchQuery
from .tables import TABLES, TableName

if TYPE_CHECKING:
    from . import checking, exchange
    from .records import StoreView
    from .viewing import ViewQuery

__all__ = ["EventStore", "known_numbers"]


class EventStore:
    """A store over a back end; a process, and a thread of it, opens its own. `clock` says the time of new events."""

    def __init__(self, backend: Backend, *, clock: Callable[[], datetime] = now) -> None:
        self.backend = backend
        self._clock = clock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release everything; closing twice is harmless."""
        self.backend.close()

    # -- writing -------------------------------------------------------------------------------------------------------

    def append(
        self,
        drafts: Sequence[Draft],
        *,
        expected_version: int | None = None,
        expected_view: tuple[ViewQuery, str] | None = None,
        absent: tuple[TableName, str] | None = None,
    ) -> tuple[int, ...]:
        """Add events and their projections in one transaction and return their numbers; durable on return.

        Adding drafts a second time (the first answer was lost) returns the numbers of the first.

        Args:
            drafts: what happened, in order; all of it is added, or nothing.
            expected_version: the version of the store that the drafts were decided on: nothing at all may have happened since.
            expected_view: the query and digest of the view that they were decided on: nothing in it may have changed since.
            absent: a row, by table and key, that must not be there: what the drafts say was not said before.

        Raises:
            StoreError: `store-moved` where the store has another version or view, or that row, `store-reference` where an event
                speaks of a lesson, flag or candidate that is not there or gives birth to a lesson that is, `store-conflict`
                where an id names another event.
        """
        from .viewing import read_view

        with self.backend.writing() as transaction:
            known = known_numbers(transaction, drafts)
            if known is not None:
                return known
            head = transaction.head()
            if expected_version is not None and head.seq != expected_version:
                raise StoreError("store-moved", f"the store is at version `{head.seq}`, not at `{expected_version}`")
            if expected_view is not None and read_view(transaction, expected_view[0]).digest != expected_view[1]:
                message = f"at version `{head.seq}` the store shows another view than the one decided on, `{expected_view[1]}`"
                raise StoreError("store-moved", message)
            if absent is not None and transaction.rows.get(*absent) is not None:
                raise StoreError("store-moved", f"`{absent[1]}` is in `{absent[0]}` already")
            return tuple(self._add(transaction, entry) for entry in drafts)

    def decide(self, query: ViewQuery, decide: Callable[[StoreView, Get], Sequence[Draft]]) -> tuple[int, ...]:
        """Read a view, add what `decide` drafts on it, and return the numbers, while every other writer waits.

        Args:
            query: what the view is to hold.
            decide: given the view and a reader of rows, says what happened; must not use the store by itself, and be quick.

        Raises:
            StoreError: as `append`, but never `store-moved`.
        """
        from .viewing import read_view

        with self.backend.writing() as transaction:
            drafts = decide(read_view(transaction, query), transaction.rows.get)
            return tuple(self._add(transaction, entry) for entry in drafts)

    def _add(self, transaction: Transaction, entry: Draft) -> int:
        from . import checking
        from .projections import unknown_references

        head = transaction.head()
        time = later(self._clock(), transaction.last_time())
        digest = payload_digest(entry.nonce, entry.payload)
        seq = head.seq + 1
        hash_ = link(head.hash, seq, entry.id, entry.type, time, digest)
        event = Event(seq, entry.id, entry.type, time, digest, hash_, entry.nonce, entry.payload)
        wrong = unknown_references(event, transaction.rows.get)
        if wrong:
            raise StoreError("store-reference", f"event `{entry.type}`: {'; '.join(wrong)}")
        transaction.add(event)
        checking.apply(event, transaction.rows)
        return seq

    # -- reading -------------------------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The number of the last event: it moves with every change."""
        return self.head().seq

    def head(self) -> Head:
        """Return the end of the chain."""
        with self.backend.reading() as transaction:
            return transaction.head()

    def view(self, query: ViewQuery | str, *, lessons: Iterable[str] = (), limit: int = 64) -> StoreView:
        """Return what one evaluation needs to see, all of one state.

        Args:
            query: what the view is to hold; a signature alone stands for `ViewQuery(signature, lessons=…, limit=…)`.
            lessons: with a signature alone, ids of further lessons.
            limit: with a signature alone, lessons at most.
        """
        from .viewing import ViewQuery, read_view

        wanted = ViewQuery(query, lessons=tuple(lessons), limit=limit) if isinstance(query, str) else query
        with self.backend.reading() as transaction:
            return read_view(transaction, wanted)

    def search(self, query: SearchQuery) -> list[Found]:
        """Return the lessons in use that match, the best first, ties by id; see `SearchQuery`."""
        return self.search_at(query)[1]

    def search_at(self, query: SearchQuery) -> tuple[Head, list[Found]]:
        """Return what `search` does, and the end of the chain that it was searched at."""
        with self.backend.reading() as transaction:
            return transaction.head(), searching.run(transaction, query)

    def get(self, table: TableName, key: str) -> Row | None:
        """Return one row of a projection."""
        with self.backend.reading() as transaction:
            return transaction.rows.get(_table(table), key)

    def page(
        self,
        table: TableName,
        where: Mapping[str, str] | None = None,
        *,
        after: str | None = None,
        limit: int = 100,
        newest: bool = False,
    ) -> Page:
        """Return some rows of a projection, in the order of time; the newest first when asked.

        Raises:
            StoreError: `store-unknown` where there is no such table, column or cursor.
        """
        with self.backend.reading() as transaction:
            return transaction.rows.select(_table(table, where), where or {}, after, max(1, limit), newest)

    def iterate(self, table: TableName, where: Mapping[str, str] | None = None, *, newest: bool = False) -> Iterator[Row]:
        """Yield all rows that `page` would return, page by page; what is written meanwhile may or may not be seen."""
        from .checking import CHUNK

        after: str | None = None
        while True:
            rows, after = self.page(table, where, after=after, limit=CHUNK, newest=newest)
            yield from rows
            if after is None:
                return

    def count(self, table: TableName, where: Mapping[str, str] | None = None) -> int:
        """Return how many rows there are."""
        with self.backend.reading() as transaction:
            return transaction.rows.count(_table(table, where), where or {})

    def keys(self, table: TableName, prefix: str, limit: int) -> list[str]:
        """Return keys that begin with `prefix`, in their order, `limit` at most."""
        with self.backend.reading() as transaction:
            rows = transaction.rows
            exact = [prefix] if rows.get(_table(table), prefix) is not None else []
            found = (key for key, _ in rows.scan(table, prefix, limit))
            return [*exact, *itertools.takewhile(lambda key: key.startswith(prefix), found)][:limit]

    def event(self, event_id: str) -> Event | None:
        """Return one event."""
        with self.backend.reading() as transaction:
            return transaction.find(event_id)

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield the events in the order of the chain, those after number `after`."""
        from .checking import CHUNK

        while True:
            with self.backend.reading() as transaction:
                chunk = transaction.by_seq(after, CHUNK)
            yield from chunk
            if not chunk:
                return
            after = chunk[-1].seq

    def status(self) -> Status:
        """Return what the store is and holds."""
        backend = self.backend
        with backend.reading() as transaction:
            counts: dict[str, int] = {table: transaction.rows.count(table, {}) for table in TABLES}
            head, redacted = transaction.head(), transaction.redacted()
        return Status(backend.place, backend.name, backend.layout, head, redacted, counts, backend.size())

    def follow(self, patience: float) -> Iterator[Head]:
        """Keep a search index beside the store up to date, and yield the event that it stands at; see `PostgresStore.follow`.

        Raises:
            StoreError: `store-unsupported` where the store holds its index itself.
        """
        message = f"the store holds its own search index: there is nothing to look after every {patience:g} seconds"
        raise StoreError("store-unsupported", message, Place(self.backend.place))

    # -- maintenance ---------------------------------------------------------------------------------------------------

    def verify(self, *, expected: Head | None = None, progress: Progress = silent) -> checking.Report:
        """Check storage, chain and projections, and change nothing; `expected` is an earlier head that must still be there."""
        from . import checking

        return checking.verify(self.backend, expected, progress)

    def rebuild(self, *, progress: Progress = silent) -> checking.Report:
        """Fold all events anew, and put right what differs; a store whose chain is broken is left as it is."""
        from . import checking

        return checking.rebuild(self.backend, progress)

    def redact(
        self,
        *,
        events: Iterable[str] = (),
        lesson: str | None = None,
        text: str | None = None,
        reason: str,
        dry_run: bool = False,
        progress: Progress = silent,
    ) -> tuple[str, ...]:
        """Erase payloads for good, with every projection of them, and return the ids of their events; the act is an event itself.

        Args:
            events: ids of events.
            lesson: every event of this lesson's life, and every decision that was judged against it.
            text: every event that holds this text in any string.
            reason: why, for the record; must not repeat what is erased.
            dry_run: only say which events it would be.
            progress: hears of events read.

        Raises:
            StoreError: `store-unknown` where an id names nothing, `store-payload` where the reason holds the text.
        """
        from . import checking, redaction
        from .shapes import REDACTED

        if text is not None and (not text or text in reason):
            raise StoreError("store-payload", "the text to redact is empty or stands in the reason")
        tests = [redaction.about_lesson(lesson)] if lesson is not None else []
        tests += [redaction.containing(text)] if text is not None else []
        if dry_run:
            with self.backend.reading() as transaction:
                return tuple(redaction.chosen(transaction, events, tests, progress))
        with self.backend.writing() as transaction:
            found = redaction.chosen(transaction, events, tests, progress)
            if found:
                # The act comes first: its own event must not be among what a text match erases.
                self._add(transaction, draft(REDACTED, {"events": found, "reason": reason}))
                for name in found:
                    transaction.erase(name)
                checking.settle(self.backend, transaction, silent)
        if found:
            redaction.scrub(self.backend)
        return tuple(found)

    def export(self, stream: Writer, *, progress: Progress = silent) -> Head:
        """Write every event, one JSON object a line; the same store gives the same bytes."""
        from . import exchange

        return exchange.export(self.backend, stream, progress)

    def import_(
        self,
        stream: Iterable[bytes],
        name: str,
        *,
        check: exchange.Check | None = None,
        erase: bool = False,
        progress: Progress = silent,
    ) -> exchange.Imported:
        """Add the events of an export that the store does not have; see `exchange.import_events`."""
        from . import exchange

        return exchange.import_events(
            self.backend, stream, name, check=check, erase=erase, moment=self._clock(), progress=progress
        )

    def backup(self, target: Path, *, progress: Progress = silent) -> Head:
        """Copy one state of the store to the new file `target` while others go on writing; return the end of its chain."""
        return self.backend.backup(target, progress)

    def vacuum(self) -> None:
        """Give back the space that projections no longer take; events stay as they are."""
        self.backend.compact()


def known_numbers(transaction: Transaction, drafts: Sequence[Draft]) -> tuple[int, ...] | None:
    """Return the numbers of drafts that were all added before, `None` where none was."""
    found = [transaction.find(entry.id) for entry in drafts]
    if not any(found):
        return None
    events = [event for event in found if event is not None]
    same = [
        event.type == entry.type and event.digest == payload_digest(entry.nonce, entry.payload)
        for event, entry in zip(found, drafts, strict=True)
        if event is not None
    ]
    if len(events) != len(drafts) or not all(same):
        raise StoreError("store-conflict", f"the store holds another event `{events[0].id}`")
    return tuple(event.seq for event in events)


def _table(table: TableName, where: Mapping[str, str] | None = None) -> TableName:
    declared = TABLES.get(table)
    if declared is None:
        raise StoreError("store-unknown", f"no table `{table}`")
    strange = [column for column in where or {} if column not in declared.columns]
    if strange:
        raise StoreError("store-unknown", f"no column `{strange[0]}` of `{table}` to look up by")
    return table
