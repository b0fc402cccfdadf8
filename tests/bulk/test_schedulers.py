"""Wherever it is judged, and whoever is killed meanwhile: the same bytes. `million.py` does it with many requests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.cli.conftest import RunHere, RunProcess

from .making import write
from .million import same

QUICK = ("--engine", "compiled", "--as-of", "2026-11-30")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Enough requests to be killed in the midst of."""
    return write(tmp_path / "requests.parquet", 480, 40)


@pytest.fixture
def plain(here: RunHere, source: Path, tmp_path: Path) -> Path:
    """What comes of them in one process."""
    out = tmp_path / "plain"
    assert here("evaluate", "--parquet", str(source), "--out", str(out), *QUICK).code == 0
    return out


@pytest.fixture
def cluster(environment: dict[str, str]) -> Iterator[dict[str, Any]]:
    """A cluster that is there already."""
    command = [sys.executable, str(Path(__file__).with_name("cluster.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as running:
        assert running.stdout is not None
        yield json.loads(running.stdout.readline())
        running.communicate()
    assert running.returncode == 0


def begun(arguments: tuple[str, ...], out: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a replay and return when its first part is finished."""
    command = [sys.executable, "-m", "reflect_gate", "evaluate", *arguments, "--out", str(out), *QUICK]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True)
    while not list(out.glob("*.parquet")):
        try:
            running.wait(0.02)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(f"ended early: {running.communicate()!r}")
    return running


def test_a_killed_driver_goes_on(
    process: RunProcess, source: Path, plain: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    """What was finished is kept, what was begun is done again, and nothing else is left."""
    out = tmp_path / "out"
    with begun(("--parquet", str(source)), out, environment) as driver:
        driver.kill()
    assert not (out / "report.json").exists()
    ran = process("evaluate", "--parquet", str(source), "--out", str(out), *QUICK)
    assert ran.code == 0, ran.err
    kept = int(ran.err.split(" chunks, ")[1].split()[0])
    assert 0 < kept < 12
    assert same(plain, out)


def test_a_killed_worker_of_a_cluster_costs_nothing(
    source: Path, plain: Path, tmp_path: Path, environment: dict[str, str], cluster: dict[str, Any]
) -> None:
    """The scheduler at an address gives its rows to another worker."""
    out = tmp_path / "out"
    with begun(("--parquet", str(source), "--scheduler", cluster["address"]), out, environment) as driver:
        os.kill(cluster["workers"][0], signal.SIGKILL)
        _, said = driver.communicate()
    assert driver.returncode == 0, said
    assert same(plain, out)


def test_processes_of_this_machine_say_the_same(source: Path, plain: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    """Nothing listens beyond the loopback interface; an interrupt ends them without a word, and two others do the rest."""
    out = tmp_path / "out"
    where = ("--parquet", str(source), "--scheduler", "processes", "--jobs")
    with begun((*where, "1"), out, environment) as driver:
        hosts = {host for one in family(driver.pid) for host in listening(one)}
        os.killpg(driver.pid, signal.SIGINT)
        _, said = driver.communicate()
    assert (driver.returncode, said) == (130, b"")
    kept = len(list(out.glob("*.parquet")))
    with begun((*where, "2"), out, environment) as driver:
        _, said = driver.communicate()
    assert hosts == {"127.0.0.1"}
    assert (driver.returncode, said) == (0, b"12 chunks, %d of them finished before\n" % kept)
    assert same(plain, out)


def family(driver: int) -> list[psutil.Process]:
    """Return a process and those that it started."""
    first = psutil.Process(driver)
    return [first, *first.children(recursive=True)]


def listening(one: psutil.Process) -> list[str]:
    """Return the addresses that a process listens at."""
    return [found.laddr.ip for found in one.net_connections(kind="inet") if found.status == psutil.CONN_LISTEN]
