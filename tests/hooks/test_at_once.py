"""Hooks of one session at the same time; `at_once.py` does it with more of them, and again and again."""

from __future__ import annotations

import os
from pathlib import Path

from .at_once import make_store, run


def test_hooks_of_one_session_at_once(home: Path) -> None:
    """One hand-over, logged once; every failure and one outcome in the queue, whoever told the end; no hook fails (R-P4)."""
    make_store(home)
    assert run(home, 1, 6, dict(os.environ)).right(6)
