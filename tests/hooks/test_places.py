"""Where a session works, off the files of its checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_gate.hooks.places import Place, language_of, place_of

COMMIT = "4be1c07d" * 5


def checkout(folder: Path, url: str) -> Path:
    """Make the files of a checkout."""
    git = folder / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    (git / "refs" / "heads" / "main").write_text(f"{COMMIT}\n", "utf-8")
    (git / "config").write_text(f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {url}\n', "utf-8")
    return folder


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/shop.git",
        "git@github.com:acme/shop.git",
        "https://me:token@host/acme/shop",
        "ssh://git@host:22/acme/shop/",
    ],
)
def test_owner_and_name_without_who_may_push(url: str, tmp_path: Path) -> None:
    """Neither a user nor a token is kept of a remote's URL."""
    inside = checkout(tmp_path, url) / "src" / "deep"
    inside.mkdir(parents=True)
    assert place_of(str(inside)) == Place("acme/shop", COMMIT)


def test_a_worktree_is_its_repository(tmp_path: Path) -> None:
    """A worktree's `.git` is a file that leads to the folder with its own head, and from there to the common one."""
    main = checkout(tmp_path / "main", "git@github.com:acme/shop.git")
    own = main / ".git" / "worktrees" / "w"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("c0ffee" * 6, "utf-8")
    (own / "commondir").write_text("../..", "utf-8")
    tree = tmp_path / "w"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {own}\n", "utf-8")
    assert place_of(str(tree)) == Place("acme/shop", "c0ffee" * 6)


@pytest.mark.parametrize("folder", ["", "/nowhere/at/all", "/x\0y", "."])
def test_a_folder_of_no_checkout_is_nowhere(folder: str) -> None:
    """What cannot be read says nothing, and nothing is raised."""
    assert place_of(folder) == Place()


def test_a_checkout_without_a_remote_has_its_folders_name(tmp_path: Path) -> None:
    """And a damaged head no commit."""
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_bytes(b"\xff\xfe")
    (folder / ".git" / "config").write_text("", "utf-8")
    assert place_of(str(folder)) == Place("shop", "")


def test_the_language_of_most_files() -> None:
    """Files of no language do not count."""
    assert language_of(["a.py", "b.go", "c.go", "README", "x.unknown"]) == "go"
    assert language_of(["README"]) == ""
