"""Recording how a task ended for which lessons were recalled, and letting the lifecycle answer (R-i1).

A claim about the outcome is held to what was executed: an exit code or a test report that says otherwise is an error, and without
either the lessons count as applied and no more. A task has one outcome for a lesson: recorded again it adds nothing, recorded
otherwise it is refused. Tasks are told apart by repository, task, commit and session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .._canonical import digest
from ..errors import ReflectGateError, raise_all
from ..intervals import Interval, wilson
from ..measure.checks import Checks
from ..measure.tenure import current
from ..runtime import runtime
from ..stages import record as stage
from ..stages.record import After, Before, Effect, Trial
from .redacting import redact
from .sweeping import Change, sweep

if TYPE_CHECKING:
    from reflect_store import Draft, Row, Store

    from ..policy import Bundle

__all__ = ["Outcome", "Proof", "Recorded", "Statistics", "contradiction", "record"]

_IDENTITY: Final = ("repository", "task", "commit", "session")
_LINE, _TEXT = 4_096, 65_536
"""Characters that `item.schema.json` allows a line and a text."""


class Proof(NamedTuple):
    """What shows how a task ended: an exit code, the counts of a test report, or a text that only points to something."""

    exit_code: int | None = None
    checks: Checks | None = None
    note: str = ""

    @property
    def executed(self) -> bool:
        """An exit code or a test report says so."""
        return self.exit_code is not None or self.checks is not None

    @property
    def failed(self) -> bool:
        """Something that was executed failed."""
        return bool(self.exit_code) or (self.checks is not None and self.checks.failed > 0)

    def to_json(self) -> dict[str, Any]:
        """Return the evidence of an `outcome-recorded` event."""
        counts = self.checks._asdict() if self.checks else {}
        code = {} if self.exit_code is None else {"exit_code": self.exit_code}
        return {**code, **counts, **({"report": self.note} if self.note else {})}


class Outcome(NamedTuple):
    """How a task ended: the claim, how it stood before, what shows it, and where it was (`origin` of `event.schema.json`)."""

    after: After
    before: Before
    proof: Proof
    origin: Mapping[str, str]


class Statistics(NamedTuple):
    """A lesson's counts, and the 95 % intervals of the shares helped and hurt of what it was applied to."""

    applied: int
    helped: int
    hurt: int

    @property
    def intervals(self) -> Mapping[str, Interval | None]:
        """Wilson's interval of each share; `None` of nothing."""
        return {"helped": wilson(self.helped, self.applied), "hurt": wilson(self.hurt, self.applied)}


class Recorded(NamedTuple):
    """What was recorded: the outcome, whether it was new, what it says of each lesson, their counts, and the lifecycle's answer.

    `effects` name the lessons as they were recalled; `lessons` those that the outcome counts for, before the lifecycle answers.
    """

    outcome_id: str
    added: bool
    effects: Mapping[str, Effect]
    withheld: tuple[str, ...]
    lessons: Mapping[str, Statistics]
    changes: tuple[Change, ...]


def contradiction(outcome: Outcome) -> str | None:
    """Return in words how what was executed contradicts the claim, `None` where it does not."""
    proof, after, before = outcome.proof, outcome.after, outcome.before
    if not proof.executed:
        return None
    if proof.exit_code == 0 and proof.failed:
        return "the exit code is 0, but the report has failures"
    if proof.exit_code and proof.checks is not None and not proof.checks.failed:
        return f"the report has no failures, but the exit code is {proof.exit_code}"
    shown = "failed" if proof.failed else "passed"
    if after == ("resolved" if proof.failed else "worse"):
        return f"the task is said to be {after}, but what was executed {shown}"
    if after == "unchanged" and before != "unknown" and proof.failed != (before == "failing"):
        return f"the task was {before} and is said to be unchanged, but what was executed {shown}"
    return None


class _Shown(NamedTuple):
    """The lessons that a task was given, and those that were withheld from it."""

    recalled: tuple[str, ...]
    withheld: tuple[str, ...]
    retrieval_id: str | None
    origin: Mapping[str, str]


def record(
    store: Store,
    bundle: Bundle,
    outcome: Outcome,
    *,
    retrieval_id: str | None = None,
    lessons: Sequence[str] = (),
) -> Recorded:
    """Record how a task ended, and sweep the lessons that it was given.

    Args:
        store: where outcomes are kept.
        bundle: the policies: the rules of stage `record` say what the outcome says of a lesson, those of `sweep` what follows.
        outcome: how the task ended; its origin adds to that of the retrieval.
        retrieval_id: the retrieval that showed the lessons, as `retrieve` printed it.
        lessons: ids of the lessons, where there was no retrieval; of a retrieval, those that were used.

    Raises:
        ReflectGateError: `outcome-contradicted`, `outcome-conflict` where the task was recorded with another outcome,
            `outcome-task` where nothing names the task, `outcome-origin` where its name cannot be kept, `outcome-lessons` where
            no lesson was given, `retrieval-unknown`, `lesson-unknown`.
        StoreError: the store cannot be read or written.
    """
    shown = _shown(store, outcome, retrieval_id, lessons)
    problem = contradiction(outcome)
    if problem:
        raise ReflectGateError("outcome-contradicted", problem)
    outcome_id = _outcome_id(shown)
    drafts = _drafts(store, outcome, shown, _effects(bundle, outcome, shown), outcome_id)
    if drafts:
        # Whatever others write meanwhile: of two ends of one task the store counts the first.
        store.append(drafts)
    said, counts = _recorded(store, outcome_id, shown), _statistics(store, shown.recalled)
    changes = sweep(store, bundle, lessons=shown.recalled)
    return Recorded(outcome_id, bool(drafts), said, shown.withheld, counts, tuple(changes))


