"""The one place that imports pyarrow, which the extra `scale` brings."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import ReflectGateError

__all__ = ["arrow", "missing", "parquet"]


def missing() -> ReflectGateError:
    """Return why nothing can be done without the extra."""
    return ReflectGateError("bulk-extra", "bulk replay needs the extra `scale`: pip install 'reflect-gate[scale]'")


def arrow() -> Any:
    """Return the module `pyarrow`."""
    return _module("pyarrow")


def parquet() -> Any:
    """Return the module `pyarrow.parquet`."""
    return _module("pyarrow.parquet")


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise missing() from None
