"""Settling contradictions by later evidence: the lesson is upheld, replaced, or the dispute waits; nothing is ever overwritten.

A contradiction is a flag between a lesson and what contradicts it: a held candidate, or (by setting) a lesson admitted beside it.
The rules of stage `adjudicate` hear what executed outcomes said of the lesson since the flag was raised, and how many independent
failures bear out the other side. Words alone settle nothing, so nobody can talk a lesson out of use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..facts import Fact
from ..measure.precedent import many_independent
from ..measure.tenure import counterexamples, current, lineage, tally
from .drafting import CONTRADICTION
from .revisiting import admission, agreeing
from .sweeping import IN_USE, Action, Change, Judge, Plan, commit_each, retirement

if TYPE_CHECKING:
    from reflect_store import Draft, Row, Store

    from ..policy import Bundle

__all__ = ["Dispute", "adjudicate"]

_UPHELD: Final = "upheld"
_REPLACED: Final = "replaced"


class Dispute(NamedTuple):
    """What was counted since a flag was raised, as the fact `dispute` holds it."""

    helped: int
    hurt: int
    for_candidate: int

    def facts(self) -> list[Fact]:
        """Return the `dispute` fact."""
        return [("dispute", *self)]


class _Parties(NamedTuple):
    """A lesson in use, and what contradicts it: a held candidate or another lesson in use."""

    flag: Row
    lesson: Row
    candidate: Row | None
    rival: Row | None


def adjudicate(
    store: Store,
    bundle: Bundle,
    *,
    lessons: Iterable[str] | None = None,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[Change]:
    """Settle the open contradictions that later evidence decides, and close those that have lost a party.

    Args:
        store: where the lessons are kept.
        bundle: the policies, of which the rules of stage `adjudicate` decide.
        lessons: look at the flags of these lessons alone.
        dry_run: change nothing, and return what would change.
        progress: hears how many of how many flags were looked at.

    Raises:
        StoreError: the store cannot be read or written.
    """
    judge = Judge(bundle, "adjudicate")
    wanted = None if lessons is None else frozenset(lessons)
    flags = [
        row["flag_id"]
        for row in store.iterate("flags", {"status": "open"})
        if row["kind"] == CONTRADICTION and (wanted is None or wanted & set(row["lesson_ids"]))
    ]
    return commit_each(store, flags, lambda flag: _plan(store, flag, judge, bundle), dry_run=dry_run, progress=progress)


def _plan(store: Store, flag_id: str, judge: Judge, bundle: Bundle) -> Plan | None:
    """Return what settles a flag, `None` where it waits or is settled."""
    flag = store.get("flags", flag_id)
    if flag is None or flag["status"] != "open":
        return None
    parties = _parties(store, flag)
    if isinstance(parties, str):
        return _closed(store, flag, parties)
    measured = _measured(store, parties, bundle)
    judgement = judge(measured.facts())
    cause = judge.cause(judgement)
    if judgement.verdict == "uphold":
        return _upheld(parties, measured, cause)
    if judgement.verdict == "replace":
        return _replaced(store, parties, measured, cause, bundle)
    return None


def _parties(store: Store, flag: Row) -> _Parties | str:
    """Return both sides of a contradiction, or in words which one is gone."""
    lesson, *others = [current(store, name) for name in flag["lesson_ids"]] or [None]
    if lesson is None or lesson["standing"] not in IN_USE:
        return "the lesson is out of use"
    if flag.get("candidate_id"):
        candidate = store.get("candidates", flag["candidate_id"])
        waits = candidate is not None and candidate["status"] == "held"
        return _Parties(flag, lesson, candidate, None) if waits else "the candidate waits no longer"
    rival = next((other for other in others if other is not None and other["id"] != lesson["id"]), None)
    if rival is None or rival["standing"] not in IN_USE:
        return "what contradicted the lesson is out of use"
    return _Parties(flag, lesson, None, rival)


def _measured(store: Store, parties: _Parties, bundle: Bundle) -> Dispute:
    since = parties.flag["time"]
    counted = tally(store, lineage(store, parties.lesson), since)
    against = counterexamples(store, parties.lesson, since)
    return Dispute(len(counted.helped), len(counted.hurt) + len(against), _for_candidate(store, parties, bundle))


def _for_candidate(store: Store, parties: _Parties, bundle: Bundle) -> int:
    """Return how many independent failures bear out what contradicts the lesson."""
    candidate, rival = parties.candidate, parties.rival
    if rival is not None:
        support = store.iterate("corroborations", {"lesson_id": rival["id"]})
        return many_independent(rival["origin"], [said["origin"] for said in support if said["failures"]])
    return 0 if candidate is None else agreeing(store, candidate, bundle)


# -- what follows ----------------------------------------------------------------------------------------------------------


def _resolved(flag: Row, resolution: str, rule: str, reason: str) -> Draft:
    from reflect_store import draft

    return draft("flag-resolved", {"flag_id": flag["flag_id"], "resolution": resolution, "rule": rule, "reason": reason})


def _said(reason: str, measured: Dispute) -> str:
    return (
        f"{reason}: helped {measured.helped}, hurt {measured.hurt}, independent failures for the other {measured.for_candidate}"
    )


def _change(action: Action, flag: Row, lesson: Row | None, by: str | None, cause: tuple[str, str], measured: Any) -> Change:
    level = lesson["level"] if lesson else ""
    red_flag = bool(lesson and lesson["envelope"]["red_flag"])
    return Change(action, lesson["id"] if lesson else "", level, level, by, red_flag, *cause, measured, about=flag["flag_id"])


def _closed(store: Store, flag: Row, words: str) -> Plan:
    lesson = current(store, flag["lesson_ids"][0]) if flag["lesson_ids"] else None
    change = _change("close", flag, lesson, None, ("", "party-gone"), {})
    return Plan(change, (_resolved(flag, "closed", "", words),))


def _upheld(parties: _Parties, measured: Dispute, cause: tuple[str, str]) -> Plan:
    """The lesson stands; what contradicted it is released, or retired where it was a lesson."""
    from reflect_store import draft

    rule, said = cause[0], _said(cause[1], measured)
    drafts = [_resolved(parties.flag, _UPHELD, rule, said)]
    if parties.candidate is not None:
        name = parties.candidate["candidate_id"]
        drafts.append(draft("candidate-released", {"candidate_id": name, "outcome": f"refuted: {said}"}))
    if parties.rival is not None:
        drafts.append(retirement(parties.rival, rule, said)[1])
    return Plan(_change("uphold", parties.flag, parties.lesson, None, cause, measured._asdict()), tuple(drafts))


def _replaced(store: Store, parties: _Parties, measured: Dispute, cause: tuple[str, str], bundle: Bundle) -> Plan | None:
    """What contradicted the lesson takes its place; a candidate that today's view still does not admit goes on waiting."""
    from reflect_store import draft

    lesson, drafts, by = parties.lesson, [], None
    if parties.rival is not None:
        by = parties.rival["id"]
    elif parties.candidate is not None:
        admitted = admission(store, parties.candidate, bundle, without=lesson["id"])
        if admitted is not None:
            by, drafts = admitted.lesson_id, list(admitted.drafts)
    if by is None:
        return None
    rule, said = cause[0], _said(cause[1], measured)
    drafts.append(draft("lesson-superseded", {"lesson_id": lesson["id"], "by": by, "rule": rule, "reason": said}))
    drafts.append(_resolved(parties.flag, _REPLACED, rule, said))
    return Plan(_change("replace", parties.flag, lesson, by, cause, measured._asdict()), tuple(drafts))
