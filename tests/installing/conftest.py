"""A home and a project of its own for each test, so that no test finds the developer's settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from reflect_gate.installing.commands import Program
from reflect_gate.installing.harnesses import HARNESSES, Where
from reflect_gate.installing.parts import Scope


@pytest.fixture(scope="session")
def bundle_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One bundle cache for all homes."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, bundle_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's home folder; the working directory is a project that lies elsewhere."""
    moved = {harness.variable for harness in HARNESSES if harness.variable}
    for name in [name for name in os.environ if name.startswith("REFLECT") or name in moved]:
        monkeypatch.delenv(name)
    place, project = tmp_path / "ein home", tmp_path / "project"
    place.mkdir()
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(place))
    monkeypatch.setenv("REFLECT_GATE_HOME", str(tmp_path / "gate"))
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(bundle_cache))
    monkeypatch.chdir(project / "src")
    # Waiting for the disk shows nothing here, and is most of the time.
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    return place


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return the project that the working directory lies in."""
    return tmp_path / "project"


@pytest.fixture
def where(home: Path, project: Path) -> Callable[..., Where]:
    """Return a function that says for whom something is installed, and by which program."""

    def place(scope: Scope = "user", program: str = "/opt/tools/bin/reflect-gate") -> Where:
        return Where(scope, home if scope == "user" else project, Program((program,), windows=False))

    return place
