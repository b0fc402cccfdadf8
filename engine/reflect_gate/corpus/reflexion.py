"""Logged free-text reflections of the Reflexion kind, one JSON object a row, as evaluation requests.

Fields that are read: `id`, `lang`, `task_id`, `task_prompt`, `failed_attempt`, `feedback` (`Tested passed:` and `Tests failed:`
with one check a line) and `reflection_text`. What came later (`next_attempt`, `next_feedback`, outcomes before and after,
whether the chain ended well) is never looked at by `convert`; `labels` returns it apart, for scoring.

- The record ends `escalated`: the attempt's own termination was a failure, and what followed is the label.
- Traces: the task statement (`prompt`, kind `spec`), the attempt (`attempt`, kind `code`), each check (`test-<n>`, kind
  `test_output`). A statement alone is not a trace: without attempt and checks the record has none, and the gate calls it
  incomplete.
- A check is trusted as `repeats_example` where the statement gives the same call the same value and no other, else
  `self_written`.
- `confidence` is 0.5, which means "not stated": these texts carry no number.
- `scope` is the task and language, and the error class where an exception was logged.
- The session is the run (`source`, `model`, `strategy`, `run`) over the task, where `run` is told: its trials are no independent
  failures, and those of another run are.
- The reflection's fields are read from its sentences as `_reading` documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from ..stages._record import assemble
from ..types import FailureError, Item, Record
from ._checks import Check, examples, oracle, parse_feedback
from ._reading import Evidence, read_reflection
from ._rows import CONFIDENCE_NOT_STATED, ITEM_TEXT_LIMIT, needed, project, text

__all__ = ["Labels", "Request", "convert", "labels"]

Request = dict[str, Any]
"""A request object, as `schemas/request.schema.json` has it."""

CHECK_LIMIT = 1_900
"""Checks of one row; the request allows 2,000 items in all."""


class Labels(TypedDict):
    """What is known of a row beyond its request, for scoring: whether the attempt before and after it passed the hidden tests."""

    id: str
    transition: str | None
    before: bool | None
    after: bool | None


def labels(row: Mapping[str, object]) -> Labels:
    """Return the labels of a row; they join a report by `id`, which is the request's `failure_id`."""
    transition, before, after = row.get("transition"), row.get("before_outcome"), row.get("next_outcome")
    return {
        "id": str(row["id"]),
        "transition": transition if isinstance(transition, str) else None,
        "before": before if isinstance(before, bool) else None,
        "after": after if isinstance(after, bool) else None,
    }


def convert(row: Mapping[str, object]) -> Request:
    """Return the request of a row; `corpus-bad-row` where a field that is needed is missing or blank."""
    failure_id, reflection = needed(row, "id"), needed(row, "reflection_text")
    statement, attempt = text(row, "task_prompt"), text(row, "failed_attempt")
    checks = parse_feedback(text(row, "feedback"))[:CHECK_LIMIT]
    record = _record(failure_id, statement, attempt, checks)
    language, task = text(row, "lang"), text(row, "task_id")
    request: Request = {"record": record, "reflection": _reflection(reflection, record, checks, _scope(task, language, checks))}
    place = project(row, task, language)
    return {**request, "project": place} if place else request


def _record(failure_id: str, statement: str, attempt: str, checks: list[Check]) -> Record:
    traces: list[dict[str, object]] = []
    if attempt.strip() or checks:
        if statement.strip():
            traces.append({"id": "prompt", "component": 11, "kind": "spec", "text": statement[:ITEM_TEXT_LIMIT]})
        if attempt.strip():
            traces.append({"id": "attempt", "component": 11, "kind": "code", "text": attempt[:ITEM_TEXT_LIMIT]})
        known = examples(statement)
        traces.extend(_check_item(number, check, oracle(check, known)) for number, check in enumerate(checks, 1))
    error = _error(checks)
    termination = {"failure_id": failure_id, "outcome": "escalated", "traces": traces}
    return assemble({**termination, "error": error} if error else termination)


def _error(checks: list[Check]) -> FailureError | None:
    """The exception that the first failing check logged in place of a value."""
    first = next((check for check in checks if not check.passed), None)
    if first is None or not first.error_class:
        return None
    return {"class": first.error_class, "message": (first.output or "").strip(), "site": first.name}


def _check_item(number: int, check: Check, trust: str) -> dict[str, object]:
    item: dict[str, object] = {
        "id": f"test-{number}",
        "component": 12,
        "kind": "test_output",
        "text": check.text[:ITEM_TEXT_LIMIT],
        "oracle": trust,
        "passed": check.passed,
    }
    if check.call and check.expected:
        item["expected"] = check.expected
        if check.actual is not None:
            item["actual"] = check.actual[:ITEM_TEXT_LIMIT]
    if check.error_class:
        item["error_class"] = check.error_class
    return item


def _scope(task: str, language: str, checks: list[Check]) -> str:
    error = next((check.error_class for check in checks if check.error_class), "")
    terms = (("task", task), ("lang", language), ("error", error))
    return " ".join(f"{name}:{'-'.join(value.split())}" for name, value in terms if value)


def _evidence(record: Record, checks: list[Check]) -> Evidence:
    traces: dict[str, Item] = {item["id"]: item for item in record["traces"]}
    return Evidence(
        order=tuple(traces),
        statement="prompt" if "prompt" in traces else "",
        attempt="attempt" if "attempt" in traces else "",
        attempt_text=traces["attempt"]["text"] if "attempt" in traces else "",
        checks=tuple((f"test-{number}", check) for number, check in enumerate(checks, 1)),
    )


def _reflection(said: str, record: Record, checks: list[Check], scope: str) -> dict[str, object]:
    reading = read_reflection(said, _evidence(record, checks))
    return {
        "outcome": "escalated",
        **reading.fields,
        "evidence_ids": list(reading.cited),
        "counterfactual": reading.counterfactual,
        "candidate_lesson": reading.lesson,
        "scope": scope,
        "confidence": CONFIDENCE_NOT_STATED,
    }
