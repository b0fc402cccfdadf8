"""Runs of agents and reports of tests, by the readers of `hooks.transcripts`: failures with their evidence, and no candidate.

A failure is a command that failed, as `hooks.terminations` finds it: `resolved` where the same command passed later in the run,
else `escalated`. That is an executed outcome, but of what was done after the failure, not of a reflection. How the run as a whole
ended is only what the harness says of itself; it stands in the provenance.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from ...config import Limits
from ...documents import read_ndjson
from ...errors import ReflectGateError, Source
from ...hooks.dialects._fields import field, line
from ...hooks.event import Payload
from ...hooks.terminations import Session, terminations
from ...hooks.transcripts import Evidence, Format, Transcript, junit, openhands, read_transcript
from ...hooks.transcripts._records import MOST_DOCUMENT, records
from ...measure._pattern import Pattern
from ...stages._record import CONTEXT_KEYS, assemble
from .faults import broken_lines, document_fault, report_fault
from .groups import file_name, of_name, of_text
from .record import Found, Later, bad, corpus_record
from .rows import opened

__all__ = ["EVALUATIONS", "evaluates", "read_evaluations", "read_report", "read_run"]

EVALUATIONS: Final = "openhands-eval"

_MOST_ENTRIES: Final = 20_000
_FIRST: Final = 50
_DIGITS: Final = 16
_INSTANCE: Final = (("instance_id",), ("info", "instance_id"))
_INSTANCE_NAME: Final = Pattern(r"^[\w.-]+__[\w.-]+-\d+$")
_REPORTS: Final = (("test_result", "report", "resolved"), ("report", "resolved"))
_ENDED: Final = (("info", "exit_status"), ("extra", "exit_status"))


def read_run(format_: Format) -> Callable[[str], Iterator[Found]]:
    """Return a reader of a run that the given format tells of: a file, or the folder of its events."""

    def read(path: str) -> Iterator[Found]:
        yield from broken_lines(path)
        first = list(islice(records(path), _FIRST))
        if not any(format_.claims(record) for record in first):
            yield 0, _unread(path, format_.name)
            return
        run = read_transcript(path, most=_MOST_ENTRIES)
        yield from _of_run(run, path, format_.name, first)

    return read


def _of_run(run: Transcript, path: str, importer: str, first: list[Payload]) -> Iterator[Found]:
    if run.format != importer:
        yield 0, bad(f"holds a run of `{run.format or 'no known format'}`, not of `{importer}`", path)
        return
    ended = next((said for record in first for way in _ENDED if (said := line(record, *way))), "")
    told = {"importer": importer, "source": Path(path).name, "ended": ended}
    yield from _failures(run, Source(path), _group(first, run.entries, path), told)


def _failures(run: Transcript, place: Source, group: str, told: dict[str, Any]) -> Iterator[Found]:
    if run.forgotten:
        most = f"it has more than {_MOST_ENTRIES}"
        yield place.line, bad(f"the first {run.forgotten} entries of this run are not read: {most}", place.file, place.line)
    name = _fingerprint(group, run.entries)
    for termination in terminations(run.entries, Session(told["importer"], name), over=True, first_seq=run.forgotten):
        yield place.line, _record(termination, group, told, name)


def read_evaluations(path: str) -> Iterator[Found]:
    """Yield the failures of the runs of an evaluation by OpenHands: a line an instance, with its events and its report."""
    with opened(path) as stream:
        for number, row in read_ndjson(stream, path, Limits(request_bytes=MOST_DOCUMENT)):
            place = Source(path, number)
            if isinstance(row, ReflectGateError):
                yield number, row
            elif not isinstance(row, dict) or not evaluates(row) or not line(row, "instance_id"):
                yield number, bad("no instance of an evaluation, which has `instance_id` and `history`", path, number)
            else:
                kept: deque[Evidence] = deque(maxlen=_MOST_ENTRIES)
                count = 0
                for entry in openhands.read(_events(row["history"])):
                    kept.append(entry)
                    count += 1
                told = {"importer": EVALUATIONS, "source": Path(path).name, "ended": _report(row)}
                run = Transcript(openhands.FORMAT.name, tuple(kept), count - len(kept))
                yield from _failures(run, place, of_name(line(row, "instance_id")), told)


def evaluates(document: object) -> bool:
    """Return whether an object is an instance of an evaluation by OpenHands."""
    return isinstance(document, dict) and "instance_id" in document and isinstance(document.get("history"), list)


def _events(history: list[object]) -> Iterator[Payload]:
    """Yield the events of a history; older ones hold pairs of an action and its observation."""
    for entry in history:
        for event in entry if isinstance(entry, list) else [entry]:
            if isinstance(event, dict):
                yield event


def _report(row: dict[str, Any]) -> str:
    resolved = next((said for way in _REPORTS if isinstance(said := field(row, *way), bool)), None)
    return "" if resolved is None else "resolved" if resolved else "not resolved"


def read_report(path: str) -> Iterator[Found]:
    """Yield a record a failed test of a JUnit report; what other tests said is no evidence of its failure."""
    fault, count = report_fault(path), 0
    if fault is not None:
        yield fault.source.line if fault.source else 0, fault
    for case in records(path):
        count += 1
        for entry in junit.read([case]):
            told = {"importer": junit.FORMAT.name, "source": Path(path).name}
            session = Session(junit.FORMAT.name, file_name(path))
            for termination in terminations([entry], session, over=True):
                yield 0, _record(termination, of_name(entry.action or file_name(path)), told)
    if not count and fault is None:
        yield 0, _unread(path, junit.FORMAT.name)


def _record(termination: dict[str, Any], group: str, told: dict[str, Any], session: str = "") -> dict[str, Any]:
    evidence = {key: value for key, value in termination.items() if key not in CONTEXT_KEYS}
    project = {key: value for key in ("repository", "language", "commit") if (value := termination.get(key))}
    request = {"record": assemble(evidence), "project": {**project, "task": group, **({"session": session} if session else {})}}
    resolved = termination["outcome"] == "resolved"
    later = Later(False, True, "executed", "same_run", basis="the same command passed") if resolved else Later(before=False)
    return corpus_record(request, group=group, later=later, provenance=told)


def _group(first: list[Payload], entries: tuple[Evidence, ...], path: str) -> str:
    named = next((said for record in first for way in _INSTANCE if (said := line(record, *way))), "")
    prompt = next((entry.text for entry in entries if entry.kind == "user"), "")
    if named or _INSTANCE_NAME.search(file_name(path)):
        return of_name(named or file_name(path))
    return of_text("prompt", prompt) if prompt else of_name(file_name(path))


def _fingerprint(group: str, entries: tuple[Evidence, ...]) -> str:
    """Return a name for a run that follows from what happened in it: the same file under another name is the same run."""
    digest = hashlib.sha256(f"{group}\0".encode("utf-8", "surrogatepass"))
    for entry in entries:
        digest.update(f"{entry.kind}\0{entry.action}\0{entry.text}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:_DIGITS]


def _unread(path: str, name: str) -> ReflectGateError:
    return document_fault(path) or ReflectGateError("corpus-nothing-read", f"holds nothing that `{name}` reads", Source(path))
