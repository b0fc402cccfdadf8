"""Judging held candidates again once there is more to judge them by: what waited for evidence need not wait for good.

A candidate is judged on the request that it was held with, and on what the store shows today. It is looked at again where more
independent failures, successes or repositories speak for it than when it was judged, or a lesson that it contradicted is out of
use. Where it still does not earn a place, nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .._canonical import digest
from ..errors import ReflectGateError
from ..measure.precedent import Precedents
from ..measure.tenure import current
from ..runtime import runtime
from ..stages._case import Case
from .applying import candidate_of, decision_of
from .drafting import Drafts
from .rejudging import Kept, kept
from .sweeping import IN_USE, Action, Change, Plan, commit_each

if TYPE_CHECKING:
    from reflect_store import Draft, EventStore, Row, Store, StoreView

    from ..decision import Decision
    from ..policy import Bundle

__all__ = ["Admission", "admission", "agreeing", "revisit"]


class Admission(NamedTuple):
    """How a held candidate gets a place: the events, the lesson that it stands in, whether as a new one, and the rule."""

    drafts: tuple[Draft, ...]
    lesson_id: str
    action: Action
    red_flag: bool
    rule: str
    reason: str


def revisit(
    store: Store, bundle: Bundle, *, dry_run: bool = False, progress: Callable[[int, int], None] | None = None
) -> list[Change]:
    """Judge the held candidates again for which more speaks than before, and admit those that have earned it.

    Args:
        store: where the candidates are kept.
        bundle: the policies to judge by; those of today, not those that held the candidate.
        dry_run: change nothing, and return what would change.
        progress: hears how many of how many candidates were looked at.

    Raises:
        StoreError: the store cannot be read or written.
    """
    names = [row["candidate_id"] for row in store.iterate("candidates", {"status": "held"})]
    return commit_each(store, names, lambda name: _plan(store, name, bundle), dry_run=dry_run, progress=progress)


def _plan(store: Store, name: str, bundle: Bundle) -> Plan | None:
    row = store.get("candidates", name)
    if row is None or row["status"] != "held":
        return None
    held = _kept(store, row)
    if held is None or not _grown(store, row, held, bundle):
        return None
    found = admission(store, row, bundle)
    if found is None:
        return None
    cause = (found.rule, found.reason)
    return Plan(
        Change(found.action, found.lesson_id, "", "", None, found.red_flag, *cause, measured={}, about=name), found.drafts
    )


def _kept(store: Store, row: Row) -> Kept | None:
    """Return the decision that held a candidate, `None` where it was erased."""
    try:
        return kept(cast("EventStore", store), row["decision_id"])
    except ReflectGateError as error:
        if error.code in {"decision-unknown", "decision-redacted"}:
            return None
        raise


def _grown(store: Store, row: Row, held: Kept, bundle: Bundle) -> bool:
    """Return whether more speaks for a candidate now than when it was held."""
    conflicts = [current(store, name) for name in row["conflicts"]]
    if any(lesson is None or lesson["standing"] not in IN_USE for lesson in conflicts):
        return True
    views = (held.request.get("store_view") or {}, _view(store, held.request, bundle).to_json())
    before, after = (_counts(_precedents(held.request, view, bundle)) for view in views)
    return any(more > less for more, less in zip(after, before, strict=True))


def _counts(known: Precedents) -> tuple[int, ...]:
    return known.independent, known.repositories, known.agreeing, known.corroborating, known.successes


def _view(store: Store, request: Mapping[str, Any], bundle: Bundle) -> StoreView:
    return store.view(candidate_of(_bare(request), bundle).query)


def _precedents(request: Mapping[str, Any], view: Mapping[str, Any], bundle: Bundle) -> Precedents:
    candidate = candidate_of(_bare(request), bundle)
    seen = {**candidate.request, "store_view": view}
    return Case(seen, candidate.record, bundle, runtime(bundle).lexicons).precedents


def agreeing(store: Store, row: Row, bundle: Bundle) -> int:
    """Return how many independent held candidates say what this one says; 0 where its decision was erased."""
    held = _kept(store, row)
    return 0 if held is None else _precedents(held.request, _view(store, held.request, bundle).to_json(), bundle).agreeing


def _bare(request: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in request.items() if name != "store_view"}


def admission(store: Store, row: Row, bundle: Bundle, *, without: str | None = None) -> Admission | None:
    """Return how a held candidate gets its place, `None` where today's view does not admit it.

    Args:
        store: where the candidate is kept.
        row: its row of the projection `candidates`.
        bundle: the policies to judge by.
        without: a lesson that is about to be replaced: the candidate is judged as if it were not there.
    """
    held = _kept(store, row)
    if held is None:
        return None
    candidate = candidate_of(_bare(held.request), bundle)
    view = store.view(candidate.query)
    seen = view if without is None else _less(view, without)
    request = {**candidate.request, "store_view": seen.to_json()}
    decision = decision_of(request, bundle)
    envelope = decision.envelope
    if decision.status != "admitted" or envelope is None or envelope["lesson_id"] == without:
        return None
    # The candidate's own decision stays; this one is another, named after what it was judged on.
    decision = decision._replace(decision_id=digest([row["decision_id"], seen.digest, bundle.digest])[:32])
    drafts = Drafts(request, candidate.record, candidate.context, seen, store.get, bundle)
    drafts.decision(decision)
    lesson = {**(decision.lesson or {}), "supersedes": without}
    action, name = drafts.lesson(decision._replace(lesson=lesson))
    _release(drafts, row, name)
    how: Action = "admit" if action == "admitted" else "merge"
    return Admission(tuple(drafts.found), name, how, envelope["red_flag"], *_cause(decision))


def _cause(decision: Decision) -> tuple[str, str]:
    """Return rule and reason of an admission, both empty where a rule set that is off admitted."""
    said = (found for found in decision.findings if (found["stage"], found["verdict"]) == ("admit", "admit"))
    return next(((f"{found['ruleset']}/{found['rule']}", str(found["reason"])) for found in said), ("", ""))


def _less(view: StoreView, lesson_id: str) -> StoreView:
    from dataclasses import replace

    lessons = tuple(entry for entry in view.lessons if entry["id"] != lesson_id)
    return replace(view, lessons=lessons, edges=tuple(edge for edge in view.edges if edge["lesson_id"] != lesson_id))


def _release(drafts: Drafts, row: Row, lesson_id: str) -> None:
    """Release the candidate itself, unless it was released with those that say the same."""
    from reflect_store import draft
    from reflect_store.events import canonical

    wanted = canonical({"candidate_id": row["candidate_id"]})[1:-1]
    if not any(entry.type == "candidate-released" and wanted in entry.payload for entry in drafts.found):
        outcome = f"attached to {lesson_id}"
        drafts.found.append(draft("candidate-released", {"candidate_id": row["candidate_id"], "outcome": outcome}))
