"""Changing files of the author: whole or not at all, and as a diff where nothing is to be written."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from ..errors import ReflectGateError
from ..report._places import relative
from ..report._safe import plain

__all__ = ["diff_text", "write_text"]


def write_text(path: Path, text: str) -> None:
    """Write a file whole, with the permissions that it had; `cannot-write` where that fails."""
    target = path.resolve()
    draft = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(text.encode("utf-8"))
        if target.exists():
            draft.chmod(target.stat().st_mode & 0o7777)
        draft.replace(target)
    except OSError as error:
        raise ReflectGateError("cannot-write", f"cannot write `{path}`: {(error.strerror or '').lower()}") from None
    finally:
        draft.unlink(missing_ok=True)


def diff_text(file: str, before: str, after: str) -> str:
    """Return the change as a unified diff, safe to print."""
    name = relative(file).lstrip("/")
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{name}", f"b/{name}")
    return plain("".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines))
