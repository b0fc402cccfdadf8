"""reflect-store: what the gate remembers; the gate judges, this package keeps, and it never imports the gate.

`open_store(place)` opens a store in a file or on a server, `memory_store()` one in memory; each is a `Store`. What happened is
appended as events (`draft`), the only truth; what holds now is read from projections that are folded from them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

__all__ = [
    "EMPTY_VIEW",
    "EVENT_TYPES",
    "GENESIS",
    "LESSON_FIELDS",
    "TABLES",
    "Backend",
    "DerivedFrom",
    "Draft",
    "EarlierFailure",
    "EarlierSuccess",
    "Edge",
    "Envelope",
    "Event",
    "EventStore",
    "Found",
    "Head",
    "HeldCandidate",
    "Imported",
    "Index",
    "Lesson",
    "Level",
    "Origin",
    "Page",
    "Place",
    "Report",
    "Row",
    "Rows",
    "SearchQuery",
    "Standing",
    "Status",
    "Store",
    "StoreError",
    "StoreView",
    "StoredLesson",
    "TableName",
    "Transaction",
    "ViewQuery",
    "draft",
    "memory_store",
    "new_lesson",
    "open_store",
]

if TYPE_CHECKING:
    from .checking import Report
    from .errors import Place, StoreError
    from .events import GENESIS, Draft, Event, Head, draft
    from .exchange import Imported
    from .memory import memory_store
    from .opening import open_store
    from .protocol import Backend, Index, Page, Row, Rows, Status, Store, Transaction
    from .records import (
        EMPTY_VIEW,
        LESSON_FIELDS,
        DerivedFrom,
        EarlierFailure,
        EarlierSuccess,
        Edge,
        Envelope,
        HeldCandidate,
        Lesson,
        Level,
        Origin,
        Standing,
        StoredLesson,
        StoreView,
        new_lesson,
    )
    from .searching import Found, SearchQuery
    from .shapes import EVENT_TYPES
    from .store import EventStore
    from .tables import TABLES, TableName
    from .viewing import ViewQuery

_HOME: Final = {
    "Backend": "protocol",
    "DerivedFrom": "records",
    "Draft": "events",
    "EMPTY_VIEW": "records",
    "EVENT_TYPES": "shapes",
    "EarlierFailure": "records",
    "EarlierSuccess": "records",
    "Edge": "records",
    "Envelope": "records",
    "Event": "events",
    "EventStore": "store",
    "Found": "searching",
    "GENESIS": "events",
    "Head": "events",
    "HeldCandidate": "records",
    "Imported": "exchange",
    "Index": "protocol",
    "LESSON_FIELDS": "records",
    "Lesson": "records",
    "Level": "records",
    "Origin": "records",
    "Page": "protocol",
    "Place": "errors",
    "Report": "checking",
    "Row": "protocol",
    "Rows": "protocol",
    "SearchQuery": "searching",
    "Standing": "records",
    "Status": "protocol",
    "Store": "protocol",
    "StoreError": "errors",
    "StoreView": "records",
    "StoredLesson": "records",
    "TABLES": "tables",
    "TableName": "tables",
    "Transaction": "protocol",
    "ViewQuery": "viewing",
    "draft": "events",
    "memory_store": "memory",
    "new_lesson": "records",
    "open_store": "opening",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: a hook that only puts a job does not pay for the store (PEP 562)."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f".{home}", __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
