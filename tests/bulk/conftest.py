"""Runs of the command line over Parquet that is made for a test; without the extra `scale` they are left out."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import cache_folder, environment, here, process

from reflect_gate import Bundle
from reflect_gate.bulk.parcel import Contents
from reflect_gate.bulk.running import Ears, Replayed, replay
from reflect_gate.bulk.scheduling import LOCAL, scheduler
from reflect_gate.errors import ReflectGateError

from .making import write

__all__ = ["Replay", "cache_folder", "environment", "here", "process"]

collect_ignore_glob = [] if all(map(find_spec, ("pyarrow", "distributed", "psutil"))) else ["test_*.py"]

Replay = Callable[..., tuple[Replayed, list[str]]]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Seven requests in row groups of three."""
    (tmp_path / "in").mkdir()
    return write(tmp_path / "in" / "requests.parquet", 7, 3)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where the outcome is kept."""
    return tmp_path / "out"


@pytest.fixture
def quick(structured: Bundle) -> Bundle:
    """The bundle with every mechanism on, by the engine that is faster."""
    return structured._replace(engine="compiled", cross_check=False)


@pytest.fixture
def replayed(quick: Bundle) -> Replay:
    """Replay in this process; return what came of it and the errors that were told."""

    def run(source: Path, out: Path, bundle: Bundle = quick, **more: Any) -> tuple[Replayed, list[str]]:
        told: list[ReflectGateError] = []
        ears = Ears(told.append, told.append, lambda *_: None)
        done = replay(source, out, Contents(bundle, **more), lambda: scheduler(LOCAL, 1), ears)
        return done, [str(error) for error in told]

    return run
