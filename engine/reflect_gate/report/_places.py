"""Places in files as reports of other tools want them: relative paths, and annotations of GitHub workflows."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import Source
from ._safe import plain

__all__ = ["annotation", "escaped", "place", "relative"]


def relative(file: str) -> str:
    """Return the path as seen from the working directory where it lies in it, with `/` between its parts."""
    path = Path(file)
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return path.as_posix().replace(os.sep, "/")


def place(source: Source) -> str:
    """Return a place as `file:line:column`, the file as seen from the working directory."""
    return str(Source(relative(source.file), source.line, source.column))


def annotation(level: str, source: Source, title: str, message: str) -> str:
    """Return a workflow command that shows `message` beside a line; `level` is `error` or `warning`."""
    properties = {"file": relative(source.file), "line": str(source.line or 1), "title": title}
    head = ",".join(f"{key}={escaped(value, of_property=True)}" for key, value in properties.items())
    return f"::{level} {head}::{escaped(message)}"


def escaped(text: str, *, of_property: bool = False) -> str:
    """Return text as it stands in a workflow command."""
    signs = {"%": "%25", "\r": "%0D", "\n": "%0A"} | ({":": "%3A", ",": "%2C"} if of_property else {})
    return plain("".join(signs.get(sign, sign) for sign in text))
