"""Real processes on one folder: some that are killed, and workers that start at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from reflect_store.queue import open_queue

from .kill import SETTINGS, kill_all

SCRIPT = str(Path(__file__).with_name("kill.py"))
POSIX = pytest.mark.skipif(os.name != "posix", reason="SIGKILL")


def _start(role: str, name: str, folder: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, SCRIPT, *more, str(folder), "--role", role, name], stdout=subprocess.PIPE, text=True)


def _said(processes: list[subprocess.Popen[str]]) -> list[list[str]]:
    lines = []
    for process in processes:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        lines += [line.split() for line in out.splitlines()]
    return lines


@POSIX
@pytest.mark.slow
def test_kills_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    """R-q8: kill -9 in the middle of puts and of work; `python tests/queue/kill.py --rounds 200` does it at length."""
    survived = kill_all(str(tmp_path / "queue"), rounds=3, seed=3)
    assert (survived.lost, survived.again, survived.at_once, survived.corrupt) == ([], [], [], 0)
    assert survived.puts > 0


def test_two_workers_at_once_share_the_jobs(tmp_path: Path) -> None:
    """Two workers and a producer that start together: every job is acknowledged or buried once."""
    folder = tmp_path / "queue"
    said = _said(
        [
            _start("put", "p", folder, "--most", "60"),
            _start("work", "one", folder, "--idle", "3"),
            _start("work", "two", folder, "--idle", "3"),
        ]
    )
    put = [id_ for what, id_, _ in said if what == "put"]
    over = Counter(id_ for what, id_, _ in said if what in {"ack", "dead"})
    with open_queue(folder, SETTINGS) as queue:
        assert queue.depth() == 0
        exhausted = {row.id for row in queue.dead_letters() if row.reason == "exhausted"}
    assert len(put) == 60
    assert {*over, *exhausted} == set(put)
    assert set(over.values()) == {1}


def test_puts_of_the_same_jobs_at_once_are_one(tmp_path: Path) -> None:
    """R-q2: processes that put the same jobs at the same time make each of them once."""
    folder = tmp_path / "queue"
    said = _said([_start("put", "same", folder, "--most", "25") for _ in range(4)])
    assert len(said) == 100
    with open_queue(folder, SETTINGS) as queue:
        assert queue.depth() == 25
