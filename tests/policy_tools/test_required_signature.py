"""Where a signature is required, verbs that load the policies more than once hold each load to the archive that was named."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_gate.cli import main
from reflect_gate.cli.doctor import checks

pytest.importorskip("cryptography", reason="the extra `sign` is not installed")


@pytest.fixture
def archive(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive of the small policy, not signed yet, in force with a required signature."""
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(folder / "cache"))
    monkeypatch.setenv("REFLECT_GATE_HOME", str(folder / "home"))
    path = folder / "team.rgb"
    assert main(["policy", "bundle", "build", "--policies", str(folder), "-o", str(path)]) == 0
    assert main(["policy", "bundle", "keygen", str(folder / "team.pem")]) == 0
    monkeypatch.setenv("REFLECT_GATE_POLICIES", str(path))
    monkeypatch.setenv("REFLECT_GATE_REQUIRE_SIGNATURE", str(folder / "team.pem.pub"))
    return path


def test_a_signed_archive_can_be_checked(archive: Path, folder: Path) -> None:
    """`policy check` loads every bundle of it, and tries other orders; `doctor` finds nothing wrong with the policies."""
    assert main(["policy", "bundle", "sign", str(archive), "--key", str(folder / "team.pem")]) == 0
    assert main(["policy", "check"]) == 0
    assert main(["policy", "check", "--confluence", "--rounds", "1"]) == 0
    assert [check.status for check in checks() if check.name == "policies"] == ["ok"]


def test_what_is_not_signed_cannot(archive: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the archive without a signature, nor the folder that it was built from."""
    assert main(["policy", "check"]) == 3
    assert main(["policy", "check", str(folder)]) == 3
    assert capsys.readouterr().err.count("[bundle-unsigned]") == 2
    assert [check.status for check in checks() if check.name == "policies"] == ["fail"]
    assert archive.is_file()
