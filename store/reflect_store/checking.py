"""Verifying a store and putting its projections right: the chain event by event, the rows against what the events say."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Final, NamedTuple

from .errors import StoreError
from .events import GENESIS, Event, Head, link, payload_digest
from .projections import fold
from .protocol import Backend, Index, Progress, Rows, Transaction
from .searching import index_row
from .shapes import REDACTED
from .tables import TABLES, TableName

__all__ = ["CHUNK", "Report", "apply", "by_seq", "by_time", "check_chain", "rebuild", "settle", "verify"]

CHUNK: Final = 512
"""Events or rows that are held at a time."""

MOST_PROBLEMS: Final = 100


class Report(NamedTuple):
    """What was checked and what was wrong; `changed` counts the rows that were put right."""

    head: Head
    redacted: int
    rows: int
    problems: tuple[str, ...]
    changed: int = 0

    @property
    def sound(self) -> bool:
        """Nothing was wrong."""
        return not self.problems


def by_seq(transaction: Transaction, after: int = 0) -> Iterator[Event]:
    """Yield the events in the order of the chain."""
    while chunk := transaction.by_seq(after, CHUNK):
        yield from chunk
        after = chunk[-1].seq


def by_time(transaction: Transaction) -> Iterator[Event]:
    """Yield the events in the order in which they are folded."""
    after = ("", "")
    while chunk := transaction.by_time(after, CHUNK):
        yield from chunk
        after = (chunk[-1].time, chunk[-1].id)


def apply(event: Event, rows: Rows) -> None:
    """Write what `event` changes."""
    for change in fold(event, rows.get):
        if change.row is None:
            rows.drop(change.table, change.key)
        else:
            rows.put(change.table, change.key, change.row)
        index_row(rows, change.table, change.key, change.row)


def _refold(transaction: Transaction, rows: Rows, progress: Progress) -> None:
    """Fold every event of the store into the empty `rows`."""
    whole = transaction.head().seq
    with rows.index.gathered():
        for count, event in enumerate(by_time(transaction), 1):
            apply(event, rows)
            progress(count, whole)


class _Problems(list[str]):
    """Collects what is wrong, up to a bound: a broken store may have a million faults."""

    def note(self, text: str) -> None:
        if len(self) < MOST_PROBLEMS:
            self.append(text)


def check_chain(transaction: Transaction, expected: Head | None) -> list[str]:
    """Return what is wrong with the events: gaps, links, digests, payloads that are gone though nothing erased them."""
    problems, erased, allowed = _Problems(), {}, set()
    last, met = Head(0, GENESIS), expected is None or expected.seq == 0
    for event in by_seq(transaction):
        if event.seq != last.seq + 1:
            problems.note(f"event {event.seq} follows event {last.seq}: {event.seq - last.seq - 1} missing")
        problems.extend(_event_problems(event, last.hash)[: MOST_PROBLEMS - len(problems)])
        if event.payload is None:
            erased[event.id] = event.seq
        elif event.type == REDACTED:
            allowed.update((event.data() or {}).get("events", ()))
        last = Head(event.seq, event.hash)
        met = met or last == expected
    for name, seq in erased.items():
        if name not in allowed:
            problems.note(f"event {seq}: the payload is gone and no redaction names it")
    if not met:
        problems.note(f"the chain does not hold `{expected}`")
    return problems


def _event_problems(event: Event, previous: str) -> list[str]:
    problems = []
    if link(previous, event.seq, event.id, event.type, event.time, event.digest) != event.hash:
        problems.append(f"event {event.seq}: the hash does not follow from the event before")
    if event.payload is not None and payload_digest(event.nonce or "", event.payload) != event.digest:
        problems.append(f"event {event.seq}: the payload is not what was recorded")
    return problems


class _Difference(NamedTuple):
    table: TableName
    key: str
    stored: bytes | None
    folded: bytes | None

    def __str__(self) -> str:
        name = self.key.replace("\n", " ")
        if self.stored is None:
            return f"{self.table}: `{name}` is missing"
        if self.folded is None:
            return f"{self.table}: `{name}` comes from no event"
        return f"{self.table}: `{name}` is not what the events say"


def _scan(rows: Rows, table: TableName) -> Iterator[tuple[str, bytes]]:
    after = ""
    while chunk := rows.scan(table, after, CHUNK):
        yield from chunk
        after = chunk[-1][0]


def _differences(stored: Rows, folded: Rows) -> Iterator[_Difference]:
    """Yield the rows in which the two differ, walking both by key."""
    end = (None, None)
    for table in TABLES:
        left, right = _scan(stored, table), _scan(folded, table)
        (name, row), (other, want) = next(left, end), next(right, end)
        while name is not None or other is not None:
            if other is None or (name is not None and name < other):
                yield _Difference(table, str(name), row, None)
                name, row = next(left, end)
            elif name is None or other < name:
                yield _Difference(table, other, None, want)
                other, want = next(right, end)
            else:
                if row != want:
                    yield _Difference(table, name, row, want)
                (name, row), (other, want) = next(left, end), next(right, end)


INDEX_DIFFERS: Final = "search: the index is not what the lessons say"


def _same_index(stored: Index, folded: Index) -> bool:
    with closing(stored.entries()) as left, closing(folded.entries()) as right:
        return all(mine == other for mine, other in itertools.zip_longest(left, right))


def _readable(index: Index) -> bool:
    try:
        with closing(index.entries()) as batches:
            for _ in batches:
                pass
    except StoreError as error:
        if error.code != "store-corrupt":
            raise
        return False
    return True


def _report(transaction: Transaction, problems: Sequence[str], changed: int = 0) -> Report:
    rows = sum(transaction.rows.count(table, {}) for table in TABLES)
    return Report(transaction.head(), transaction.redacted(), rows, tuple(problems), changed)


def verify(backend: Backend, expected: Head | None, progress: Progress) -> Report:
    """Check storage, chain and projections of one state of the store."""
    problems = _Problems(backend.defects())
    with backend.reading() as transaction, backend.scratch() as rows:
        problems.extend(check_chain(transaction, expected))
        if not problems:
            # What the events say can only be asked when the events can be trusted.
            _refold(transaction, rows, progress)
            for difference in _differences(transaction.rows, rows):
                problems.note(str(difference))
            index = transaction.rows.index
            if not (_readable(index) and _same_index(index, rows.index)):
                problems.note(INDEX_DIFFERS)
        return _report(transaction, problems)


def settle(backend: Backend, transaction: Transaction, progress: Progress, *, unread: bool = False) -> list[str]:
    """Fold every event of the transaction anew, write the rows that differ, and return the differences in words.

    Args:
        backend: of the transaction.
        transaction: alone in writing.
        progress: hears of events folded.
        unread: the search index cannot be read, and is made anew without a look at it.

    Raises:
        StoreError: `store-corrupt` where the search index cannot be read and nobody said so.
    """
    with backend.scratch() as rows:
        _refold(transaction, rows, progress)
        # All differences are found before the first is written: a table is not walked while it changes.
        found = list(_differences(transaction.rows, rows))
        for difference in found:
            row = rows.get(difference.table, difference.key)
            if row is None:
                transaction.rows.drop(difference.table, difference.key)
            else:
                transaction.rows.put(difference.table, difference.key, row)
        told = [str(difference) for difference in found]
        if unread or not _same_index(transaction.rows.index, rows.index):
            transaction.rows.index.copy(rows.index)
            told.append(INDEX_DIFFERS)
    return told


def rebuild(backend: Backend, progress: Progress) -> Report:
    """Fold every event anew and write the rows that differ; events are only read, and nothing is written on a broken chain."""
    # A transaction that met the damage of an index could not repair it any more.
    with backend.reading() as transaction:
        unread = not _readable(transaction.rows.index)
    with backend.writing() as transaction:
        problems = check_chain(transaction, None)
        changed = [] if problems else settle(backend, transaction, progress, unread=unread)
        return _report(transaction, [*problems, *changed][:MOST_PROBLEMS], len(changed))
