"""From an event to the one lesson that fits it: where a failure shows, where a prompt is given, or where a session begins.

A session is given a lesson once, one at a time and three in all, and none where the rules abstain. What was given is remembered
with the session, so that a failure names what had been recalled and a lesson cannot corroborate itself.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from .event import Event
from .sessions import Spool

__all__ = ["recall"]

_ASKS: Final = frozenset({"session_start", "prompt", "failure"})
_RULES: Final = "retrieval"
"""The rule set that abstains; on whatever the route, since a baseline that offers something to every prompt is nobody's help."""

_WAIT: Final = 0.5
"""Seconds to wait for another process that writes to the store."""


def recall(event: Event) -> str:
    """Return the context for an event; empty where there is no lesson, no store, or nothing more to give."""
    if event.kind not in _ASKS or not event.session:
        return ""
    from ..capture.route import bundle_of, chosen_route, store_of

    route = chosen_route()
    file = store_of(route)
    spool = Spool.of(event._replace(agent=""))
    if not file.exists() or spool.full:
        return ""
    from reflect_store import StoreError, open_store

    from ..memory import retrieving
    from ..policy import load_bundle
    from ..report.recalled import context
    from .places import language_of, place_of

    place = place_of(event.cwd)
    failed = event.kind == "failure"
    query = retrieving.Query(
        text=event.action if failed else event.said,
        error=event.output if failed else "",
        repository=place.repository,
        language=language_of([event.path]),
        paths=(event.path,) if event.path else (),
        session=event.session,
        commit=place.commit,
    )
    with open_store(file, timeout=_WAIT) as store:
        found = retrieving.retrieve(store, query, load_bundle(bundle_of(route), enable=(_RULES,)))
        given = spool.given()
        one = next((entry for entry in found.shown if entry.match.lesson_id not in given), None)
        shown = (one,) if one is not None and spool.give(one.match.lesson_id) else ()
        answer = found._replace(shown=shown)
        logged = False
        # A store that cannot be written now is no reason to say nothing.
        with suppress(StoreError):
            logged = retrieving.log(store, answer)
        return context(answer, logged=logged)[0] if shown else ""
