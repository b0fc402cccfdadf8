"""jsonschema-rs, imported without the mail package.

Its compiled module parses the date of its own build with `email.utils` when it is imported. That import alone costs more than
checking a request does, and `reflect-gate evaluate` pays it in every process, so a stand-in answers that one question. Whoever
asks `email.utils` for anything else meanwhile is answered by the real module, and later imports get it.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

__all__ = ["import_validator"]

_NAME = "email.utils"


class _BuildDate(ModuleType):
    """Stands in for `email.utils` while jsonschema-rs is imported."""

    @staticmethod
    def parsedate_to_datetime(written: str) -> str:
        """Return the date as it is written; nobody reads it."""
        return written

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(_NAME) is self:
            del sys.modules[_NAME]
        return getattr(importlib.import_module(_NAME), name)


def import_validator() -> ModuleType:
    """Return the module `jsonschema_rs`; `ImportError` where it cannot be imported."""
    if "jsonschema_rs" in sys.modules or _NAME in sys.modules:
        return importlib.import_module("jsonschema_rs")
    stand_in = _BuildDate(_NAME)
    sys.modules[_NAME] = stand_in
    try:
        return importlib.import_module("jsonschema_rs")
    finally:
        if sys.modules.get(_NAME) is stand_in:
            del sys.modules[_NAME]
