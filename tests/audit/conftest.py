"""The bundles that the audits judge by, and empty shelves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from reflect_gate import Bundle, load_bundle
from reflect_gate.auditing import Audit, Memory, audit
from reflect_gate.auditing.markdown import entries_of

from .planted import Shelf

__all__ = ["Judge"]

Judge: TypeAlias = Callable[..., Audit]


@pytest.fixture(scope="session")
def compiled() -> Bundle:
    """The bundle with every mechanism on, on one engine: the rules' own cases hold both to each other."""
    return load_bundle("structured", cache=False)._replace(engine="compiled", cross_check=False)


@pytest.fixture(scope="session")
def naive() -> Bundle:
    """The naive baseline."""
    return load_bundle("introspect", cache=False)._replace(engine="compiled", cross_check=False)


@pytest.fixture
def shelf(compiled: Bundle, request_document: dict[str, Any]) -> Shelf:
    """An empty store."""
    return Shelf(compiled, request_document)


@pytest.fixture
def judged(compiled: Bundle) -> Judge:
    """Return what is found in a Markdown text."""

    def judge(text: str, *only: str) -> Audit:
        return audit(Memory("LESSONS.md", "markdown", text, tuple(entries_of(text))), compiled, only)

    return judge
