"""Real processes that judge and commit on one file at once; `processes_apply.py` does it at length."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .processes_apply import apply_at_once, kill_appliers


def test_processes_learn_each_lesson_once(tmp_path: Path) -> None:
    """R-s1: of processes that meet the same new failures at once, one learns each lesson and the others corroborate it."""
    processes, decisions = 3, 8
    done = apply_at_once(tmp_path / "home" / "store.db", processes, decisions)
    assert (done.errors, done.lost, done.doubled, done.problems) == ((), (), (), ())
    shared, same = decisions // 2, 1
    assert done.acknowledged == processes * decisions
    assert done.known == (processes - 1) * same
    assert done.lessons == shared + processes * decisions // 2
    assert done.merges == (processes - 1) * (shared - same)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_killed_processes_lose_no_decision_that_was_acknowledged(tmp_path: Path) -> None:
    """R-s1: kill -9 between judging and committing, or within either, leaves whole decisions and no repair to do."""
    done = kill_appliers(tmp_path / "home" / "store.db", kills=4, seed=3)
    assert done.acknowledged > 0
    assert (done.errors, done.lost, done.doubled, done.problems) == ((), (), (), ())
