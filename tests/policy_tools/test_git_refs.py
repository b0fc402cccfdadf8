"""Policies as a commit has them: read from git's objects, whatever the working tree holds."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest
from tests.policy_tools.test_bundles import RULES, code_of, write_team

from reflect_gate import load_bundle
from reflect_gate.errors import ReflectGateError


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose commit `HEAD` has the policies, and whose working tree has others."""
    root = write_team(tmp_path / "team").parent
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("REFLECT_GATE_REQUIRE_SIGNATURE", raising=False)
    monkeypatch.chdir(root)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    git("init", "-q")
    git("add", ".")
    commit()
    (root / "my-rules/hedging.yaml").write_text(RULES.replace("default: 2", "default: 9"))
    return root


def git(*arguments: str) -> None:
    """Run git in the working directory."""
    subprocess.run(["git", *arguments], check=True, capture_output=True)  # noqa: S607 - the git of the machine


def commit() -> None:
    """Commit what was added."""
    git("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false", "commit", "-qm", "x")


@pytest.mark.parametrize("path", ["policies.yaml", "", "."])
def test_a_git_ref_is_read_as_committed(repository: Path, path: str) -> None:
    """The commit's setting, not the working tree's; the tree and the index stay as they were."""
    before = hashlib.sha256((repository / ".git/index").read_bytes()).digest()
    assert load_bundle(policies=f"HEAD:{path}").setting("hedging.max_hedges") == 2
    assert load_bundle(policies=repository).setting("hedging.max_hedges") == 9
    assert hashlib.sha256((repository / ".git/index").read_bytes()).digest() == before


def test_a_git_ref_that_is_not_there(repository: Path) -> None:
    """No commit, no file, a path out of the repository, and a ref that would be an option."""
    assert code_of(lambda: load_bundle(policies="no-such:policies.yaml")) == "git-ref"
    assert code_of(lambda: load_bundle(policies="HEAD:other.yaml")) == "git-path"
    assert code_of(lambda: load_bundle(policies="HEAD:../policies.yaml")) == "git-path"
    with pytest.raises(ReflectGateError) as caught:
        load_bundle(policies="--upload-pack=x:policies.yaml")
    assert caught.value.code == "policy-file"
    assert repository.is_dir()


def test_a_link_in_a_git_ref(repository: Path) -> None:
    """A rule file of a commit that is a symbolic link."""
    (repository / "my-rules/hedging.yaml").unlink()
    (repository / "my-rules/hedging.yaml").symlink_to("/etc/hostname")
    git("add", ".")
    commit()
    assert code_of(lambda: load_bundle(policies="HEAD:policies.yaml")) == "git-symlink"
