"""The lifecycle sweep: lessons rise, fall and go by what became of the tasks that they were recalled for (R-g1).

A sweep measures each lesson in use (`measure.tenure`), lets the rules of stage `sweep` say what it has earned, and appends one
event a change, with the rule that caused it. Nothing else is kept, so sweeping again changes nothing, and two sweeps at once make
each change once: an event is only added to the very state that was judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from .._canonical import digest
from ..errors import ReflectGateError, raise_all
from ..facts import Fact
from ..measure.tenure import Tenure, current, since_level, tenure, untouched
from ..runtime import Runtime, runtime

if TYPE_CHECKING:
    from reflect_store import Draft, Row, Store

    from ..policy import Bundle
    from ..stages._judgement import Finding, Judgement

__all__ = ["ATTEMPTS", "IN_USE", "LEVELS", "Action", "Change", "Judge", "Plan", "commit_each", "retirement", "sweep"]

T = TypeVar("T")

LEVELS: Final = ("episodic", "procedural", "meta_strategy")
"""The levels of a lesson, from the lowest; a lesson moves one step at a time."""

IN_USE: Final = ("active", "flagged")
"""Standings of lessons that a sweep looks at."""

ATTEMPTS: Final = 256
"""How often a lesson is judged anew because others wrote meanwhile, before the sweep gives up on it."""

Action: TypeAlias = Literal["promote", "demote", "retire", "uphold", "replace", "close", "admit", "merge"]
Progress: TypeAlias = Callable[[int, int], None]


class Change(NamedTuple):
    """One change of a store, done or, on a dry run, due.

    `lesson_id` is the lesson that changed; `level` its level afterwards, that of the successor where there is one.
    `superseded_by` names the successor or the tombstone. `rule` is `ruleset/id`, `reason` its code, `measured` what it was judged
    on, `about` a flag or candidate that the change settles. `events` are the ids of what was appended, none on a dry run.
    """

    action: Action
    lesson_id: str
    before: str
    level: str
    superseded_by: str | None
    red_flag: bool
    rule: str
    reason: str
    measured: Mapping[str, Any]
    about: str = ""
    events: tuple[str, ...] = ()

    @property
    def event(self) -> str | None:
        """The id of the event that made the change, `None` on a dry run."""
        return self.events[0] if self.events else None

    def output(self) -> dict[str, Any]:
        """Return `level, action, superseded_by, red_flag_class, confidence_cap` of a lesson that rose, fell or went, S2 §3.7."""
        return {
            "level": self.level,
            "action": self.action,
            "superseded_by": self.superseded_by,
            "red_flag_class": self.red_flag,
            "confidence_cap": "lowest" if self.red_flag else None,
        }

    def to_json(self) -> dict[str, Any]:
        """Return the change as data."""
        return {**self._asdict(), "measured": dict(self.measured), "events": list(self.events)}


class Plan(NamedTuple):
    """A change and the events that make it."""

    change: Change
    drafts: tuple[Draft, ...]


class Judge:
    """Asks the rules of one stage, once for equal facts: most lessons of a store have nothing new to tell."""

    def __init__(self, bundle: Bundle, stage: str) -> None:
        self._gate: Runtime = runtime(bundle)
        self._stage = stage
        self._known: dict[tuple[Fact, ...], Judgement] = {}

    def __call__(self, facts: Sequence[Fact]) -> Judgement:
        """Return what the rules say of `facts`."""
        key = tuple(facts)
        if key not in self._known:
            self._known[key] = self._gate.conclude(self._stage, facts)
        return self._known[key]

    def cause(self, judgement: Judgement) -> tuple[str, str]:
        """Return rule and reason of a verdict, both empty where a rule set that is off said it."""
        said: Finding | None = next((each for each in judgement.findings if each.verdict == judgement.verdict), None)
        return (self._gate.program.rules[said.rule].name, said.reason) if said else ("", "")


def sweep(
    store: Store,
    bundle: Bundle,
    *,
    lessons: Iterable[str] | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> list[Change]:
    """Promote, demote and retire what has earned it, and return the changes in the order in which they were made.

    Args:
        store: where the lessons are kept.
        bundle: the policies, of which the rules of stage `sweep` decide.
        lessons: look at these alone; an older id means the lesson that stands for it now. All lessons in use where absent.
        dry_run: change nothing, and return what would change.
        progress: hears how many of how many lessons were looked at, of which their row does not say that nothing happened.

    Raises:
        ReflectGateError: `lesson-unknown` where an id names no lesson.
        StoreError: the store cannot be read or written; `store-moved` where others kept writing all the while.
    """
    judge = Judge(bundle, "sweep")
    names = list(_touched(store, judge)) if lessons is None else _standing(store, lessons)
    return commit_each(store, names, lambda name: _plan(store, name, judge), dry_run=dry_run, progress=progress)


def _touched(store: Store, judge: Judge) -> Iterator[str]:
    """Yield the lessons in use that the rules could move: of most, their row alone says that they stay."""
    for standing in IN_USE:
        for row in store.iterate("lessons", {"standing": standing}):
            quiet = untouched(row)
            if quiet is None or judge(quiet.facts()).verdict != "keep":
                yield row["id"]


def _standing(store: Store, lessons: Iterable[str]) -> list[str]:
    """Return the lessons that stand for these ids now, each once."""
    found = {name: current(store, name) for name in lessons}
    raise_all(
        ReflectGateError("lesson-unknown", f"the store has no lesson `{name}`") for name, row in found.items() if row is None
    )
    return list(dict.fromkeys(row["id"] for row in found.values() if row is not None))


def commit_each(
    store: Store,
    subjects: Sequence[T],
    plan: Callable[[T], Plan | None],
    *,
    dry_run: bool,
    progress: Callable[[int, int], None] | None,
) -> list[Change]:
    """Make the change that `plan` comes to for each subject in turn; `progress` hears how many of how many were looked at."""
    changes = []
    for count, subject in enumerate(subjects, 1):
        change = _committed(store, partial(plan, subject), dry_run=dry_run)
        if change is not None:
            changes.append(change)
        if progress is not None:
            progress(count, len(subjects))
    return changes


def _committed(store: Store, plan: Callable[[], Plan | None], *, dry_run: bool) -> Change | None:
    """Make the change that `plan` comes to, planning again whenever the store has moved since it was read."""
    from reflect_store import StoreError

    for attempt in range(ATTEMPTS):
        version = store.version
        planned = plan()
        if planned is None or dry_run:
            return planned.change if planned else None
        try:
            store.append(planned.drafts, expected_version=version)
        except StoreError as error:
            if error.code != "store-moved" or attempt == ATTEMPTS - 1:
                raise
            continue
        return planned.change._replace(events=tuple(draft.id for draft in planned.drafts))
    return None


def _plan(store: Store, name: str, judge: Judge) -> Plan | None:
    """Return what a lesson has earned, `None` where it stays as it is."""
    row = store.get("lessons", name)
    if row is None or row["standing"] not in IN_USE:
        return None
    measured = tenure(store, row)
    judgement = judge(measured.facts())
    rule, reason = judge.cause(judgement)
    rank = LEVELS.index(row["level"])
    if judgement.verdict == "retire" or (judgement.verdict == "demote" and rank == 0):
        return _retired(row, measured, rule, reason)
    if judgement.verdict == "demote":
        return _demoted(store, row, measured, rule, reason)
    if judgement.verdict == "promote" and rank + 1 < len(LEVELS):
        return _promoted(row, measured, rule, reason)
    return None


def _change(action: Action, row: Row, level: str, by: str | None, measured: Tenure, why: tuple[str, str]) -> Change:
    return Change(action, row["id"], row["level"], level, by, measured.red_flag, *why, measured=measured.to_json())


def _said(reason: str, measured: Mapping[str, Any]) -> str:
    """Return the reason that an event keeps: the rule's code with what was measured."""
    counted = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in measured.items() if type(value) is int)
    return f"{reason}: {counted}"


