"""A home and a project of its own for each test, so that no test finds the developer's settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from reflect_gate.installing.commands import Program
from reflect_gate.installing.harnesses import Where
from reflect_gate.installing.parts import Scope

from ..homes import move_in


@pytest.fixture(scope="session")
def bundle_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One bundle cache for all homes."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, bundle_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's home folder; the working directory is a project that lies elsewhere."""
    place, project = tmp_path / "ein home", tmp_path / "project"
    move_in(place, project, bundle_cache, monkeypatch)
    monkeypatch.setenv("REFLECT_GATE_HOME", str(tmp_path / "gate"))
    (project / "src").mkdir()
    monkeypatch.chdir(project / "src")
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
