"""Where a session works, read off the files of its checkout without starting a program: repository, commit, language."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["Place", "language_of", "place_of"]

_DEPTH: Final = 64
_CONFIG: Final = 65_536
_LANGUAGES: Final = {
    ".py": "python", ".pyi": "python", ".js": "javascript", ".jsx": "javascript", ".mjs": "javascript", ".ts": "typescript",
    ".tsx": "typescript", ".go": "go", ".rs": "rust", ".java": "java", ".kt": "kotlin", ".rb": "ruby", ".php": "php", ".cs": "c#",
    ".c": "c", ".h": "c", ".cc": "c++", ".cpp": "c++", ".hpp": "c++", ".swift": "swift", ".scala": "scala", ".sh": "shell",
    ".sql": "sql", ".ex": "elixir", ".exs": "elixir", ".lua": "lua",
}  # fmt: skip


class Place(NamedTuple):
    """A repository as owner and name (else the folder's name), and the commit; empty where unknown."""

    repository: str = ""
    commit: str = ""


def place_of(folder: str) -> Place:
    """Return where a folder lies; nothing is known of one that is in no checkout, or cannot be read."""
    start = Path(folder)
    # A relative one would be read from wherever the hook happens to run.
    if not start.is_absolute():
        return Place()
    try:
        for place in [start, *start.parents][:_DEPTH]:
            found = place / ".git"
            if found.exists():
                return _checkout(place, found)
    except (OSError, ValueError, RuntimeError):
        return Place()
    return Place()


def _checkout(place: Path, git: Path) -> Place:
    if git.is_file():
        # A worktree or a submodule: the file says where its folder is.
        git = place / _head(git).removeprefix("gitdir:").strip()
    shared = git / "commondir"
    common = git / _head(shared).strip() if shared.is_file() else git
    head = _head(git / "HEAD").strip()
    if head.startswith("ref:"):
        name = head.removeprefix("ref:").strip()
        head = next((_head(root / name).strip() for root in (git, common) if (root / name).is_file()), "")
    remote = _remote(_head(common / "config"))
    return Place(remote or place.name, head if head.isalnum() else "")


def _head(file: Path) -> str:
    with file.open("rb") as stream:
        return stream.read(_CONFIG).decode("utf-8", "replace")


def _remote(config: str) -> str:
    """Return owner and name out of the first remote's URL, `origin` before others; user names and tokens stay out."""
    urls: dict[str, str] = {}
    section = ""
    for said in config.splitlines():
        line = said.strip()
        if line.startswith("["):
            section = line
        elif section.startswith("[remote") and line.replace(" ", "").startswith("url="):
            urls.setdefault(section, line.partition("=")[2].strip())
    url = urls.get('[remote "origin"]') or next(iter(urls.values()), "")
    parts = url.removesuffix("/").removesuffix(".git").replace(":", "/").split("/")
    names = [part for part in parts[-2:] if part and "@" not in part]
    return "/".join(names) if len(parts) > 2 else ""


def language_of(paths: Iterable[str]) -> str:
    """Return the language that most of the files are written in; the first of several."""
    counts: dict[str, int] = {}
    for path in paths:
        name = _LANGUAGES.get(Path(path).suffix.lower())
        if name:
            counts[name] = counts.get(name, 0) + 1
    return max(counts, key=lambda name: counts[name]) if counts else ""
