"""What differs in the text of the two bundles' files."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..policy.build import lexicon_files, ruleset_folder
from .sides import Side

__all__ = ["FileChange", "file_changes"]


class FileChange(NamedTuple):
    """A file of either side that differs: its lines of a unified diff, and how many were added and removed."""

    path: str
    added: int
    removed: int
    lines: tuple[str, ...]


def file_changes(before: Side, after: Side) -> list[FileChange]:
    """Return what differs in the policies files, the rule sets that the bundles name, and the lexicons; none of one same file."""
    was, now = _files(before), _files(after)
    found = []
    for name in sorted(was.keys() | now.keys()):
        first, second = was.get(name), now.get(name)
        if first == second:
            continue
        old, new = _lines(first), _lines(second)
        if old == new:
            continue
        lines = tuple(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", lineterm=""))
        body = lines[2:]
        added, removed = (sum(line.startswith(sign) for line in body) for sign in "+-")
        found.append(FileChange(name, added, removed, lines))
    return found


def _files(side: Side) -> dict[str, Path]:
    folder = ruleset_folder(side.parts.policies)
    found = {"policies.yaml": side.request.policies}
    found |= {f"rules/{name}.yaml": folder / f"{name}.yaml" for name in side.parts.rulesets}
    return found | {f"lexicons/{path.name}": path for path in lexicon_files(side.parts.policies)[1]}


def _lines(path: Path | None) -> list[str]:
    return [] if path is None else list(_read(path))


def _read(path: Path) -> Iterator[str]:
    # The loader has read the file before, as UTF-8.
    yield from path.read_text(encoding="utf-8").splitlines()
