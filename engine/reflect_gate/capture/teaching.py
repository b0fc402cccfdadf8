"""A lesson in a person's own words: stored at once, without a model (R-t2).

The statement is its own evidence, an item of component `user`. What the gate asks of a model's candidate is not asked of a
person: grounding, calibration and admission say nothing here, and what calibration would have said is shown as a warning.
Poisoning is asked in any case, since whoever pastes a text need not have written it. A statement is never merged into a lesson
of other words.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from ..errors import ReflectGateError, Source
from ..memory.applying import apply, candidate_of, decision_of
from .route import bundle_of

if TYPE_CHECKING:
    from pathlib import Path

    from reflect_store import Store

    from ..policy import Bundle

__all__ = ["TAGS", "Remark", "Taught", "teach"]

Taken: TypeAlias = Literal["stored", "known", "refused"]

TAGS: Final = ("reflexion", "trigger:manual", "user-supplied")
"""The tags of every manual lesson."""

_MOST_TAGS: Final = 8
_LONGEST: Final = 8_192
_ITEM: Final = "user-1"
_NAME: Final = "manual"
_SYMPTOM: Final = 512
_NOT_ASKED: Final = ("grounding", "calibration", "dedupe", "admission", "blame")
_POISONING: Final = "poisoning"


class Remark(NamedTuple):
    """What a rule says against a statement: the rule, its reason, its sentence, and which text it is about."""

    rule: str
    reason: str
    doc: str
    about: str


class Taught(NamedTuple):
    """What became of a statement; `secrets` were taken out of it, `against` is why it was refused, `warnings` hold nothing up."""

    taken: Taken
    statement: str
    lesson_id: str | None
    decision_id: str | None
    tags: tuple[str, ...]
    warnings: tuple[Remark, ...] = ()
    against: tuple[Remark, ...] = ()
    secrets: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data (`lesson` of `reflect-report.schema.json`)."""
        remarks = {name: [each._asdict() for each in getattr(self, name)] for name in ("warnings", "against")}
        return {**self._asdict(), "tags": list(self.tags), **remarks}


def teach(
    store: Store, statement: str, *, scope: str = "", tags: Sequence[str] = (), policies: str | Path | None = None
) -> Taught:
    """Store a statement as a lesson; durable on return. The same statement and scope again change nothing.

    Args:
        store: where it goes.
        statement: what is to be remembered; white space around it does not count.
        scope: where it applies, as the scope of a lesson; empty is anywhere.
        tags: beyond those of every manual lesson.
        policies: the policies file, the one in force by default.

    Raises:
        ReflectGateError: `lesson-text` where it is empty or too long, `lesson-tags`, or the policies are broken.
        StoreError: the store cannot be read or written.
    """
    from ..policy import load_bundle

    statement = statement.strip()
    every = _checked(statement, tags)
    request = _request(statement, scope.strip(), every)
    strict = load_bundle(bundle_of("15reflect"), policies=policies, enable=(_POISONING,))
    candidate = candidate_of(request, strict)
    said = candidate.request["reflection"]["candidate_lesson"]
    found = _remarks(candidate.request, strict)
    blank = Taught("refused", said, None, None, every, found["calibration"], found[_POISONING], candidate.secrets)
    if blank.against:
        return blank._replace(warnings=())
    for row in store.page("decisions", {"failure_id": request["record"]["failure_id"]}, limit=1).rows:
        return blank._replace(taken="known", lesson_id=row["lesson_id"], decision_id=row["decision_id"])
    off = [ruleset.name for ruleset in strict.rulesets if ruleset.on and ruleset.name in _NOT_ASKED]
    bundle = load_bundle(bundle_of("15reflect"), policies=policies, enable=(_POISONING,), disable=off)
    applied = apply(store, request, bundle)
    if applied.lesson_id is None:
        message = f"the policies in force keep it out: {applied.decision.reason or applied.decision.status}"
        raise ReflectGateError("lesson-refused", message, Source("lesson"))
    return blank._replace(taken="stored", lesson_id=applied.lesson_id, decision_id=applied.decision.decision_id)


def _checked(statement: str, tags: Sequence[str]) -> tuple[str, ...]:
    if not 0 < len(statement) <= _LONGEST:
        raise ReflectGateError("lesson-text", f"a lesson has 1 to {_LONGEST} characters, not {len(statement)}", Source("lesson"))
    every = tuple(dict.fromkeys((*TAGS, *(tag.strip() for tag in tags))))
    if len(every) > _MOST_TAGS or "" in every:
        message = f"a lesson takes up to {_MOST_TAGS - len(TAGS)} tags of its own, none of them empty"
        raise ReflectGateError("lesson-tags", message, Source("lesson"))
    return every


def _request(statement: str, scope: str, tags: tuple[str, ...]) -> dict[str, Any]:
    name = hashlib.sha256(json.dumps([" ".join(statement.split()), scope]).encode()).hexdigest()[:24]
    item = {"id": _ITEM, "component": "user", "kind": "user", "seq": 0, "text": statement}
    record = {
        "failure_id": f"{_NAME}-{name}",
        "outcome": "resolved",
        "traces": [item],
        "diagnosis": _diagnosis(statement, scope),
        "repair_delta": None,
        "successful_trajectory": [],
    }
    reflection = {
        "outcome": "resolved",
        "failed_assumption": "",
        "overlooked_evidence": "",
        "strategy_error": statement,
        "violated_invariant": "",
        "evidence_ids": [_ITEM],
        "counterfactual": statement,
        "candidate_lesson": statement,
        "scope": scope,
        "confidence": 1.0,
    }
    return {"record": record, "reflection": reflection, "trigger": "manual", "tags": list(tags)}


def _diagnosis(statement: str, scope: str) -> dict[str, Any]:
    """Return a diagnosis of a class of its own: a statement that quotes an error must not be taken for that failure."""
    return {
        "id": "diagnosis",
        "component": 13,
        "kind": "diagnosis",
        "seq": 1,
        "text": _NAME,
        "symptom": f"{scope} {statement}".strip()[:_SYMPTOM],
        "error_class": _NAME,
        "site": "",
        "root_cause": "unknown",
        "cited": [_ITEM],
    }


def _remarks(request: dict[str, Any], bundle: Bundle) -> dict[str, tuple[Remark, ...]]:
    """Return what poisoning and calibration say against a statement, each rule once."""
    docs = {f"{rule.ruleset}/{rule.id}": rule.doc for rule in bundle.program.rules}
    neutral = {ruleset.name: ruleset.neutral for ruleset in bundle.rulesets}
    found: dict[str, dict[str, Remark]] = {_POISONING: {}, "calibration": {}}
    for finding in decision_of(request, bundle).findings:
        name = finding["ruleset"]
        if name in found and finding["verdict"] != neutral[name]:
            rule = f"{name}/{finding['rule']}"
            found[name].setdefault(rule, Remark(rule, finding["reason"], docs.get(rule, ""), finding["about"]))
    return {name: tuple(remarks.values()) for name, remarks in found.items()}
