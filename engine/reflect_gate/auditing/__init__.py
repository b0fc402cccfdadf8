"""Auditing a memory that exists already: the entries of a file one by one, and a store as a whole (S2 7.5)."""

from __future__ import annotations

from .entries import Entry, Memory
from .judging import REASONS, Audit, Finding, audit
from .reading import KINDS, read_memory

__all__ = ["KINDS", "REASONS", "Audit", "Entry", "Finding", "Memory", "audit", "read_memory"]
