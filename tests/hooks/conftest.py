"""A home folder for each test, so that no hook finds the developer's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def bundle_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One bundle cache for all homes."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, bundle_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home folder of the test; nothing else of reflect-gate's environment is set."""
    for name in [name for name in os.environ if name.startswith("REFLECT")]:
        monkeypatch.delenv(name)
    place = tmp_path / "home"
    monkeypatch.setenv("REFLECT_GATE_HOME", str(place))
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(bundle_cache))
    return place
