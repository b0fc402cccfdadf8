"""reflect-store: what the gate remembers; the gate judges, this package keeps, and it never imports the gate.

`open_store(path)` opens a store in a file, `memory_store()` one in memory; both are a `Store`. What happened is appended as
events (`draft`), the only truth; what holds now is read from projections that are folded from them.
"""

from __future__ import annotations

from .checking import Report
from .errors import Place, StoreError
from .events import GENESIS, Draft, Event, Head, draft
from .exchange import Imported
from .memory import memory_store
from .protocol import Backend, Page, Row, Rows, Status, Store, Transaction
from .records import (
    EMPTY_VIEW,
    LESSON_FIELDS,
    DerivedFrom,
    Edge,
    Envelope,
    Lesson,
    Level,
    Standing,
    StoredLesson,
    StoreView,
    new_lesson,
)
from .shapes import EVENT_TYPES
from .sqlite import open_store
from .store import EventStore
from .tables import TABLES, TableName

__all__ = [
    "EMPTY_VIEW",
    "EVENT_TYPES",
    "GENESIS",
    "LESSON_FIELDS",
    "TABLES",
    "Backend",
    "DerivedFrom",
    "Draft",
    "Edge",
    "Envelope",
    "Event",
    "EventStore",
    "Head",
    "Imported",
    "Lesson",
    "Level",
    "Page",
    "Place",
    "Report",
    "Row",
    "Rows",
    "Standing",
    "Status",
    "Store",
    "StoreError",
    "StoreView",
    "StoredLesson",
    "TableName",
    "Transaction",
    "draft",
    "memory_store",
    "new_lesson",
    "open_store",
]
