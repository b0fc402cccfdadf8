"""What every test of the model call needs: one failure, and an environment that names no model and no proxy."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import schemas
from reflect_gate.llm.journal import Journal, open_journal

CLEARED = (
    "REFLECT_GATE_MODEL",
    "REFLECT_GATE_BASE_URL",
    "REFLECT_GATE_API_KEY",
    "REFLECT_GATE_POLICIES",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in CLEARED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REFLECT_GATE_HOME", str(tmp_path / "home"))
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")


@pytest.fixture
def record() -> Any:
    """A complete evidence record; a test may change its copy."""
    return copy.deepcopy(schemas.schema("record")["examples"][0])


@pytest.fixture
def context() -> Any:
    """What the ledger says about it."""
    return copy.deepcopy(schemas.schema("signature-context")["examples"][0])


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """An empty journal."""
    return open_journal(tmp_path / "journal")
