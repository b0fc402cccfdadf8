"""R-x4: the development and CI environment is locked by hash, completely, and names no host."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
LOCKS = ("build.txt", "dev.txt", "bench.txt")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PINNED = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]*)==(?P<version>[^ ;]+)(?: ; (?P<marker>.+))?")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def entries(lock: str) -> list[str]:
    """Return the logical lines of a lock file: continuation lines joined, comments left out."""
    text = (ROOT / "requirements" / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    return [" ".join(line.split()) for line in text.splitlines() if line.strip() and not line.startswith("#")]


def pins(lock: str) -> Mapping[str, Requirement]:
    """Return the pinned requirements of a lock file by name."""
    found = [Requirement(entry.partition(" --hash=")[0]) for entry in entries(lock)]
    return {canonicalize_name(requirement.name): requirement for requirement in found}


def project() -> dict[str, Any]:
    """Return `pyproject.toml`."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def declared() -> list[tuple[str, str]]:
    """Return every requirement that `pyproject.toml` declares, with the lock file that must hold it."""
    document = project()
    extras = document["project"]["optional-dependencies"]
    held = [("build.txt", line) for line in document["build-system"]["requires"]]
    held += [("dev.txt", line) for line in document["project"]["dependencies"]]
    held += [("bench.txt" if extra == "bench" else "dev.txt", line) for extra, lines in extras.items() for line in lines]
    return held


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_is_pinned_and_hashed(lock: str) -> None:
    """R-x4: a name, one exact version, perhaps a marker, and at least one SHA-256; nothing else."""
    lines = entries(lock)
    assert lines
    for line in lines:
        pinned, *hashes = line.split(" --hash=")
        assert PINNED.fullmatch(pinned.strip()), line
        assert hashes, line
        assert all(HASH.fullmatch(f"--hash={value}") for value in hashes), line


@pytest.mark.parametrize("lock", LOCKS)
def test_no_line_names_a_place(lock: str) -> None:
    """R-x4: where packages come from is the installing machine's choice; the hashes decide what is accepted."""
    text = (ROOT / "requirements" / lock).read_text(encoding="utf-8")
    assert not re.search(r"://|--(?:extra-)?index|--find-links|--trusted-host|(?:^|\s)-[eifr]\s", text, re.MULTILINE)


@pytest.mark.parametrize(("lock", "line"), declared())
def test_every_declared_requirement_is_locked(lock: str, line: str) -> None:
    """R-x4: what `pyproject.toml` asks for is in the lock, at a version that satisfies it."""
    wanted = Requirement(line)
    locked = pins(lock)[canonicalize_name(wanted.name)]
    (exact,) = locked.specifier
    assert wanted.specifier.contains(Version(exact.version))


@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_serves_every_supported_python(python: str) -> None:
    """One file for 3.11 to 3.14; durable-rules is left out where it does not import."""
    marked = {name for name, pin in pins("dev.txt").items() if pin.marker and "python_full_version" in str(pin.marker)}
    assert "durable-rules" in marked
    marker = pins("dev.txt")["durable-rules"].marker
    assert marker is not None
    version = {"python_full_version": f"{python}.0", "python_version": python}
    assert marker.evaluate(version) == (python in {"3.11", "3.12"})


def test_the_locks_agree() -> None:
    """An environment made of two of the files holds one version of each package."""
    versions: dict[str, set[str]] = {}
    for lock in LOCKS:
        for name, pin in pins(lock).items():
            versions.setdefault(name, set()).add(str(pin.specifier))
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


def test_the_linters_of_the_hooks_are_the_locked_ones() -> None:
    """pre-commit runs local hooks only, so no second set of pins exists beside the lock."""
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"^ *- repo: *(\S+)", text, re.MULTILINE) == ["local"]
