"""Errors of store and queue as errors of the program; a module of its own, since a capture starts without the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import ReflectGateError, Source

__all__ = ["store_errors"]


@contextmanager
def store_errors() -> Iterator[None]:
    """Raise errors of the store, and of the queue that lies beside it, as errors of the program."""
    from reflect_store.errors import StoreError

    try:
        yield
    except StoreError as error:
        source = Source(error.source.file, error.source.line) if error.source else None
        raise ReflectGateError(error.code, error.message, source) from None
