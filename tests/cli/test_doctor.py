"""`reflect-gate doctor` says what is broken, what to do about it, and fails only for what every evaluation needs."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reflect_gate.cli import doctor as module
from reflect_gate.cli import main
from reflect_gate.cli.doctor import Check, checks

Look = Callable[..., Check]
posix = pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")


@pytest.fixture(autouse=True)
def _own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Hooks of the developer's own are none of this.
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("REFLECT_GATE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("REFLECT_GATE_POLICIES", raising=False)


@pytest.fixture
def look() -> Look:
    """Return a function that runs the doctor and returns the one check of that name."""

    def run(name: str, policies: str | None = None) -> Check:
        (found,) = [check for check in checks(policies) if check.name == name]
        return found

    return run


def _without_durable(monkeypatch: pytest.MonkeyPatch, error: ImportError) -> None:
    real = importlib.import_module

    def fake(name: str, package: str | None = None) -> object:
        if name == "durable_rules_engine":
            raise error
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", fake)


def test_a_sound_installation_is_0(capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing here is broken, so the exit code is 0 and no line starts with `fail`."""
    assert main(["doctor"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert any(line.startswith("ok    policies") for line in lines)
    assert not any(line.startswith("fail") for line in lines)


def test_the_document_is_the_same_report(capfd: pytest.CaptureFixture[str]) -> None:
    """`--format json` is one versioned document with every check in it."""
    assert main(["doctor", "--format", "json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert (document["doctor"], document["ok"]) == (1, True)
    installation = {"python", "platform", "package", "validators", "re2", "durable engine", "policies", "inference"}
    memory = {"home", "cache", "queue", "store", "model", "hooks"}
    assert {check["name"] for check in document["checks"]} == installation | memory
    assert all(set(check) == {"name", "status", "detail", "fix"} for check in document["checks"])


def test_policies_that_do_not_load_are_1(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A broken policy never admits, so the doctor calls it broken, with its place, and still reports the rest."""
    broken = tmp_path / "policies.yaml"
    broken.write_text("policies: 1\nbundels: {}\n", encoding="utf-8")
    assert main(["doctor", "--policies", str(broken)]) == 1
    out = capfd.readouterr().out
    assert "fail  policies" in out
    assert f"{broken}:1:1" in out
    assert "cache" in out


def test_missing_policies_are_1(tmp_path: Path, look: Look) -> None:
    """A named file that is not there is no reason to use another."""
    assert look("policies", str(tmp_path / "gone.yaml")).status == "fail"


def test_the_choice_of_the_policies_is_explained(look: Look) -> None:
    """Which file, by which rule, with which digest."""
    detail = look("policies").detail
    assert "policies.yaml (shipped): bundle `" in detail
    assert "digest " in detail


def test_without_the_durable_engine_the_doctor_warns(monkeypatch: pytest.MonkeyPatch, look: Look) -> None:
    """The compiled engine alone is sound, so its lack is a warning with the command that mends it."""
    _without_durable(monkeypatch, ModuleNotFoundError("No module named 'durable_rules_engine'"))
    monkeypatch.setattr(module, "_BUILDABLE", True)
    monkeypatch.setattr(shutil, "which", lambda _name: "/usr/bin/cc")
    assert look("durable engine") == Check(
        "durable engine",
        "warn",
        "not installed: the compiled engine judges alone, without cross-check",
        "pip install durable-rules",
    )


def test_without_a_compiler_the_doctor_says_so(monkeypatch: pytest.MonkeyPatch, look: Look) -> None:
    """durable-rules is source only: where nothing can build it, the compiler comes first."""
    _without_durable(monkeypatch, ModuleNotFoundError("No module named 'durable_rules_engine'"))
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    assert look("durable engine").fix.startswith("there is no C compiler: install gcc or clang")


def test_on_a_newer_python_the_doctor_names_the_workaround(monkeypatch: pytest.MonkeyPatch, look: Look) -> None:
    """The release misses a symbol on 3.13 and later; one preprocessor flag brings it back."""
    _without_durable(monkeypatch, ImportError("undefined symbol: PyEval_CallObject"))
    monkeypatch.setattr(module, "_BUILDABLE", False)
    monkeypatch.setattr(shutil, "which", lambda _name: "/usr/bin/cc")
    found = look("durable engine")
    assert found.detail.startswith("undefined symbol: PyEval_CallObject: ")
    assert "CPPFLAGS=-DPyEval_CallObject=PyObject_CallObject pip install durable-rules" in found.fix


def test_a_check_that_raises_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong becomes one line; the checks after it still run."""
    monkeypatch.setitem(sys.modules, "re2", None)
    found = {check.name: check for check in checks()}
    assert found["re2"].status == "fail"
    assert "re2" in found["re2"].detail
    assert found["cache"].status == "ok"


def test_a_folder_that_is_made_later_is_fine(look: Look, tmp_path: Path) -> None:
    """A fresh installation has neither home nor cache, and looking does not make them."""
    assert look("home").status == "ok"
    assert not (tmp_path / "home").exists()


@posix
def test_a_home_that_others_can_read_is_a_warning(look: Look, tmp_path: Path) -> None:
    """The home folder holds what agents failed at: mode 0700."""
    (tmp_path / "home").mkdir(mode=0o755)
    found = look("home")
    assert (found.status, found.fix) == ("warn", f"chmod 700 {tmp_path / 'home'}")


@posix
def test_a_private_home_is_fine(look: Look, tmp_path: Path) -> None:
    """Mode 0700 is what is asked for."""
    (tmp_path / "home").mkdir(mode=0o700)
    assert look("home") == Check("home", "ok", f"{tmp_path / 'home'} is writable, mode 0700")


def test_a_file_in_place_of_a_folder_is_broken(look: Look, tmp_path: Path) -> None:
    """Nothing could be written there."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "reflect-gate").touch()
    assert look("cache").status == "fail"


def test_a_relative_home_is_broken(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor reports the refusal of a relative folder instead of failing with it."""
    monkeypatch.setenv("REFLECT_GATE_HOME", "here")
    found = look("home")
    assert found.status == "fail"
    assert "`REFLECT_GATE_HOME` must be an absolute path, not `here`" in found.detail
