"""Servers that tests share, each with a home of its own, and the command line beside them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from reflect_gate.cli import main

from ..conftest import REQUEST
from .gate import Gate, environment

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: bytes
    err: str


Run: TypeAlias = Callable[..., Ran]


@pytest.fixture(scope="session")
def bundle_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One bundle cache for all servers."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home folder of the shared server."""
    return tmp_path_factory.mktemp("served") / "home"


@pytest.fixture(scope="session")
def gate(home: Path, bundle_cache: Path) -> Iterator[Gate]:
    """A server for this machine alone, without tokens and without a limit of requests."""
    with Gate(environment(home, bundle_cache), "--rate", "0") as running:
        yield running


@pytest.fixture
def run(
    home: Path, bundle_cache: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> Run:
    """Run a command in this process, in the home of the shared server."""
    for name, value in environment(home, bundle_cache).items():
        monkeypatch.setenv(name, value)
    for name in ("REFLECT_GATE_TOKEN", "REFLECT_GATE_BUNDLE", "REFLECT_GATE_STORE", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Ran:
        code = main(arguments)
        out, err = capsysbinary.readouterr()
        return Ran(code, out, err.decode())

    return run


@pytest.fixture
def candidate() -> dict[str, Any]:
    """A request that the shipped policies admit."""
    return copy.deepcopy(REQUEST)
