"""A user's home and a project beside it, so that no test finds the developer's settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reflect_gate.installing.harnesses import HARNESSES

__all__ = ["move_in"]


def move_in(home: Path, project: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make both folders, and a process of whom they are home and working directory; `cache` keeps the compiled bundles."""
    moved = {harness.variable for harness in HARNESSES if harness.variable}
    for name in [name for name in os.environ if name.startswith("REFLECT") or name in moved]:
        monkeypatch.delenv(name)
    home.mkdir()
    (project / ".git").mkdir(parents=True)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(cache))
    monkeypatch.chdir(project)
    # Waiting for the disk shows nothing here, and is most of the time.
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
