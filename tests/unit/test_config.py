"""Which folders and which policies are used, and that a repository cannot slip in its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reflect_gate.config import cache_dir, choose_policies, home_dir
from reflect_gate.errors import ReflectGateError
from reflect_gate.resources import data_root

VARIABLES = ("REFLECT_GATE_HOME", "REFLECT_GATE_CACHE", "REFLECT_GATE_POLICIES", "XDG_CACHE_HOME")


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Start with no variable set and with a user's home of the test's own; return that home."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    return tmp_path


def test_the_home_folder_is_hidden_in_the_users_home(clean: Path) -> None:
    """Lessons lie beside the other settings of the user, not in a project."""
    assert home_dir() == clean / ".reflect-gate"


def test_the_home_folder_can_be_named(monkeypatch: pytest.MonkeyPatch, clean: Path) -> None:
    """`REFLECT_GATE_HOME` wins, and `~` is expanded."""
    monkeypatch.setenv("REFLECT_GATE_HOME", "~/gate")
    assert home_dir() == clean / "gate"


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch, clean: Path) -> None:
    """A hook that exports an empty variable does not move the home to the working directory."""
    monkeypatch.setenv("REFLECT_GATE_HOME", "")
    assert home_dir() == clean / ".reflect-gate"


@pytest.mark.parametrize("variable", ["REFLECT_GATE_HOME", "REFLECT_GATE_CACHE", "REFLECT_GATE_POLICIES"])
def test_a_relative_path_is_refused(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """A path relative to the working directory would let a repository bring its own; the error names variable and value."""
    monkeypatch.setenv(variable, "conf/here")
    with pytest.raises(ReflectGateError, match=f"`{variable}` must be an absolute path, not `conf/here`") as caught:
        (cache_dir if variable == "REFLECT_GATE_CACHE" else choose_policies)()
    assert caught.value.code == "config-relative"


def test_the_cache_can_be_named(monkeypatch: pytest.MonkeyPatch, clean: Path) -> None:
    """Our folder lies under the named one, which may be shared."""
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(clean / "cache"))
    assert cache_dir() == clean / "cache" / "reflect-gate"


@pytest.mark.skipif(sys.platform in {"darwin", "win32"}, reason="XDG folders are a Linux habit")
@pytest.mark.parametrize(("given", "expected"), [("", ".cache"), ("relative", ".cache"), ("{home}/xdg", "xdg")])
def test_the_cache_follows_xdg(monkeypatch: pytest.MonkeyPatch, clean: Path, given: str, expected: str) -> None:
    """`XDG_CACHE_HOME` where it is absolute, as its specification says."""
    monkeypatch.setenv("XDG_CACHE_HOME", given.format(home=clean))
    assert cache_dir() == clean / expected / "reflect-gate"


def test_the_option_wins(monkeypatch: pytest.MonkeyPatch, clean: Path) -> None:
    """`--policies` comes before everything else, relative or not, there or not."""
    monkeypatch.setenv("REFLECT_GATE_POLICIES", str(clean / "other.yaml"))
    assert choose_policies("mine.yaml") == (Path("mine.yaml"), "--policies")


def test_the_variable_comes_second(monkeypatch: pytest.MonkeyPatch, clean: Path) -> None:
    """A file that the variable names and that is missing is not replaced by another policy."""
    (clean / ".reflect-gate").mkdir()
    (clean / ".reflect-gate" / "policies.yaml").touch()
    monkeypatch.setenv("REFLECT_GATE_POLICIES", str(clean / "missing.yaml"))
    assert choose_policies() == (clean / "missing.yaml", "REFLECT_GATE_POLICIES")


def test_the_home_folder_comes_third(clean: Path) -> None:
    """A user's own policies hold in every repository."""
    own = clean / ".reflect-gate" / "policies.yaml"
    own.parent.mkdir()
    own.touch()
    assert choose_policies() == (own, "home folder")


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need a privilege there")
def test_a_broken_link_in_the_home_folder_is_not_passed_over(clean: Path) -> None:
    """Policies that were meant to hold but cannot be read are an error later, never a silent return to the shipped ones."""
    own = clean / ".reflect-gate" / "policies.yaml"
    own.parent.mkdir()
    own.symlink_to(clean / "gone.yaml")
    assert choose_policies().path == own


def test_the_shipped_file_comes_last() -> None:
    """Without any choice of the user's, the policies of the package hold."""
    assert choose_policies() == (data_root() / "policies.yaml", "shipped")


def test_the_working_directory_is_never_looked_at(monkeypatch: pytest.MonkeyPatch, clean: Path) -> None:
    """A repository must not switch off its visitor's gate."""
    visited = clean / "repository"
    visited.mkdir()
    (visited / "policies.yaml").write_text("policies: 1\n", encoding="utf-8")
    (visited / ".reflect-gate").mkdir()
    (visited / ".reflect-gate" / "policies.yaml").touch()
    monkeypatch.chdir(visited)
    assert choose_policies().chosen_by == "shipped"


def test_a_folder_stands_for_the_file_in_it(clean: Path) -> None:
    """`--policies FOLDER` is what people type."""
    assert choose_policies(clean) == (clean / "policies.yaml", "--policies")
