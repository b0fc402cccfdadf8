"""Logged reflections on a wrong answer to an exam question, one JSON object a row, as evaluation requests.

Fields that are read: `id`, `task_id`, `task_prompt` (the question), `failed_attempt` (the working), `feedback` (`answered A;
correct answer C`) and `reflection_text`. The outcome of a second answer is never looked at.

- Traces: the question (`prompt`, kind `spec`), the working (`attempt`, kind `plan`), the marking (`answer`, kind `test_output`,
  authoritative, failed), with the letters as expected and actual value.
- The reflection's fields are read from its sentences as `_reading` documents; where none of them is a claim, the whole text is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..measure._pattern import Pattern
from ..stages._record import assemble
from ._reading import FIELD_LIMIT, Evidence, read_reflection
from ._rows import CONFIDENCE_NOT_STATED, ITEM_TEXT_LIMIT, needed, project, text

__all__ = ["convert", "reflection_on"]

_MARKED = Pattern(r"^answered (?P<given>\S+); correct answer (?P<right>\S+)")
_FIELDS = ("failed_assumption", "overlooked_evidence", "strategy_error", "violated_invariant")


def convert(row: Mapping[str, object]) -> dict[str, Any]:
    """Return the request of a row; `corpus-bad-row` where a field that is needed is missing or blank."""
    failure_id, said = needed(row, "id"), needed(row, "reflection_text")
    traces = _traces(row)
    record = assemble({"failure_id": failure_id, "outcome": "escalated", "traces": traces})
    task = "-".join(text(row, "task_id").split())
    request = {"record": record, "reflection": reflection_on(said, traces, f"task:{task}" if task else "")}
    place = project(row, task)
    return {**request, "project": place} if place else request


def _traces(row: Mapping[str, object]) -> list[dict[str, object]]:
    question, working, marking = text(row, "task_prompt"), text(row, "failed_attempt"), text(row, "feedback")
    traces: list[dict[str, object]] = []
    if question.strip():
        traces.append({"id": "prompt", "component": 11, "kind": "spec", "text": question[:ITEM_TEXT_LIMIT]})
    if working.strip():
        traces.append({"id": "attempt", "component": 11, "kind": "plan", "text": working[:ITEM_TEXT_LIMIT]})
    if marking.strip():
        traces.append(_marking(marking))
    return traces


def _marking(marking: str) -> dict[str, object]:
    item: dict[str, object] = {
        "id": "answer",
        "component": 12,
        "kind": "test_output",
        "text": marking[:ITEM_TEXT_LIMIT],
        "oracle": "authoritative",
        "passed": False,
    }
    found = _MARKED.search(marking)
    return {**item, "expected": found.group("right"), "actual": found.group("given")} if found else item


def reflection_on(said: str, traces: list[dict[str, object]], scope: str) -> dict[str, object]:
    """Return a text as a reflection on traces that may hold `prompt`, `attempt` and `answer`."""
    held = {str(item["id"]): str(item["text"]) for item in traces}
    evidence = Evidence(
        order=tuple(held),
        statement="prompt" if "prompt" in held else "",
        attempt="attempt" if "attempt" in held else "",
        attempt_text=held.get("attempt", ""),
        checks=(),
    )
    reading = read_reflection(said, evidence)
    whole = {**dict.fromkeys(_FIELDS, ""), "strategy_error": said[:FIELD_LIMIT]}
    fields = reading.fields if any(reading.fields.values()) else whole
    return {
        "outcome": "escalated",
        **fields,
        # The marking is what every reflection of this kind answers to, whether or not it says so.
        "evidence_ids": list(dict.fromkeys([*reading.cited, *[name for name in held if name == "answer"]])),
        "counterfactual": reading.counterfactual,
        "candidate_lesson": reading.lesson or said,
        "scope": scope,
        "confidence": CONFIDENCE_NOT_STATED,
    }