def _shown(store: Store, outcome: Outcome, retrieval_id: str | None, lessons: Sequence[str]) -> _Shown:
    recalled, withheld, origin = tuple(dict.fromkeys(lessons)), (), {}
    if retrieval_id is not None:
        row = store.get("retrievals", retrieval_id)
        if row is None:
            raise ReflectGateError("retrieval-unknown", f"the store has no retrieval `{retrieval_id}`")
        _check_subset(recalled, row)
        recalled, withheld, origin = recalled or tuple(row["lesson_ids"]), tuple(row["withheld"]), row["origin"]
    raise_all(
        ReflectGateError("lesson-unknown", f"the store has no lesson `{name}`")
        for name in recalled
        if store.get("lessons", name) is None
    )
    if not recalled and not withheld:
        raise ReflectGateError("outcome-lessons", "no lesson was recalled, so there is nothing to record")
    given = {key: value for key, value in outcome.origin.items() if value}
    raise_all(_misfits(given))
    return _Shown(recalled, withheld, retrieval_id, redact({**origin, **given}).request)


def _misfits(origin: Mapping[str, str]) -> Iterator[ReflectGateError]:
    """Yield what an event could not hold (`event.schema.json`)."""
    for field, value in origin.items():
        most = _TEXT if field == "task" else _LINE
        if len(value) > most:
            yield ReflectGateError("outcome-origin", f"`{field}` takes at most {most} characters")
        elif any("\ud800" <= character <= "\udfff" for character in value):
            yield ReflectGateError("outcome-origin", f"`{field}` is no UTF-8")


def _check_subset(lessons: Iterable[str], row: Row) -> None:
    raise_all(
        ReflectGateError("outcome-lessons", f"retrieval `{row['retrieval_id']}` did not show lesson `{name}`")
        for name in lessons
        if name not in row["lesson_ids"]
    )


def _outcome_id(shown: _Shown) -> str:
    """Return the id of the task's outcome; a retrieval names its task where nothing else does."""
    known = {key: " ".join(shown.origin.get(key, "").split()) for key in _IDENTITY}
    if not (known["task"] or known["session"]):
        if shown.retrieval_id is None:
            raise ReflectGateError("outcome-task", "nothing says which task ended: give the task or the session")
        known["retrieval"] = shown.retrieval_id
    return digest(["outcome", known])[:32]


def _effects(bundle: Bundle, outcome: Outcome, shown: _Shown) -> dict[str, Effect]:
    trial = Trial(outcome.before, outcome.after, outcome.proof.executed)
    effect = stage.effect_of(runtime(bundle).conclude(stage.NAME, stage.measure(trial)))
    return dict.fromkeys(shown.recalled, effect)


def _drafts(store: Store, outcome: Outcome, shown: _Shown, effects: Mapping[str, Effect], outcome_id: str) -> list[Draft]:
    from reflect_store import draft

    payload: dict[str, Any] = {
        "outcome_id": outcome_id,
        "outcome": outcome.after,
        "before": outcome.before,
        "origin": dict(shown.origin),
        "evidence": redact(outcome.proof.to_json()).request,
    }
    if shown.retrieval_id is not None:
        payload["retrieval_id"] = shown.retrieval_id
    drafts = []
    recalled, withheld = (_unrecorded(store, outcome, outcome_id, names) for names in (shown.recalled, shown.withheld))
    if recalled:
        said = {name: effects[name] for name in recalled}
        drafts.append(draft("outcome-recorded", {**payload, "lesson_ids": recalled, "withheld": False, "effects": said}))
    if withheld:
        drafts.append(draft("outcome-recorded", {**payload, "lesson_ids": withheld, "withheld": True}))
    return drafts


def _unrecorded(store: Store, outcome: Outcome, outcome_id: str, names: Sequence[str]) -> list[str]:
    """Return the lessons of which the task's outcome is not recorded yet; another outcome of the same task is refused."""
    left = []
    for name in names:
        row = store.get("outcomes", f"{outcome_id}\n{name}")
        if row is None:
            left.append(name)
        elif row["outcome"] != outcome.after:
            message = f"the task was recorded as {row['outcome']} on {row['time'][:10]}, so it cannot be {outcome.after}"
            raise ReflectGateError("outcome-conflict", f"{message}: outcome `{outcome_id}`")
    return left


def _recorded(store: Store, outcome_id: str, shown: _Shown) -> dict[str, Effect]:
    """Return what the store keeps of the outcome, which is what counted."""
    rows = {name: store.get("outcomes", f"{outcome_id}\n{name}") for name in shown.recalled}
    return {name: row["effect"] for name, row in rows.items() if row is not None}


def _statistics(store: Store, names: Sequence[str]) -> dict[str, Statistics]:
    found: dict[str, Statistics] = {}
    for name in names:
        row = current(store, name)
        if row is not None:
            lesson = row["lesson"]
            found[row["id"]] = Statistics(lesson["times_applied"], lesson["times_helped"], lesson["times_hurt"])
    return found
