"""What the wheel holds is what git tracks: nothing private ships, nothing is forgotten."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterable
from email.parser import HeaderParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = {
    "engine/": "",
    "store/": "",
    "rules/": "reflect_gate/_data/rules/",
    "schemas/": "reflect_gate/_data/schemas/",
    "policies.yaml": "reflect_gate/_data/policies.yaml",
}

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a git checkout")


def shipped_as(tracked: Iterable[str]) -> set[str]:
    """Return where the wheel must hold each of the tracked files that ship."""
    return {place + path.removeprefix(prefix) for path in tracked for prefix, place in PLACES.items() if path.startswith(prefix)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Return the wheel of this checkout, built by the project's own backend."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return zipfile.ZipFile(built)


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    """Return the files of the checkout that git tracks."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607 - git is found by PATH
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def contents(wheel: zipfile.ZipFile) -> set[str]:
    """Return the files of the wheel beside its metadata."""
    return {name for name in wheel.namelist() if ".dist-info/" not in name}


def metadata(wheel: zipfile.ZipFile, name: str) -> str:
    """Return one metadata file of the wheel."""
    (path,) = [entry for entry in wheel.namelist() if entry.endswith(f".dist-info/{name}")]
    return wheel.read(path).decode()


def test_nothing_untracked_ships(wheel: zipfile.ZipFile, tracked: list[str]) -> None:
    """A private rule file left in the checkout must not reach a user; a new file of the project must be added to git first."""
    assert contents(wheel) - shipped_as(tracked) == set()


def test_every_tracked_file_of_the_packages_ships(wheel: zipfile.ZipFile, tracked: list[str]) -> None:
    """A rule, schema or module that git knows is in the wheel, the policies file too."""
    expected = shipped_as(tracked)
    assert "reflect_gate/_data/policies.yaml" in expected
    assert expected - contents(wheel) == set()


def test_the_wheel_takes_two_import_names(wheel: zipfile.ZipFile) -> None:
    """`engine`, `store`, `rules` and `tests` are folders of the checkout, never packages of a user's environment."""
    assert {name.partition("/")[0] for name in contents(wheel)} == {"reflect_gate", "reflect_store"}


def test_both_packages_are_typed(wheel: zipfile.ZipFile) -> None:
    """Type checkers of users read our annotations (PEP 561)."""
    assert {"reflect_gate/py.typed", "reflect_store/py.typed"} <= contents(wheel)


def test_the_script_runs_the_command_line(wheel: zipfile.ZipFile) -> None:
    """The one script is `reflect-gate`."""
    assert metadata(wheel, "entry_points.txt").split("\n")[:2] == ["[console_scripts]", "reflect-gate = reflect_gate.cli:entry"]


def test_the_metadata_names_the_project(wheel: zipfile.ZipFile) -> None:
    """Name, licence and Python versions are the published ones, and the licence travels with the code."""
    headers = HeaderParser().parsestr(metadata(wheel, "METADATA"))
    assert (headers["Name"], headers["License-Expression"], headers["Requires-Python"]) == (
        "reflect-gate",
        "Apache-2.0",
        ">=3.11",
    )
    assert metadata(wheel, "licenses/LICENSE") == (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_durable_rules_is_not_asked_for_where_it_does_not_import(wheel: zipfile.ZipFile) -> None:
    """Its release fails to import on Python 3.13: there an installation must succeed without it."""
    headers = HeaderParser().parsestr(metadata(wheel, "METADATA"))
    (line,) = [line for line in headers.get_all("Requires-Dist", []) if line.startswith("durable-rules")]
    assert line.endswith("; python_version < '3.13'")
