"""The record of an imported corpus: built here, and turned back into the request and the labels that the verbs judge by.

A record is `schemas/corpus-record.schema.json`. It keeps apart what a gate may see (termination, evidence, candidate) and what it
must not (known cause, whether it should be admitted, what came later). `request_of` returns the former, `labels_of` the latter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ...errors import ReflectGateError, Source

__all__ = [
    "SCHEMA",
    "Found",
    "Judged",
    "Kind",
    "Later",
    "Row",
    "Trial",
    "bad",
    "corpus_record",
    "failure_of",
    "is_corpus_record",
    "labels_of",
    "named_task",
    "request_of",
    "transition",
]

SCHEMA: Final = "urn:reflect-gate:schema:corpus-record:1"

Kind: TypeAlias = Literal["executed", "self_reported", "none"]
"""How the later outcome is known: a check was run, the agent or the tests that it wrote say so, or it is not known."""

Trial: TypeAlias = Literal["same_task", "same_run", "none"]
"""What came later: another attempt at the same task, the same command in the same run, or nothing that is known."""

Row: TypeAlias = Mapping[str, Any]
Found: TypeAlias = tuple[int, dict[str, Any] | ReflectGateError]
"""A line (0 where a file has none) with the record that it holds, or the error that it is."""


class Later(NamedTuple):
    """What became of the task.

    Attributes:
        before: whether the attempt passed that the candidate reflects on.
        after: whether the attempt passed that came later.
        kind: how `after` is known.
        trial: what came later.
        control: whether another attempt passed that had no reflection, where one was made.
        basis: what decided, in the words of the log.
    """

    before: bool | None = None
    after: bool | None = None
    kind: Kind = "none"
    trial: Trial = "none"
    control: bool | None = None
    basis: str = ""


class Judged(NamedTuple):
    """Whether the candidate should be admitted, and who says so; `label` is the word of a person."""

    admit: bool | None
    by: Literal["person", "construction"]
    label: str | None = None


def corpus_record(
    request: Mapping[str, Any],
    *,
    group: str,
    later: Later,
    provenance: Mapping[str, Any],
    cause: str | None = None,
    judged: Judged | None = None,
    spending: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the record of a request, or of a failure without a candidate, whose request then has no `reflection`.

    `cause` is the cause that a person named; `spending` holds `cost` (US dollars) and `tokens` of the candidate's one call.
    """
    record = request["record"]
    termination = {"failure_id": record["failure_id"], "outcome": record["outcome"]}
    document = {
        "schema": SCHEMA,
        "termination": termination | ({"project": request["project"]} if request.get("project") else {}),
        "evidence": {key: part for key, part in record.items() if key not in {"failure_id", "outcome"}},
        "candidate": request.get("reflection"),
        "known_cause": None if cause is None else {"text": cause, "by": "person"},
        "should_admit": None if judged is None else judged._asdict(),
        "outcome": later._asdict(),
        "group": group,
        "provenance": {key: value for key, value in provenance.items() if value not in {"", None}},
    }
    return {**document, "spending": dict(spending)} if spending else document


def is_corpus_record(document: object) -> bool:
    """Return whether a document says that it is a record of an imported corpus."""
    return isinstance(document, dict) and document.get("schema") == SCHEMA


def failure_of(record: Row) -> dict[str, Any]:
    """Return the failure with its evidence and nothing that was said of it: a request without a reflection."""
    termination = record["termination"]
    evidence = {"failure_id": termination["failure_id"], "outcome": termination["outcome"], **record["evidence"]}
    return {"record": evidence, **({"project": termination["project"]} if "project" in termination else {})}


def request_of(record: Row) -> dict[str, Any] | None:
    """Return the request that a gate judges, `None` where the record holds no candidate."""
    return None if record["candidate"] is None else {**failure_of(record), "reflection": record["candidate"]}


def named_task(record: Row) -> str:
    """Return the task as the log names it, else the failure's id; near-identical tasks share a `group`, not this."""
    termination = record["termination"]
    task: str = termination.get("project", {}).get("task") or termination["failure_id"]
    return task


def labels_of(record: Row) -> dict[str, Any]:
    """Return what is known beyond the request, as a line of a labels file: `corpus labels` writes the same, and no `group`."""
    outcome, judged = record["outcome"], record["should_admit"] or {}
    line = {
        "id": record["termination"]["failure_id"],
        "task": named_task(record),
        "group": record["group"],
        "before": outcome["before"],
        "after": outcome["after"],
        **record.get("spending", {}),
    }
    return {**line, "label": judged["label"]} if judged.get("label") else line


def transition(record: Row) -> str | None:
    """Return `fail->pass` and its like, `None` where either outcome is not known."""
    before, after = record["outcome"]["before"], record["outcome"]["after"]
    return None if before is None or after is None else f"{_word(before)}->{_word(after)}"


def _word(passed: bool) -> str:
    return "pass" if passed else "fail"


def bad(message: str, name: str, line: int = 0) -> ReflectGateError:
    """Return the error of a place that holds no record."""
    return ReflectGateError("corpus-bad-row", message, Source(name, line))
