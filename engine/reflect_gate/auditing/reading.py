"""From a file to its entries: what kind of memory it is, and bounds on all of it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from ..config import Limits
from ..errors import ReflectGateError, Source
from .databases import HEADER, database_entries
from .entries import MOST_BYTES, MOST_ENTRIES, Entry, Kind, Memory
from .jsonfiles import json_entries, jsonl_entries
from .markdown import entries_of

__all__ = ["KINDS", "read_memory"]

KINDS: Final[tuple[Kind, ...]] = ("markdown", "json", "jsonl", "claude-mem")

_SUFFIXES: Final[dict[str, Kind]] = {
    ".md": "markdown",
    ".mdc": "markdown",
    ".markdown": "markdown",
    ".txt": "markdown",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_STDIN: Final = "<stdin>"


def _opened(path: str) -> BinaryIO:
    """Open a regular file; a pipe or device, which could keep a reader waiting, is refused without being read."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        number = os.open(path, flags)
    except OSError as error:
        raise ReflectGateError("cannot-read", f"cannot read `{path}`: {(error.strerror or '').lower()}") from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise ReflectGateError("cannot-read", f"cannot read `{path}`: not a regular file")
    return os.fdopen(number, "rb")


def _bytes(stream: BinaryIO, name: str, begun: bytes = b"") -> bytes:
    data = begun + stream.read(MOST_BYTES + 1 - len(begun))
    if len(data) > MOST_BYTES:
        raise ReflectGateError("document-size", f"more than {MOST_BYTES} bytes", Source(name))
    return data


def _decoded(data: bytes, name: str) -> str:
    if b"\x00" in data:
        line = data.count(b"\n", 0, data.index(b"\x00")) + 1
        raise ReflectGateError("document-encoding", "not a text: a zero byte", Source(name, line))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = f"not UTF-8: byte `0x{data[error.start]:02x}`"
        raise ReflectGateError("document-encoding", message, Source(name, line, column)) from None


def _kind(text: str, name: str) -> Kind:
    """Return what a text file is, by its name, else by how it begins."""
    kind = _SUFFIXES.get(Path(name).suffix.casefold())
    begins = text.lstrip("\ufeff \t\r\n")[:1]
    if kind is None:
        kind = "json" if begins == "{" else "markdown"
    if kind == "json" and begins == "{" and _is_lines(text):
        return "jsonl"
    return kind


def _is_lines(text: str) -> bool:
    """Return whether each of several lines looks like an object of its own, as the memory of an MCP server is kept."""
    lines = [line.strip() for line in text.lstrip("\ufeff").split("\n") if line.strip()]
    return len(lines) > 1 and all(line.startswith("{") and line.endswith("}") for line in lines)


def _bounded(entries: Iterator[Entry], name: str) -> tuple[Entry, ...]:
    found = tuple(islice((entry for entry in entries if entry.text.strip()), MOST_ENTRIES + 1))
    if len(found) > MOST_ENTRIES:
        raise ReflectGateError("audit-entries", f"more than {MOST_ENTRIES} entries", Source(name))
    return found


def _of_text(data: bytes, name: str, kind: Kind | None, limits: Limits) -> Memory:
    text = _decoded(data, name)
    chosen = kind or _kind(text, name)
    if chosen == "claude-mem":
        raise ReflectGateError("audit-schema", "not a SQLite database", Source(name))
    if chosen == "markdown":
        # A byte-order mark is no part of the first entry; a space keeps every place.
        entries = entries_of(" " + text[1:] if text.startswith("\ufeff") else text)
    else:
        entries = (json_entries if chosen == "json" else jsonl_entries)(text, name, limits)
    return Memory(name, chosen, text, _bounded(entries, name))


def read_memory(path: str, limits: Limits, kind: Kind | None = None) -> Memory:
    """Return the entries of a memory file, `-` for stdin.

    Args:
        path: the file.
        limits: those of the bundle.
        kind: what it is; told by its content and name where absent.

    Raises:
        ReflectGateError: `cannot-read`, `document-size`, `document-encoding` and what else strict JSON is refused for,
            `audit-entries` for too many, `audit-shape` and `audit-schema` where no entries are found in it.
    """
    if path == "-":
        return _of_text(_bytes(sys.stdin.buffer, _STDIN), _STDIN, kind, limits)
    with _opened(path) as stream:
        begun = stream.read(len(HEADER))
        if begun == HEADER and kind in {None, "claude-mem"}:
            return Memory(path, "claude-mem", "", _bounded(database_entries(Path(path), path), path))
        return _of_text(_bytes(stream, path, begun), path, kind, limits)
