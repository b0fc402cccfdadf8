"""Real processes: workers are killed and a server is stopped under them, and a move between queues is killed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ..postgres_server import Server, running, unable

POSIX = pytest.mark.skipif(os.name != "posix", reason="SIGKILL")


@pytest.mark.slow
@POSIX
def test_kills_and_a_crash_lose_nothing_and_repeat_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-q8: `python tests/queue/postgres_kill.py` does it at length."""
    if reason := unable():
        pytest.skip(reason)
    pytest.importorskip("procrastinate", reason="needs procrastinate (the extra `postgres`)")
    from .postgres_kill import disturbed

    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path))
    with running() as server:
        survived = disturbed(server, workers=2, writers=1, jobs=6, kills=2, restarts=1)
    assert survived.sound, survived
    assert (survived.puts, survived.lessons) == (6, 6)


@pytest.mark.slow
@POSIX
def test_a_move_that_is_killed_loses_nothing_and_repeats_nothing(postgres: Server, tmp_path: Path) -> None:
    """Both ways, with and without workers in between; `python tests/queue/migrate_kill.py` does it at length."""
    pytest.importorskip("procrastinate", reason="needs procrastinate (the extra `postgres`)")
    from .migrate_kill import JOBS, moves

    survived = moves(postgres, str(tmp_path / "queue"), rounds=4, seed=1)
    assert (survived.lost, survived.twice, survived.left) == ([], [], [])
    assert survived.jobs == 4 * JOBS
