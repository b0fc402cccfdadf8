"""What becomes of one failure: evidence, ledger, the one call, the gate, the store; the same failure again changes nothing.

evidence (record) → ledger (what the store knows of its signature) → reflect (asked once, journalled) → gate → apply. Whatever is
not reflected on is recorded with its reason; an answer that is no candidate is recorded as a violation (R-P1, R-L2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, cast

from ..llm.call import Call, call_of
from ..llm.journal import Journal, Lost
from ..memory.applying import apply, consider
from ..stages._prepare import prepare
from ..stages.ledger import record_signature
from ..stages.reflect import Reflected, reflect
from .capturing import Trigger
from .noting import LOGGED, SKIPPED, note_not_reflected, note_violation, request_of
from .route import Route
from .spending import Calls, DailyLimit

if TYPE_CHECKING:
    from reflect_store import Store

    from ..llm.client import ModelClient
    from ..policy import Bundle
    from ..types import SignatureContext

__all__ = ["Kind", "Means", "Ran", "run"]

Kind: TypeAlias = Literal["reflection", "skip", "violation", "not_reflected", "known"]
"""What the model answered, or `not_reflected` where nobody was asked, or `known` where all was done before."""

_FINAL: Final = frozenset({SKIPPED, LOGGED})
"""Reasons not to reflect that came after the model was asked: it is not asked again."""


DAILY: Final = "daily-limit"
"""The reason where the day's calls may not cost more; the failure waits, and may be reflected on later."""


class Means(NamedTuple):
    """What a failure is worked on with; `persist` false keeps no lesson."""

    store: Store
    bundle: Bundle
    client: ModelClient
    journal: Journal
    calls: Calls
    persist: bool = True


class Ran(NamedTuple):
    """What came of one failure.

    Attributes:
        status: of the decision (`admitted`, `undecided`, `refused`), empty where there is none.
        reason: why it was refused, not reflected on, or no candidate; empty where nothing is to be said.
        action: what was written of the decision, as `applying.Action`.
        message: the reason in words.
    """

    failure_id: str
    kind: Kind
    trigger: Trigger
    route: Route
    status: str = ""
    reason: str = ""
    message: str = ""
    action: str = ""
    decision_id: str | None = None
    lesson_id: str | None = None
    tags: tuple[str, ...] = ()
    call: Call | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data, as it stands in the log of calls."""
        call = self.call.to_json() if self.call else None
        return {**self._asdict(), "tags": list(self.tags), "call": call}


def run(termination: Mapping[str, Any], means: Means, *, trigger: Trigger = "error", route: Route = "15reflect") -> Ran:
    """Reflect on a failure, judge the candidate, and commit what follows; durable on return, and noted among the calls.

    Args:
        termination: `termination.schema.json`, as `intake.take` left it.
        means: store, policies, who is asked, where the answer is kept.
        trigger: why the failure was captured.
        route: named in what is noted; the store and the bundle are the caller's choice.

    Raises:
        ReflectGateError: no record can be assembled; `ModelError` where no answer was received.
        DailyLimit: the day's calls may not cost more.
        StoreError: the store cannot be read or written.
    """
    request = request_of(termination)
    blank = Ran(request["record"]["failure_id"], "known", trigger, route)
    done = _known(means.store, blank)
    if done is not None:
        _note_again(means, done)
        return done
    try:
        done, new = _reflected(request, means, blank)
    except DailyLimit:
        note_not_reflected(means.store, request, DAILY, means.bundle.limits)
        raise
    if new:
        means.calls.outcome(done.to_json())
    return done


def _known(store: Store, blank: Ran) -> Ran | None:
    """Return what was made of the failure before, `None` where nobody was asked yet."""
    where = {"failure_id": blank.failure_id}
    for row in store.page("decisions", where, limit=1).rows:
        said = {"status": row["status"], "reason": row["reason"] or "", "lesson_id": row["lesson_id"]}
        return blank._replace(decision_id=row["decision_id"], **said)
    for row in store.page("violations", where, limit=1).rows:
        return blank._replace(reason=row["code"], message=row["message"])
    skipped = store.get("not_reflected", blank.failure_id)
    if skipped is not None and skipped["reason"] in _FINAL:
        return blank._replace(reason=skipped["reason"])
    return None


def _note_again(means: Means, done: Ran) -> None:
    """Note what a worker that died after the store had it could not."""
    entry = means.journal.received(done.failure_id)
    if entry is None:
        return
    call = None if isinstance(entry, Lost) else call_of(entry, replayed=True)
    kind: Kind = "reflection" if done.decision_id or done.reason == LOGGED else "skip" if done.reason == SKIPPED else "violation"
    means.calls.outcome(done._replace(kind=kind, call=call).to_json())


def _reflected(request: dict[str, Any], means: Means, blank: Ran) -> tuple[Ran, bool]:
    """Return what came of it, and whether that is news: a job that is parked for its cost comes here again and again."""
    record = prepare(request["record"], means.bundle.limits)
    if means.journal.received(blank.failure_id) is None:
        means.calls.check()
    found = reflect(record, _context(means.store, record), means.client, means.journal)
    done = blank._replace(kind=found.kind, tags=found.tags, call=found.call)
    if found.kind == "reflection":
        return _judged({**request, "reflection": found.reflection}, found, means, done), True
    if found.violation is not None:
        entry = means.journal.received(blank.failure_id)
        answer = b"" if entry is None or isinstance(entry, Lost) else entry.body
        note_violation(means.store, request, found.violation, answer, means.bundle.limits)
        return done._replace(reason=found.violation.code, message=found.violation.message), True
    reason = SKIPPED if found.kind == "skip" else found.reason
    new = note_not_reflected(means.store, request, reason, means.bundle.limits)
    return done._replace(reason=reason, message=found.message), new or found.kind == "skip"


def _judged(request: dict[str, Any], found: Reflected, means: Means, done: Ran) -> Ran:
    request |= {"trigger": done.trigger, "tags": list(found.tags)}
    if not means.persist:
        decision = consider(means.store, request, means.bundle).decision
        note_not_reflected(means.store, request, LOGGED, means.bundle.limits)
        return done._replace(status=decision.status, reason=decision.reason or "", decision_id=decision.decision_id)
    applied = apply(means.store, request, means.bundle)
    decision = applied.decision
    return done._replace(
        status=decision.status,
        reason=decision.reason or "",
        action=applied.action,
        decision_id=decision.decision_id,
        lesson_id=applied.lesson_id,
    )


def _context(store: Store, record: Any) -> SignatureContext:
    """Return what the ledger knows of the failure's signature: whether a lesson explains it, and which (R-b1)."""
    context = dict(record_signature(record))
    signature = str(context["signature"])
    view = store.view(signature)
    prior = min((edge["lesson_id"] for edge in view.edges if edge["signature"] == signature), default=None)
    context |= {"reflected_before": prior is not None, "prior_reflection_id": prior}
    return cast("SignatureContext", context)
