"""Runs of the command line, and rows of every form in files of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import cache_folder, environment, here, process

from .forms import written

__all__ = ["cache_folder", "environment", "here", "process", "rows"]


@pytest.fixture
def rows(tmp_path: Path) -> Callable[..., str]:
    """Write rows of JSON, one a line, and return the path; bytes go in as they are."""

    def write(*given: dict[str, Any] | bytes, name: str = "rows.jsonl") -> str:
        return written(tmp_path / name, *given)

    return write
