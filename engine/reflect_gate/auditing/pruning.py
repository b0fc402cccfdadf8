"""A memory file without the entries that the rules would remove: a proposal, as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from ..errors import ReflectGateError
from .entries import Entry, Memory, Step
from .measuring import secret_spans

__all__ = ["REDACTED", "pruned", "without_secrets"]

REDACTED: Final = "[secret redacted]"
_INDENT: Final = re.compile(r"[\[{]\r?\n([ \t]+)")
_BOM: Final = "\ufeff"


def pruned(memory: Memory, removed: Iterable[Entry]) -> str:
    """Return the text of a memory without some of its entries; what is kept of Markdown and of JSON lines keeps its bytes.

    A JSON document is written anew, with its indentation.

    Raises:
        ReflectGateError: `audit-fix` for a database, which is never written.
    """
    gone = list(removed)
    if memory.kind == "claude-mem":
        raise ReflectGateError("audit-fix", "a database is only read, so no pruned file can be proposed")
    if not gone:
        return memory.text
    if memory.kind == "markdown":
        return _without_lines(memory.text, gone)
    if memory.kind == "jsonl":
        return _without_records(memory.text, gone)
    mark = _BOM if memory.text.startswith(_BOM) else ""
    plain = memory.text.removeprefix(_BOM)
    end = "\n" if plain.endswith("\n") else ""
    return mark + _dumped(_without(json.loads(plain), [entry.path for entry in gone]), plain) + end


def _without_lines(text: str, gone: Sequence[Entry]) -> str:
    lines = text.split("\n")
    dropped = {number for entry in gone for number in range(entry.line - 1, entry.end_line)}
    kept: list[str] = []
    closing = False
    for number, line in enumerate(lines):
        if number in dropped:
            closing = True
        elif closing and not line.strip() and (not kept or not kept[-1].strip()) and number < len(lines) - 1:
            # An entry goes with one of the two empty lines around it.
            closing = False
        else:
            kept.append(line)
            closing = closing and not line.strip()
    # So does the last one, with the empty line before it.
    if closing and len(kept) > 1 and not kept[-1] and not kept[-2].strip():
        del kept[-2]
    return "\n".join(kept)


def _without_records(text: str, gone: Sequence[Entry]) -> str:
    lines = text.split("\n")
    by_line: dict[int, list[tuple[Step, ...]]] = {}
    for entry in gone:
        by_line.setdefault(entry.line, []).append(entry.path)
    for number, paths in by_line.items():
        line = lines[number - 1].removeprefix(_BOM)
        rest = _without(json.loads(line), paths) if all(paths) else None
        lines[number - 1] = "" if rest is None or _hollow(rest) else json.dumps(rest, ensure_ascii=False)
    return "\n".join(line for number, line in enumerate(lines, 1) if line or number not in by_line)


def _hollow(document: Any) -> bool:
    """Return whether a record says nothing any more."""
    return not document or (isinstance(document, dict) and document.get("observations") == [])


def _without(document: Any, paths: Iterable[tuple[Step, ...]]) -> Any:
    """Return a document without what the paths lead to; from the last to the first, so that no index moves."""
    for path in sorted(paths, key=lambda path: [(isinstance(step, int), step) for step in path], reverse=True):
        if not path:
            return None
        holder = document
        for step in path[:-1]:
            holder = holder[step]
        del holder[path[-1]]
    return document


def _dumped(document: Any, like: str) -> str:
    indent = _INDENT.match(like)
    if indent:
        return json.dumps(document, ensure_ascii=False, indent=indent[1])
    tight = '":"' in like or '","' in like
    return json.dumps(document, ensure_ascii=False, separators=(",", ":") if tight else None)


def without_secrets(text: str) -> str:
    """Return a text that may be printed: each secret is a marker."""
    pieces, at = [], 0
    for start, end in secret_spans(text):
        if start >= at:
            pieces += [text[at:start], REDACTED]
        at = max(at, end)
    return "".join([*pieces, text[at:]])