def _promoted(row: Row, measured: Tenure, rule: str, reason: str) -> Plan:
    from reflect_store import draft

    level = LEVELS[LEVELS.index(row["level"]) + 1]
    why = {"rule": rule, "reason": _said(reason, measured.to_json())}
    event = draft("lesson-promoted", {"lesson_id": row["id"], "level": level, **why})
    return Plan(_change("promote", row, level, None, measured, (rule, reason)), (event,))


def _demoted(store: Store, row: Row, measured: Tenure, rule: str, reason: str) -> Plan:
    """A successor one level down takes its place; it is counted anew, and its ancestor keeps what was counted."""
    from reflect_store import draft

    level = LEVELS[LEVELS.index(row["level"]) - 1]
    name = f"lesson-{digest(['successor', row['id'], since_level(store, row)])[:24]}"
    counts = {"times_applied": 0, "times_helped": 0, "times_hurt": 0}
    successor = {**row["lesson"], **counts, "type": level, "supersedes": row["id"], "superseded_by": None}
    envelope = {field: value for field, value in row["envelope"].items() if field != "status"}
    why = {"rule": rule, "reason": _said(reason, measured.to_json())}
    payload = {"lesson_id": row["id"], "successor": successor, "envelope": {**envelope, "lesson_id": name}, **why}
    event = draft("lesson-demoted", payload)
    return Plan(_change("demote", row, level, name, measured, (rule, reason)), (event,))


def _retired(row: Row, measured: Tenure, rule: str, reason: str) -> Plan:
    tombstone, event = retirement(row, rule, _said(reason, measured.to_json()))
    return Plan(_change("retire", row, row["level"], tombstone, measured, (rule, reason)), (event,))


def retirement(row: Row, rule: str, reason: str) -> tuple[str, Draft]:
    """Return the tombstone id of a lesson that goes out of use, and the event by which it does."""
    from reflect_store import draft

    tombstone = f"tombstone-{digest(['tombstone', row['id']])[:24]}"
    payload = {"lesson_id": row["id"], "tombstone_id": tombstone, "rule": rule, "reason": reason}
    return tombstone, draft("lesson-retired", payload)
