"""A world for each test, which is also the environment of its own process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .world import World


@pytest.fixture(scope="session")
def bundle_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One bundle cache for all worlds."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def world(tmp_path: Path, bundle_cache: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A home folder of its own; the environment of this process names it too."""
    made = World(tmp_path, bundle_cache)
    for name in [name for name in os.environ if name.startswith("REFLECT_GATE_")]:
        monkeypatch.delenv(name)
    for name in ("REFLECT_GATE_HOME", "REFLECT_GATE_CACHE", "REFLECT", "NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, made.environ[name])
    return made
