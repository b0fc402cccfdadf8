"""Real processes on one file: many that write at once, and some that are killed while they do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reflect_store import open_store

from .kill import kill_writers

WRITER = Path(__file__).with_name("kill.py")
PROCESSES, EACH = 8, 25


def test_eight_processes_lose_and_double_nothing(tmp_path: Path) -> None:
    """R-s1: 8 writers that also make the store at once: no error, every event there once, the chain verifies."""
    path = tmp_path / "home" / "store.db"
    commands = [
        [sys.executable, str(WRITER), "--writer", f"p{number}", "--most", str(EACH), str(path)] for number in range(PROCESSES)
    ]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for command in commands]
    said = [writer.communicate(timeout=300) for writer in writers]
    assert [err for _, err in said if err] == []
    told = [line for out, _ in said for line in out.split()]
    with open_store(path) as store:
        assert sorted(told) == sorted(event.id for event in store.events() if event.type == "lesson-admitted")
        assert (len(told), store.version) == (PROCESSES * EACH, PROCESSES * EACH * 2)
        assert store.verify().sound


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_killed_writers_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """R-s1: kill -9 at random moments, the first while the store is being made; no repair is needed.

    `python tests/store/kill.py --kills 200` does it at length.
    """
    survived = kill_writers(tmp_path / "home" / "store.db", kills=40, seed=7)
    assert survived.acknowledged > 0
    assert (survived.lost, survived.problems) == ((), ())
    assert survived.present >= survived.acknowledged
