"""Judging against a store, and committing what was decided: every event of one decision in one transaction.

What a decision saw of the store is part of it. Where that moved between judging and committing, the candidate is judged again on
what is there now; after a few times that happens under the write lock, so that a candidate is never starved by others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from .. import documents, schemas
from .._canonical import digest
from ..decision import Decision
from ..errors import ReflectGateError, Source
from ..pipeline import evaluate
from ..stages._prepare import prepare
from ..stages.ledger import record_signature
from .drafting import Drafts
from .redacting import redact

if TYPE_CHECKING:
    from reflect_store import Draft, Store, StoreView, ViewQuery
    from reflect_store.protocol import Get

    from ..policy import Bundle
    from ..types import Record

__all__ = ["Action", "Applied", "Candidate", "Considered", "apply", "candidate_of", "consider", "decision_of", "stored_decision"]

Action: TypeAlias = Literal["admitted", "merged", "held", "refused", "known"]
"""What a commit came to: a lesson was born or gained evidence, the candidate waits or was only recorded, or all was there."""

ATTEMPTS = 8
"""How often a candidate is judged on a view that others may move before the store is kept from moving."""


class Candidate(NamedTuple):
    """A request made ready to be judged against a store: without secrets, checked, with what it asks of the store.

    `decision_id` follows from the request without any view and from the bundle, so that a request that is applied again is
    recognised however the store has moved since.
    """

    request: dict[str, Any]
    record: Record
    context: Mapping[str, Any]
    decision_id: str
    query: ViewQuery
    secrets: int


class Considered(NamedTuple):
    """A candidate judged against one view of a store; `request` holds that view."""

    candidate: Candidate
    request: dict[str, Any]
    view: StoreView
    decision: Decision


class Applied(NamedTuple):
    """What was decided and what of it was written: the version of the store after it, the ids of the events, the lesson."""

    decision: Decision
    action: Action
    version: int
    events: tuple[str, ...]
    lesson_id: str | None

    @property
    def applied(self) -> bool:
        """Something was written."""
        return bool(self.events)

    def to_json(self, place: str) -> dict[str, Any]:
        """Return the decision as a document with `applied`; `place` names the store."""
        written = {
            "store": place,
            "version": self.version,
            "action": self.action,
            "events": list(self.events),
            "lesson_id": self.lesson_id,
        }
        return {**self.decision.to_json(), "applied": written}


def _decision_id(request: Mapping[str, Any], bundle: Bundle) -> str:
    bare = {name: value for name, value in request.items() if name != "store_view"}
    return digest([digest(bare), bundle.digest])[:32]


def candidate_of(request: Mapping[str, Any], bundle: Bundle) -> Candidate:
    """Return a request made ready to be judged against a store.

    Raises:
        ReflectGateError: the request is not valid, or brings a view of its own (`request-view`).
    """
    plain: Any = documents.plain(request, bundle.limits)
    if isinstance(plain, dict) and "store_view" in plain:
        message = "a request that is judged against a store brings no `store_view` of its own"
        raise ReflectGateError("request-view", message, Source("request", pointer="/store_view"))
    bare, secrets = redact(plain) if isinstance(plain, dict) else (plain, 0)
    if secrets:
        # It was made from the text with the secret, and the record says it anew.
        bare.pop("signature_context", None)
    schemas.check("request", bare, "request")
    record = prepare(bare["record"], bundle.limits)
    context = record_signature(record)
    return Candidate(bare, record, context, _decision_id(bare, bundle), _query(bare, context["signature"]), secrets)


def _query(request: Mapping[str, Any], signature: str) -> ViewQuery:
    from reflect_store import ViewQuery

    from ..measure.similarity import search_words

    words = search_words(request["reflection"]["candidate_lesson"])
    return ViewQuery(signature, words=words, lessons=tuple(request.get("recalled", ())))


def consider(store: Store, request: Mapping[str, Any], bundle: Bundle, *, explain: bool = False) -> Considered:
    """Judge a request against what `store` holds and write nothing.

    Args:
        store: where lessons are kept.
        request: record, reflection, and optionally signature context, project and recalled lessons; no store view.
        bundle: the loaded policies.
        explain: keep every firing in the decision.

    Raises:
        ReflectGateError: as `pipeline.evaluate` does.
        StoreError: the store cannot be read.
    """
    candidate = candidate_of(request, bundle)
    return _judged(candidate, store.view(candidate.query), bundle, explain)


def _judged(candidate: Candidate, view: StoreView, bundle: Bundle, explain: bool) -> Considered:
    request = {**candidate.request, "store_view": view.to_json()}
    return Considered(candidate, request, view, decision_of(request, bundle, explain=explain))


def decision_of(request: Mapping[str, Any], bundle: Bundle, *, explain: bool = False) -> Decision:
    """Return the decision on a request that holds its store view, under the id that does not depend on that view."""
    return evaluate(request, bundle, explain=explain)._replace(decision_id=_decision_id(request, bundle))


# -- committing ----------------------------------------------------------------------------------------------------------


def apply(store: Store, request: Mapping[str, Any], bundle: Bundle, *, explain: bool = False) -> Applied:
    """Judge a request against `store` and commit what follows, in one transaction; durable on return.

    Applying a request again under the same policies writes nothing and returns the decision that was made.

    Args:
        store: where lessons are kept.
        request: record, reflection, and optionally signature context, project and recalled lessons; no store view.
        bundle: the loaded policies.
        explain: keep every firing in the decision that is returned; the store keeps none.

    Raises:
        ReflectGateError: as `pipeline.evaluate` does; nothing is written.
        StoreError: the store cannot be read or written; nothing is written, unless it is the lifecycle that could not answer to a
            counterexample: the next sweep does.
    """
    candidate = candidate_of(request, bundle)
    for _ in range(ATTEMPTS):
        made = _made_before(store, candidate)
        if made is not None:
            return made
        considered = _judged(candidate, store.view(candidate.query), bundle, explain)
        written = _written(considered, bundle, store.get)
        if _append(store, candidate, considered, written):
            return _settled(store, considered, written, bundle)
    return _alone(store, candidate, bundle, explain)


def _alone(store: Store, candidate: Candidate, bundle: Bundle, explain: bool) -> Applied:
    """Judge and commit while every other writer waits."""
    done: list[tuple[Considered, _Written]] = []

    def decide(view: StoreView, get: Get) -> list[Draft]:
        if get("decisions", candidate.decision_id) is not None:
            return []
        considered = _judged(candidate, view, bundle, explain)
        done.append((considered, _written(considered, bundle, get)))
        return done[0][1].drafts.found

    store.decide(candidate.query, decide)
    if done:
        return _settled(store, *done[0], bundle)
    made = _made_before(store, candidate)
    if made is None:
        raise ReflectGateError("internal", f"decision `{candidate.decision_id}` was there and is not")
    return made


class _Written(NamedTuple):
    drafts: Drafts
    action: Action
    lesson_id: str | None


def _written(considered: Considered, bundle: Bundle, get: Get) -> _Written:
    """Return the events that say what the decision means."""
    candidate, decision = considered.candidate, considered.decision
    drafts = Drafts(considered.request, candidate.record, candidate.context, considered.view, get, bundle)
    drafts.termination()
    drafts.decision(decision)
    action: Action = "refused"
    lesson_id = None
    admit = decision.stages["admit"] or {}
    if decision.status == "admitted":
        action, lesson_id = drafts.lesson(decision)
        drafts.contradiction(decision, held=False)
    elif admit.get("unattached_candidate"):
        action = "held"
        drafts.hold(decision)
        drafts.contradiction(decision, held=True)
    drafts.counterexamples()
    drafts.successes(decision)
    return _Written(drafts, action, lesson_id)


def _append(store: Store, candidate: Candidate, considered: Considered, written: _Written) -> bool:
    from reflect_store import StoreError

    try:
        store.append(
            written.drafts.found,
            expected_view=(candidate.query, considered.view.digest),
            absent=("decisions", candidate.decision_id),
        )
    except StoreError as error:
        if error.code == "store-moved":
            return False
        raise
    return True


def _settled(store: Store, considered: Considered, written: _Written, bundle: Bundle) -> Applied:
    """Let the lifecycle answer at once to what the failure falsified."""
    events = [entry.id for entry in written.drafts.found]
    if written.drafts.falsified:
        from .settling import sweep_all

        changes = sweep_all(store, bundle, lessons=written.drafts.falsified)
        events += [event for change in changes for event in change.events]
    return Applied(considered.decision, written.action, store.version, tuple(events), written.lesson_id)


def _made_before(store: Store, candidate: Candidate) -> Applied | None:
    """Return the decision that the store holds on this request, `None` where it has none."""
    row = store.get("decisions", candidate.decision_id)
    if row is None:
        return None
    event = store.event(row["event"])
    data = event.data() if event else None
    if data is None:
        message = f"decision `{candidate.decision_id}` was made and then redacted"
        raise ReflectGateError("decision-redacted", message)
    return Applied(stored_decision(data["decision"]), "known", store.version, (), row["lesson_id"])


def stored_decision(document: Mapping[str, Any]) -> Decision:
    """Return a decision that was kept as a document."""
    values: list[Any] = [document.get(field) for field in Decision._fields]
    return Decision(*values)
