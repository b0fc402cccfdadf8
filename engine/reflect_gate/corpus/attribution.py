"""Failures of agents with the reason that a person gave, one JSON object a row, as evaluation requests.

Fields that are read: `id`, `task_id`, `task_prompt`, `failed_attempt` (the step that was named as the mistake), `trace_tail`
(what followed), `feedback` and `reflection_text` (the reason). A reason says why and seldom what to do: it stands as
`strategy_error` and, there being no other text, as the candidate lesson, so that the measures of form can be tried on words of
people.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..stages._record import assemble
from ._rows import CONFIDENCE_NOT_STATED, ITEM_TEXT_LIMIT, needed, project, text

__all__ = ["convert"]

_ITEMS = (
    ("prompt", "task_prompt", 11, "spec"),
    ("attempt", "failed_attempt", 11, "plan"),
    ("tail", "trace_tail", 12, "log"),
    ("answer", "feedback", 12, "test_output"),
)
"""`(item id, field, component, kind)` of what a row tells, in order."""


def convert(row: Mapping[str, object]) -> dict[str, Any]:
    """Return the request of a row; `corpus-bad-row` where a field that is needed is missing or blank."""
    failure_id, reason = needed(row, "id"), needed(row, "reflection_text")
    traces = [_item(*item, text(row, item[1])) for item in _ITEMS if text(row, item[1]).strip()]
    task = "-".join(text(row, "task_id").split())
    request = {
        "record": assemble({"failure_id": failure_id, "outcome": "escalated", "traces": traces}),
        "reflection": {
            "outcome": "escalated",
            "failed_assumption": "",
            "overlooked_evidence": "",
            "strategy_error": reason,
            "violated_invariant": "",
            "evidence_ids": [str(item["id"]) for item in traces if item["id"] != "prompt"],
            "counterfactual": "",
            "candidate_lesson": reason,
            "scope": f"task:{task}" if task else "",
            "confidence": CONFIDENCE_NOT_STATED,
        },
    }
    place = project(row, task)
    return {**request, "project": place} if place else request


def _item(name: str, field: str, component: int, kind: str, said: str) -> dict[str, object]:
    item: dict[str, object] = {"id": name, "component": component, "kind": kind, "text": said[:ITEM_TEXT_LIMIT]}
    return {**item, "oracle": "authoritative", "passed": False} if field == "feedback" else item
