"""Lessons that an agent or a person wrote down: `lessons.md` and its kin, and rows of a log of such files.

Such a lesson says seldom what it was learnt from. Its record says so: how the failure ended is not known, nothing came later, and
its evidence is at most the commit that brought the lesson in, which shows a repair and not the failure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ...auditing.markdown import entries_of, prose_of, said_of
from ...errors import ReflectGateError, Source
from ...hooks.places import place_of
from ...stages._record import assemble
from .._rows import ITEM_TEXT_LIMIT, needed, text
from ..exam import reflection_on
from .groups import file_name
from .record import Found, Later, Row, bad, corpus_record
from .rows import opened, provenance

__all__ = ["lesson_row", "read_markdown"]

_MOST_BYTES: Final = 16 << 20
_DIGITS: Final = 16


def _record(identifier: str, written: str, project: str, traces: list[dict[str, Any]], told: dict[str, Any]) -> dict[str, Any]:
    said = said_of(prose_of(written)).strip() or written
    record = assemble({"failure_id": identifier, "outcome": None, "traces": traces})
    reflection = {**reflection_on(said, [], ""), "evidence_ids": [str(item["id"]) for item in traces]}
    request = {"record": record, "reflection": reflection, "project": {"repository": project}}
    return corpus_record(request, group=project, later=Later(), provenance=told)


def lesson_row(row: Row) -> dict[str, Any]:
    """Return the record of a row of a log of lessons files: its text, and the commit that brought it in."""
    commit = text(row, "introduced_by")
    files = row.get("changed_files")
    changed = [str(file) for file in files] if isinstance(files, list) else []
    shown = "\n".join([commit, *changed]).strip()[:ITEM_TEXT_LIMIT]
    traces: list[dict[str, Any]] = [{"id": "commit", "component": 12, "kind": "log", "text": shown}] if shown else []
    return _record(
        needed(row, "id"), needed(row, "reflection_text"), needed(row, "source"), traces, provenance(row, "lessons-log")
    )


def read_markdown(path: str) -> Iterator[Found]:
    """Yield a record an entry of a Markdown file; `line` is where the entry begins."""
    with opened(path) as stream:
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        yield 0, ReflectGateError("document-size", f"more than {_MOST_BYTES} bytes", Source(path))
        return
    try:
        written = data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        yield line, ReflectGateError("document-encoding", f"not UTF-8: byte `0x{data[error.start]:02x}`", Source(path, line))
        return
    project = _project(path)
    for entry in entries_of(written):
        said = entry.text.strip()
        if not said_of(entry.prose).strip():
            yield entry.line, bad("an entry that says nothing outside its code", path, entry.line)
            continue
        # The same entry has the same id wherever it stands, so that two versions of a file repeat none.
        digest = hashlib.sha256(f"{project}\0{said}".encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
        yield entry.line, _record(f"lesson-{digest}", said, project, [], {"importer": "lessons", "source": Path(path).name})


def _project(path: str) -> str:
    """Return the project that a lessons file belongs to: its checkout's repository, else the name of the file."""
    return place_of(str(Path(path).resolve().parent)).repository or file_name(path)
