"""Running the command line: as the real process for what only a process shows, and in this one for the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest

from reflect_gate.cli import main

__all__ = ["Ran", "RunHere", "RunProcess"]


class Ran(NamedTuple):
    """How a run ended."""

    code: int
    out: str
    err: str


RunProcess: TypeAlias = Callable[..., Ran]
RunHere: TypeAlias = Callable[..., Ran]

_CLEARED = (
    "NO_COLOR",
    "FORCE_COLOR",
    "REFLECT_GATE_ERROR_FORMAT",
    "REFLECT_GATE_BUNDLE",
    "REFLECT_GATE_POLICIES",
    "REFLECT_GATE_DEBUG",
)


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One bundle cache for all runs, away from the user's."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def environment(cache_folder: Path, tmp_path: Path) -> dict[str, str]:
    """An environment without the user's own settings, home or cache."""
    kept = {name: value for name, value in os.environ.items() if name not in _CLEARED}
    return {**kept, "REFLECT_GATE_CACHE": str(cache_folder), "REFLECT_GATE_HOME": str(tmp_path / "home"), "PYTHONUTF8": "1"}


@pytest.fixture
def process(environment: dict[str, str], tmp_path: Path) -> RunProcess:
    """Run `python -m reflect_gate` with arguments, and optionally `stdin` (bytes) and `env`."""

    def run(*arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "reflect_gate", *arguments],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**environment, **(env or {})},
            timeout=120,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def here(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunHere:
    """Run `main` in this process with arguments."""
    for name in _CLEARED:
        monkeypatch.delenv(name, raising=False)
    for name in ("REFLECT_GATE_CACHE", "REFLECT_GATE_HOME"):
        monkeypatch.setenv(name, environment[name])

    def run(*arguments: str) -> Ran:
        code = main(arguments)
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return run
