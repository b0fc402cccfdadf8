"""Policies as a commit has them: read from git's objects alone, so that neither the working tree nor the index is touched."""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ..errors import ReflectGateError
from .archive import MAX_FILE_BYTES, MAX_FILES
from .layout import parsed_policies, with_keys

__all__ = ["GitRef", "git_ref", "ref_files"]

_REF: Final = re.compile(r"(?P<ref>[^:\x00-\x20\\-][^:\x00-\x20\\]+):(?P<path>[^\x00-\x1f]*)")
_POLICIES: Final = "policies.yaml"
_LINKS: Final = frozenset({"120000", "160000"})
_TIMEOUT: Final = 60


class GitRef(NamedTuple):
    """A commit by any of its names, and a path from the top of the repository."""

    ref: str
    path: str


class _Blob(NamedTuple):
    mode: str
    name: str
    size: int


def git_ref(text: str) -> GitRef | None:
    """Return what `REF:path` names, `None` where `text` is nothing of that form (a drive's letter is no ref)."""
    match = _REF.fullmatch(text)
    return GitRef(match["ref"], match["path"]) if match else None


def ref_files(wanted: GitRef) -> dict[str, bytes]:
    """Return a policies file of a commit, under `policies.yaml`, and its rules and lexicons under `rules/`.

    The path is that of a policies file or of its folder. Where the file names no folders, those are the shipped ones, as for any
    policies file, unless the commit is one of shipped data itself, with rules and a vocabulary beside the file.

    Raises:
        ReflectGateError: `git-missing`, `git-ref`, `git-path`, `git-symlink`, or a fault of the policies file.
    """
    commit = _git(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{wanted.ref}^{{commit}}"], wanted, "git-ref")
    tree = _Tree(commit.decode("ascii").strip(), wanted)
    path = tree.normal(wanted.path)
    if path not in tree.listed(path):
        path = posixpath.normpath(posixpath.join(path, _POLICIES))
    text = tree.read(path)
    name = f"{wanted.ref}:{path}"
    declared = parsed_policies(text, name)
    folder = posixpath.dirname(path)
    own = not declared.rules and bool(tree.listed(posixpath.join(folder, "schemas/facts.json")))
    rules = declared.rules or ("rules" if own else "")
    lexicons = declared.lexicons or ("rules/lexicons" if own else "")
    files: dict[str, bytes] = {}
    keys = {}
    for key, said, target in (("rules", rules, "rules"), ("lexicons", lexicons, "rules/lexicons")):
        if said:
            keys[key] = target
            files |= tree.folder(tree.normal(posixpath.join(folder, said)), target)
    return {_POLICIES: with_keys(text, name, keys), **files}


class _Tree:
    def __init__(self, commit: str, wanted: GitRef) -> None:
        self._commit = commit
        self._wanted = wanted

    def normal(self, path: str) -> str:
        """Return a path from the top of the repository; one that leads out of it is refused."""
        found = posixpath.normpath(path.replace("\\", "/"))
        if found.startswith(("/", "../")) or found == "..":
            raise ReflectGateError("git-path", f"`{path}` leads out of the repository")
        return found

    def listed(self, path: str) -> Mapping[str, _Blob]:
        """Return the files at and beneath a path."""
        arguments = ["ls-tree", "-r", "-z", "-l", "--full-tree", self._commit, "--", *([path] if path != "." else [])]
        found = {}
        for line in _git(arguments, self._wanted, "git-path").decode("utf-8", "surrogateescape").split("\0"):
            head, tab, name = line.partition("\t")
            if tab:
                mode, _, object_name, size = head.split()
                found[name] = _Blob(mode, object_name, int(size) if size.isdigit() else 0)
        return found

    def read(self, path: str) -> bytes:
        """Return a file's bytes."""
        blob = self.listed(path).get(path)
        if blob is None:
            raise ReflectGateError("git-path", f"`{self._wanted.ref}` holds no `{path}`")
        return self._blob(path, blob)

    def folder(self, path: str, target: str) -> dict[str, bytes]:
        """Return the YAML files that stand in a folder, under `target`."""
        found = {}
        for name, blob in self.listed(path).items():
            if posixpath.dirname(name) == (path if path != "." else "") and name.endswith(".yaml"):
                found[f"{target}/{posixpath.basename(name)}"] = self._blob(name, blob)
        if not found or len(found) > MAX_FILES:
            raise ReflectGateError("git-path", f"`{self._wanted.ref}` holds no folder `{path}` of 1 to {MAX_FILES} YAML files")
        return found

    def _blob(self, path: str, blob: _Blob) -> bytes:
        if blob.mode in _LINKS:
            raise ReflectGateError("git-symlink", f"`{path}` in `{self._wanted.ref}` is no file but a link or a submodule")
        if blob.size > MAX_FILE_BYTES:
            raise ReflectGateError("bundle-too-large", f"`{path}` in `{self._wanted.ref}` has more than {MAX_FILE_BYTES} bytes")
        return _git(["cat-file", "blob", blob.name], self._wanted, "git-path")


def _git(arguments: Sequence[str], wanted: GitRef, code: str) -> bytes:
    program = shutil.which("git")
    if program is None:
        raise ReflectGateError("git-missing", f"`{wanted.ref}:{wanted.path}` is asked of git, which is not installed")
    # A ref is read as it is here: nothing is fetched, and no lock is taken.
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(  # noqa: S603 - no shell, a program found by name, and a ref that begins with no dash
            [program, *arguments], capture_output=True, env=environment, timeout=_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ReflectGateError("git-missing", f"git cannot be asked: {type(error).__name__}") from None
    if done.returncode:
        said = " ".join(done.stderr.decode("utf-8", "replace").split()) or "no such commit"
        raise ReflectGateError(code, f"git does not find `{wanted.ref}:{wanted.path}`: {said[:200]}")
    return done.stdout
