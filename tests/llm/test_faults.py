"""The whole matrix of faults over real HTTP: what comes of each, one request each, and what is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from .faults import KEY, OUTCOMES, RECEIVED, happened, table
from .server import BEHAVIOURS


def test_the_table_is_complete() -> None:
    """Every behaviour of the server has an outcome."""
    assert set(OUTCOMES) == set(BEHAVIOURS)


def test_the_documentation_has_the_table() -> None:
    """`python tests/llm/faults.py` prints what belongs into `docs/model.md`."""
    assert table(OUTCOMES) in (Path(__file__).parents[2] / "docs" / "model.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_fault_has_its_outcome(name: str, tmp_path: Path) -> None:
    """R-L1, R-L2: one request and no other, whatever the server does; only what was received whole is journalled."""
    found = happened(name, tmp_path)
    assert found.outcome == OUTCOMES[name]
    assert found.requests == 1
    assert found.journalled == (found.outcome.what in RECEIVED)
    assert "\n" not in found.message
    assert KEY not in found.message
