"""The pytest plugin: policy cases as tests, and nothing of the gate imported where it is not asked for."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PLUGIN = ("-p", "reflect_gate.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:randomly")
PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run pytest in `folder` with the plugin."""
    command = [sys.executable, "-m", "pytest", "-q", *PLUGIN, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def test_cases_are_tests(folder: Path) -> None:
    """Each case is one test, and all of them pass."""
    code, out = run(folder, "--reflect-gate-policies", "policies.yaml", "rules")
    assert (code, "2 passed" in out) == (0, True), out


def test_failing_case_shows_its_trace(folder: Path) -> None:
    """A failure names the case's line, what was expected, what came out and what fired; no Python traceback."""
    path = folder / "rules" / "speed.cases.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("reason: hedged", "reason: tired"), encoding="utf-8")
    code, out = run(folder, "--reflect-gate-policies", "policies.yaml", "rules")
    assert (code, "1 failed, 1 passed" in out) == (1, True), out
    assert "speed.cases.yaml:3: findings: expected `too-many` (tired)" in out
    assert "fired     speed/too-many  speed.yaml:9:" in out
    assert "Traceback" not in out


def test_broken_case_file_is_an_error(folder: Path) -> None:
    """A file that cannot be read fails the run, with its place and code."""
    path = folder / "rules" / "speed.cases.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("expect:", "expects:"), encoding="utf-8")
    code, out = run(folder, "--reflect-gate-policies", "policies.yaml", "rules")
    assert code not in {0, 5}
    assert "[policy-unknown-key]" in out


def test_without_the_option_nothing_is_collected(folder: Path) -> None:
    """The plugin is silent in projects that do not use it."""
    code, out = run(folder, "rules")
    assert (code, "no tests ran" in out) == (5, True), out


def test_loading_the_plugin_does_not_import_the_engine() -> None:
    """pytest loads every installed plugin at start: this one must cost nothing there."""
    code = "import sys, reflect_gate.pytest_plugin; print([m for m in sys.modules if m.startswith('reflect_gate.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "['reflect_gate.pytest_plugin']"


@pytest.mark.skipif(not PROJECT.is_file(), reason="runs in a checkout")
def test_entry_point_names_the_module() -> None:
    """An installation brings the plugin along, under the name of its module so that `-p` does not load it twice."""
    named = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["entry-points"]["pytest11"]
    assert list(named) == list(named.values())
    assert all(importlib.util.find_spec(module) for module in named.values())
