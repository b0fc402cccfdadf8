"""What a store can do (`Store`), and what a back end must bring for it (`Backend`, `Transaction`, `Rows`).

Everything that is folded, chained or compared is written once, over these protocols; a back end only keeps. A back end that
passes `tests/store` is a back end.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeAlias

from .events import Draft, Event, Head
from .tables import TableName

if TYPE_CHECKING:
    from .checking import Report
    from .exchange import Check, Imported
    from .records import StoreView
    from .searching import Found, SearchQuery, Sought, Text
    from .viewing import ViewQuery

__all__ = ["Backend", "Get", "Index", "Page", "Progress", "Row", "Rows", "Status", "Store", "Transaction", "Writer", "silent"]

Row: TypeAlias = Mapping[str, Any]
Get: TypeAlias = Callable[[TableName, str], Row | None]
Progress: TypeAlias = Callable[[int, int], None]
"""Hears how much of how much is done; the whole is 0 where it is unknown."""


def silent(_done: int, _whole: int) -> None:
    """Hear nothing."""


class Writer(Protocol):
    """Where an export goes."""

    def write(self, data: bytes, /) -> object:
        """Take in the next bytes."""
        ...


class Page(NamedTuple):
    """Some rows, and the cursor after which the next ones come; `None` when these were the last."""

    rows: tuple[Row, ...]
    cursor: str | None


class Status(NamedTuple):
    """What a store is: its place and back end, the version of its layout, the end of its chain, what it holds, its bytes.

    `indexed` is the number of the last event that the search index of this node knows, where that is not part of the store.
    """

    place: str
    backend: str
    layout: int
    head: Head
    redacted: int
    rows: Mapping[str, int]
    size: int
    indexed: int | None = None


class Index(Protocol):
    """The search index of one store: a projection of its lessons."""

    def put(self, text: Text) -> None:
        """Index a lesson, or index it anew where its text is another."""
        ...

    def drop(self, lesson_id: str) -> None:
        """Take a lesson out of the index, if it is there."""
        ...

    def gathered(self) -> AbstractContextManager[None]:
        """Within it many lessons change and none is sought: what is quicker made at once may wait for its end."""
        ...

    def search(self, query: Sought, limit: int) -> Sequence[tuple[str, float]]:
        """Return active lessons and their scores, the best first, ties by id."""
        ...

    def common(self, tokens: Sequence[str], most: int) -> list[str]:
        """Return those of some stems or scope tokens that more than `most` lessons hold; each costs what `most` places cost."""
        ...

    def holding(self, tokens: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        """Return the places of lessons that hold each token, the youngest `limit` first; each costs what so many places cost."""
        ...

    def names(self, places: Iterable[int]) -> Mapping[int, str]:
        """Return the ids of the lessons at some places."""
        ...

    def entries(self) -> Generator[Sequence[Any], None, None]:
        """Yield all that the index holds, in batches: two indexes of one kind are equal where all their batches are.

        Raises:
            StoreError: `store-corrupt` where it cannot be read.
        """
        ...

    def copy(self, other: Self) -> None:
        """Make the index anew as another of its kind is."""
        ...


class Rows(Protocol):
    """The projections of one store: rows by table and key, and the search index, which `put` and `drop` leave alone."""

    @property
    def index(self) -> Index:
        """The search index."""
        ...

    def get(self, table: TableName, key: str) -> Row | None:
        """Return a fresh copy of a row, `None` where there is none."""
        ...

    def many(self, table: TableName, keys: Iterable[str]) -> Mapping[str, Row]:
        """Return fresh copies of several rows by their keys; keys that there are no rows of are left out."""
        ...

    def held(self, table: TableName, keys: Iterable[str]) -> Mapping[str, bytes]:
        """Return several rows as they are kept, in canonical JSON."""
        ...

    def put(self, table: TableName, key: str, row: Row) -> None:
        """Write a row, whether or not there is one with its key."""
        ...

    def drop(self, table: TableName, key: str) -> None:
        """Remove a row, if there is one."""
        ...

    def select(self, table: TableName, where: Mapping[str, str], after: str | None, limit: int, newest: bool) -> Page:
        """Return rows in the order of time, event and key, only those whose columns equal `where`."""
        ...

    def first_of(self, table: TableName, column: str, values: Sequence[str], limit: int) -> Mapping[str, Sequence[Row]]:
        """Return, by each of some values of a column, the `limit` oldest rows that have it."""
        ...

    def count(self, table: TableName, where: Mapping[str, str]) -> int:
        """Return how many rows a `select` would find."""
        ...

    def scan(self, table: TableName, after: str, limit: int) -> Sequence[tuple[str, bytes]]:
        """Return keys and rows as canonical JSON, by key (compared by code point), those after `after`."""
        ...


class Transaction(Protocol):
    """One transaction on a store: all of it happens, or none."""

    @property
    def rows(self) -> Rows:
        """The projections."""
        ...

    def head(self) -> Head:
        """Return the end of the chain."""
        ...

    def last_time(self) -> str:
        """Return the latest time of any event, empty when there is none."""
        ...

    def add(self, event: Event) -> None:
        """Add an event after the head."""
        ...

    def find(self, event_id: str) -> Event | None:
        """Return the event of that id."""
        ...

    def by_seq(self, after: int, limit: int) -> Sequence[Event]:
        """Return events by number, those after `after`."""
        ...

    def by_time(self, after: tuple[str, str], limit: int) -> Sequence[Event]:
        """Return events by time and id, those after `after`: the order in which they are folded."""
        ...

    def erase(self, event_id: str) -> None:
        """Erase payload and nonce of an event."""
        ...

    def redacted(self) -> int:
        """Return how many events have no payload any more."""
        ...


class Backend(Protocol):
    """Where a store is kept."""

    @property
    def place(self) -> str:
        """What errors call the store: its path, or a name."""
        ...

    @property
    def name(self) -> str:
        """The kind of back end."""
        ...

    @property
    def layout(self) -> int:
        """The version of the layout in which events and rows are kept."""
        ...

    def reading(self) -> AbstractContextManager[Transaction]:
        """Open a transaction that sees one state and changes nothing."""
        ...

    def writing(self) -> AbstractContextManager[Transaction]:
        """Open a transaction that is alone in writing; on leaving it is durable, on an exception undone."""
        ...

    def scratch(self) -> AbstractContextManager[Rows]:
        """Open empty rows of the same kind that nobody else sees."""
        ...

    def defects(self) -> list[str]:
        """Return what is wrong with the storage itself, as far as it can tell."""
        ...

    def size(self) -> int:
        """Return the bytes that the store takes."""
        ...

    def compact(self) -> None:
        """Give back space that holds nothing any more, and make sure that what was erased is not left in it."""
        ...

    def backup(self, target: Path, progress: Progress) -> Head:
        """Copy one state of the store to the new file `target` while others go on writing."""
        ...

    def close(self) -> None:
        """Release everything; closing twice is harmless."""
        ...


class Store(Protocol):
    """What the gate knows of a store."""

    def __enter__(self) -> Self:
        """Return the store, which is closed on leaving."""
        ...

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        ...

    def close(self) -> None:
        """Release everything; closing twice is harmless."""
        ...

    @property
    def version(self) -> int:
        """The number of the last event: it moves with every change."""
        ...

    def head(self) -> Head:
        """Return the end of the chain."""
        ...

    def append(
        self,
        drafts: Sequence[Draft],
        *,
        expected_version: int | None = None,
        expected_view: tuple[ViewQuery, str] | None = None,
        absent: tuple[TableName, str] | None = None,
    ) -> tuple[int, ...]:
        """Add events and their projections in one transaction and return their numbers; durable on return."""
        ...

    def decide(self, query: ViewQuery, decide: Callable[[StoreView, Get], Sequence[Draft]]) -> tuple[int, ...]:
        """Read a view and add what `decide` drafts on it, while every other writer waits."""
        ...

    def search(self, query: SearchQuery) -> list[Found]:
        """Return the lessons in use that match, the best first."""
        ...

    def search_at(self, query: SearchQuery) -> tuple[Head, list[Found]]:
        """Return what `search` does, and the end of the chain that it was searched at."""
        ...

    def view(self, query: ViewQuery | str, *, lessons: Iterable[str] = (), limit: int = 64) -> StoreView:
        """Return what one evaluation needs to see."""
        ...

    def get(self, table: TableName, key: str) -> Row | None:
        """Return one row of a projection."""
        ...

    def page(
        self,
        table: TableName,
        where: Mapping[str, str] | None = None,
        *,
        after: str | None = None,
        limit: int = 100,
        newest: bool = False,
    ) -> Page:
        """Return some rows of a projection, in the order of time."""
        ...

    def iterate(self, table: TableName, where: Mapping[str, str] | None = None, *, newest: bool = False) -> Iterator[Row]:
        """Yield all rows that `page` would return, page by page."""
        ...

    def count(self, table: TableName, where: Mapping[str, str] | None = None) -> int:
        """Return how many rows there are."""
        ...

    def keys(self, table: TableName, prefix: str, limit: int) -> list[str]:
        """Return keys that begin with `prefix`, in their order, `limit` at most."""
        ...

    def event(self, event_id: str) -> Event | None:
        """Return one event."""
        ...

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield the events in the order of the chain, those after number `after`."""
        ...

    def status(self) -> Status:
        """Return what the store is and holds."""
        ...

    def verify(self, *, expected: Head | None = None, progress: Progress = silent) -> Report:
        """Check storage, chain and projections, and change nothing."""
        ...

    def rebuild(self, *, progress: Progress = silent) -> Report:
        """Fold all events anew, and put right what differs."""
        ...

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
        """Erase payloads for good and return the ids of their events; on a dry run only say which."""
        ...

    def export(self, stream: Writer, *, progress: Progress = silent) -> Head:
        """Write every event, one JSON object a line."""
        ...

    def import_(
        self, stream: Iterable[bytes], name: str, *, check: Check | None = None, erase: bool = False, progress: Progress = silent
    ) -> Imported:
        """Add the events of an export that the store does not have."""
        ...

    def backup(self, target: Path, *, progress: Progress = silent) -> Head:
        """Copy one state of the store to a new file while others go on writing."""
        ...

    def vacuum(self) -> None:
        """Give back the space that projections no longer take; events stay as they are."""
        ...
