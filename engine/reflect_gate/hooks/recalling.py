"""From an event to the one lesson that fits it: where a failure shows, where a prompt is given, or where a session begins.

A session is given a lesson once, one at a time and three in all, and none where the rules abstain. What was given, or withheld to
compare, is kept with the session: a failure names what had been recalled, so that a lesson cannot corroborate itself, and the end
of the session is recorded for it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from .event import Event
from .places import Place, language_of, place_of
from .sessions import Spool

if TYPE_CHECKING:
    from reflect_store import Store

    from ..memory.retrieving import Query, Recalled
    from ..policy import Bundle

__all__ = ["recall"]

_ASKS: Final = frozenset({"session_start", "prompt", "failure"})
_RULES: Final = "retrieval"
"""The rule set that abstains; on whatever the route, since a baseline that offers something to every prompt is nobody's help."""

_WAIT: Final = 0.5
"""Seconds to wait for another process that writes to the store."""


class _Next(NamedTuple):
    """The best lesson that the session has not met: the answer of which it is the last, its id, and whether it is withheld."""

    found: Recalled
    lesson: str
    withheld: bool


def recall(event: Event) -> str:
    """Return the context for an event; empty where there is no lesson, no store, or nothing more to give."""
    if event.kind not in _ASKS or not event.session:
        return ""
    from ..capture.route import bundle_of, chosen_route, store_of

    route = chosen_route()
    file = store_of(route)
    spool = Spool.of(event._replace(agent=""))
    if (not isinstance(file, str) and not file.exists()) or spool.full:
        return ""
    place = place_of(event.cwd)
    if not any((event.said, event.action, event.output, event.path, place.repository)):
        return ""
    from reflect_store import StoreError, open_store

    from ..memory import retrieving
    from ..policy import load_bundle

    query = _query(event, place)
    with open_store(file, timeout=_WAIT) as store:
        met = _next(store, query, load_bundle(bundle_of(route), enable=(_RULES,)), spool)
        if met is None or not (spool.withhold if met.withheld else spool.give)(met.lesson):
            return ""
        shown = tuple(entry for entry in met.found.shown if entry.match.lesson_id == met.lesson)
        answer = met.found._replace(shown=shown, withheld=(met.lesson,) if met.withheld else ())
        logged = False
        # A store that cannot be written now is no reason to say nothing.
        with suppress(StoreError):
            logged = retrieving.log(store, answer)
        row = store.get("lessons", met.lesson)
        signatures = (answer.signature, *(row["signatures"] if row else ()))
        from ..report.recalled import context

        said = context(answer, logged=logged)[0] if shown else ""
    _keep(event, query, met, answer.retrieval_id if logged else "", signatures)
    return said


def _query(event: Event, place: Place) -> Query:
    from ..memory.retrieving import Query

    failed = event.kind == "failure"
    return Query(
        text=event.action if failed else event.said,
        error=event.output if failed else "",
        repository=place.repository,
        language=language_of([event.path]),
        paths=(event.path,) if event.path else (),
        session=event.session,
        commit=place.commit,
    )


def _next(store: Store, query: Query, bundle: Bundle, spool: Spool) -> _Next | None:
    """Return the best lesson that the session has not met, None where there is none.

    A withheld lesson takes the place that it would have had: what would not have been given is not compared with.
    """
    from ..memory.retrieving import CAP, retrieve

    known = {*spool.given(), *spool.withheld()}
    for count in range(1, CAP + 1):
        found = retrieve(store, query, bundle, limit=count)
        names = (*found.lesson_ids, *found.withheld)
        new = next((name for name in names if name not in known), None)
        if new is not None:
            return _Next(found, new, new in found.withheld)
        if len(names) < count:
            return None
    return None


def _keep(event: Event, query: Query, met: _Next, retrieval: str, signatures: tuple[str, ...]) -> None:
    """Keep with the session what was given and where; last, so that what is not said is not kept as given."""
    from .giving import given_of

    # A subagent is told, and judged, by itself.
    spool = Spool.of(event)
    given = given_of(event, spool.lines())._replace(
        lesson=met.lesson,
        retrieval=retrieval,
        withheld=met.withheld,
        signatures=tuple(dict.fromkeys(filter(None, signatures))),
        repository=query.repository,
        commit=query.commit,
    )
    about = {"dialect": event.dialect, "session": event.session, "cwd": event.cwd, "transcript": event.transcript}
    spool.add({"key": f"given {met.lesson}", **about, "given": given._asdict()})
