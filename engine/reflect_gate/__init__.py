"""reflect-gate: the admission gate for what coding agents remember.

A model proposes why a task failed; evidence decides. The stable surface is `evaluate(request, bundle)` and `load_bundle()`; names
that are not in `__all__` may change.

>>> import reflect_gate
>>> reflect_gate.load_bundle("introspect").name
'introspect'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "Bundle",
    "Decision",
    "ReflectGateError",
    "ReflectGateErrors",
    "Source",
    "__version__",
    "evaluate",
    "load_bundle",
]

if TYPE_CHECKING:
    from .decision import Decision
    from .errors import ReflectGateError, ReflectGateErrors, Source
    from .pipeline import evaluate
    from .policy import Bundle, load_bundle

_HOME = {
    "Bundle": "policy",
    "Decision": "decision",
    "ReflectGateError": "errors",
    "ReflectGateErrors": "errors",
    "Source": "errors",
    "evaluate": "pipeline",
    "load_bundle": "policy",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `import reflect_gate` costs nothing (PEP 562)."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
