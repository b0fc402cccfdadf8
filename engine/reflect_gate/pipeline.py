"""The pipeline: measure, infer to a fixpoint, conclude, stage by stage; pure, and without a model or a clock.

`STAGES` is the whole order. `evaluate` is the public entry: a request and a bundle in, a `Decision` out. Whatever cannot be
judged raises `ReflectGateError`; nothing is admitted by an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import documents, schemas
from ._canonical import digest
from .decision import Decision, Status
from .errors import ReflectGateError
from .facts import Fact, load_vocabulary
from .infer.protocol import Session
from .policy import Bundle
from .policy.model import EncodedFact, Firing, Interner
from .runtime import Runtime, runtime
from .stages import admit, calibrate, dedupe, evidence, generalize, ground, ledger, lifecycle
from .stages._case import Case, Stage
from .stages._prepare import prepare

if TYPE_CHECKING:
    from .capture.capturing import Trigger
    from .capture.reflecting import Ran
    from .capture.route import Route
    from .capture.settings import Settings
    from .capture.working import Worker
    from .types import Record

__all__ = ["STAGES", "evaluate", "judge", "run", "start"]

STAGES: tuple[Stage, ...] = (
    evidence.STAGE,
    ledger.STAGE,
    ground.STAGE,
    generalize.STAGE,
    calibrate.STAGE,
    dedupe.STAGE,
    admit.STAGE,
    lifecycle.STAGE,
)

_STATUS: Mapping[str, Status] = {"admit": "admitted", "undecided": "undecided", "refuse": "refused"}

_OF_EVERY = frozenset(("reflexion", "user-supplied"))
"""Tags that say how a lesson came about, not what it is about."""


class _Run:
    """One evaluation: the case, its numbers, and the firings of each stage."""

    def __init__(self, case: Case, gate: Runtime) -> None:
        self.case = case
        self.gate = gate
        self.interner: Interner = gate.interner()
        self.facts: list[EncodedFact] = []
        self.firings: list[Firing] = []

    def advance(self, session: Session, stage: Stage) -> None:
        """Assert what `stage` measures, infer, and let it conclude."""
        measured = [*self._conclusion(), *stage.measure(self.case)]
        encoded = self.gate.encode(measured, self.interner)
        fired = session.advance(stage.name, encoded)
        self.facts += encoded
        self.firings += fired
        judgement = self.gate.judge(stage.name, fired, self.interner)
        self.case.judgements[stage.name] = judgement
        self.case.outputs[stage.name] = stage.conclude(self.case, judgement)

    def _conclusion(self) -> list[Fact]:
        """Return the verdict of the stage before, the only way in which one rule set hears of another."""
        if not self.case.judgements:
            return []
        name, judgement = next(reversed(self.case.judgements.items()))
        return [("conclusion", name, judgement.verdict)] if name in load_vocabulary().stages else []


def _check(request: Mapping[str, Any], bundle: Bundle) -> tuple[dict[str, Any], Record]:
    """Return the request as plain data and its prepared record, or raise every reason why it cannot be judged."""
    plain: Any = documents.plain(request, bundle.limits)
    schemas.check("request", plain, "request")
    return plain, prepare(plain["record"], bundle.limits)


def judge(case: Case, gate: Runtime, stages: Sequence[Stage] = STAGES) -> _Run:
    """Run `stages` over `case` in one inference session; a prefix of `STAGES` stops early."""
    run = _Run(case, gate)
    with gate.engine.session(case.bundle.limits) as session:
        for stage in stages:
            run.advance(session, stage)
    return run


def evaluate(request: Mapping[str, Any], bundle: Bundle, *, explain: bool = False) -> Decision:
    """Judge one evaluation request (`request.schema.json`) by `bundle`.

    Args:
        request: record, reflection, and optionally signature context, store view and project.
        bundle: the loaded policies, from `load_bundle`.
        explain: keep every firing with its bound facts in the decision.

    Returns:
        The decision; the same request and bundle give identical bytes.

    Raises:
        ReflectGateError: the request is not valid, a limit is exceeded, or the engines failed or disagreed. Nothing is admitted.
    """
    plain, record = _check(request, bundle)
    gate = runtime(bundle)
    case = Case(plain, record, bundle, gate.lexicons)
    run = judge(case, gate)
    _check_signature(plain, case.outputs["ledger"]["signature"])
    decision = _decision(run, digest(plain), explain)
    if bundle.trial is None:
        return decision
    from .shadowing import looked_on

    return decision._replace(experimental=looked_on(decision, bundle, lambda tried: _tried(plain, record, tried)))


def _tried(request: dict[str, Any], record: Record, bundle: Bundle) -> tuple[Decision, set[int]]:
    """Return what `bundle` decides of a request that has been checked, and the rules that fired."""
    gate = runtime(bundle)
    run = judge(Case(request, record, bundle, gate.lexicons), gate)
    return _decision(run, "", False), {index for index, _ in run.firings}


def _check_signature(request: Mapping[str, Any], own: str) -> None:
    given = request.get("signature_context")
    if given and given["signature"] != own:
        raise ReflectGateError(
            "signature-mismatch", f"the signature context says `{given['signature']}`, the record's diagnosis gives `{own}`"
        )


def _decision(run: _Run, request_digest: str, keep_firings: bool) -> Decision:
    case, bundle = run.case, run.case.bundle
    outputs: dict[str, Mapping[str, Any] | None] = dict(case.outputs)
    # S2 §3.5 has one output for both halves of its stage.
    outputs["calibrate"] = {**case.outputs["calibrate"], "deduped": case.outputs["dedupe"]["deduped"]}
    del outputs["dedupe"]
    status = _STATUS[case.judgements["admit"].verdict]
    if status != "admitted":
        outputs["lifecycle"] = None
    lesson = _lesson(case) if status == "admitted" else None
    known = run.gate.explainer(run.facts, run.firings, run.interner)
    return Decision(
        decision_id=digest([request_digest, bundle.digest])[:32],
        request_digest=request_digest,
        failure_id=case.record["failure_id"],
        signature=case.outputs["ledger"]["signature"],
        status=status,
        reason=case.outputs["admit"]["rejected_reason"],
        bundle=run.gate.identity,
        stages=outputs,
        findings=[known.finding(stage, found) for stage, judged in case.judgements.items() for found in judged.findings],
        spans=[span for hit in case.hits for span in hit.spans_json()],
        lesson=lesson,
        envelope=_envelope(case) if lesson else None,
        firings=known.firings() if keep_firings else None,
    )


def _lesson(case: Case) -> dict[str, Any]:
    reflection, cap = case.reflection, case.outputs["lifecycle"]["confidence_cap"]
    lowest = float(case.bundle.setting("blame.lowest")) if cap else 1.0
    known = case.index.defects
    return {
        "statement": case.outputs["calibrate"]["calibrated_lesson"],
        "type": case.outputs["lifecycle"]["level"],
        "scope": case.outputs["generalize"]["adjusted_scope"],
        "derived_from": {
            "failures": [case.record["failure_id"]],
            "successes": [*(item["id"] for item in case.record["successful_trajectory"]), *_successes(case)],
        },
        "evidence": [cited for cited in reflection["evidence_ids"] if cited in known],
        "counterexamples": case.outputs["generalize"]["counterexample_ids"],
        "confidence": min(reflection["confidence"], lowest),
        "times_applied": 0,
        "times_helped": 0,
        "times_hurt": 0,
        "supersedes": None,
        "superseded_by": None,
    }


def _successes(case: Case) -> Sequence[str]:
    """Return the ids of earlier successes that the lesson rests on, where a rule says that they bear it out."""
    said = any(finding.reason == generalize.SUCCEEDED for finding in case.judgements["generalize"].findings)
    return case.precedents.success_ids if said else ()


def _envelope(case: Case) -> dict[str, Any]:
    told = [tag for tag in case.request.get("tags", ()) if tag not in _OF_EVERY and not tag.startswith("trigger:")]
    return {
        "lesson_id": case.outputs["admit"]["lesson_id"],
        "signature": case.outputs["ledger"]["signature"],
        "project": case.request.get("project") or {},
        "red_flag": case.outputs["lifecycle"]["red_flag_class"],
        "bundle": case.bundle.digest,
        **({"tags": told} if told else {}),
    }


# -- the whole way, with the one stage that asks a model -----------------------------------------------------------------


def run(termination: Mapping[str, Any], *, trigger: Trigger = "error", route: Route | None = None) -> Ran:
    """Reflect on a failure now, judge the candidate and commit what follows; durable on return, and once for each failure.

    Args:
        termination: `termination.schema.json`.
        trigger: why it is reflected on; no switch is asked here.
        route: `15reflect` or `introspect`; the one that `REFLECT` names unless given.

    Raises:
        ReflectGateError: the failure, the policies or a setting is not valid; `ModelError` where no answer was received.
        DailyLimit: the day's calls may not cost more.
        StoreError: the store cannot be read or written.
    """
    from .capture import reflecting
    from .capture.handling import means_of
    from .capture.intake import take
    from .capture.route import chosen_route

    way = route or chosen_route()
    return reflecting.run(take(termination).termination, means_of(way), trigger=trigger, route=way)


def start(settings: Settings | None = None) -> Worker:
    """Start workers on the queue in this process, each with a process for its jobs; the caller ends them with `close()`.

    Raises:
        ReflectGateError: a setting is not valid, or the queue is switched off.
        StoreError: the queue cannot be opened.
    """
    from .capture.working import Worker

    worker = Worker(settings)
    worker.start()
    return worker
