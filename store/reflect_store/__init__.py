"""reflect-store: what the gate remembers, as records; the gate judges, this package keeps, and it never imports the gate."""

from __future__ import annotations

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

__all__ = [
    "EMPTY_VIEW",
    "LESSON_FIELDS",
    "DerivedFrom",
    "Edge",
    "Envelope",
    "Lesson",
    "Level",
    "Standing",
    "StoreView",
    "StoredLesson",
    "new_lesson",
]
