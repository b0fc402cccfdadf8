"""What lessons do for tasks: those that got a lesson beside those from which it was randomly withheld.

Counting helped tasks alone flatters a lesson: many tasks are resolved without it. Where a share of the matching lessons is
withheld by chance (`retrieval.holdout`), the two groups differ in nothing else, and the difference is the lesson's doing. Tasks
count once, and only where an exit code or a test report shows how they ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..errors import ReflectGateError
from ..intervals import Interval, difference, wilson
from ..measure.tenure import current, lineage, task_key

if TYPE_CHECKING:
    from reflect_store import Row, Store

    from ..policy import Bundle

__all__ = ["CAVEATS", "Effect", "Side", "effect_of", "effects"]

TOO_FEW: Final = "too few to tell"
HELPS: Final = "helps"
HURTS: Final = "hurts"
UNSEEN: Final = "no difference seen"

CAVEATS: Final = (
    "tasks count as independent of each other; sessions of one task count once",
    "lessons that were recorded without a retrieval could not have been withheld, so they are left out",
    "tasks from before a share of lessons was withheld count as given; compare with that in mind",
)

_EXECUTED: Final = frozenset({"exit_code", "passed", "failed"})


class Side(NamedTuple):
    """Executed tasks of one group: all, those failing before, those of these that were resolved, those that got worse."""

    tasks: int = 0
    failing: int = 0
    resolved: int = 0
    worse: int = 0

    def plus(self, outcome: Row) -> Side:
        """Return the group with one more task."""
        failing = outcome["before"] == "failing"
        resolved = failing and outcome["outcome"] == "resolved"
        return Side(
            self.tasks + 1, self.failing + failing, self.resolved + resolved, self.worse + (outcome["outcome"] == "worse")
        )

    def together(self, other: Side) -> Side:
        """Return both groups as one."""
        return Side(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def to_json(self) -> dict[str, Any]:
        """Return the counts with the intervals of both shares."""
        intervals = {
            "resolved_interval": rounded(wilson(self.resolved, self.failing)),
            "worse_interval": rounded(wilson(self.worse, self.tasks)),
        }
        return {**self._asdict(), **intervals}


class Effect(NamedTuple):
    """A lesson's two groups of tasks; `lesson_id` is empty for all lessons together."""

    lesson_id: str
    given: Side
    withheld: Side

    @property
    def resolved_difference(self) -> Interval | None:
        """The share resolved of failing tasks, given less withheld, with its 95 % interval."""
        return difference(self.given.resolved, self.given.failing, self.withheld.resolved, self.withheld.failing)

    @property
    def worse_difference(self) -> Interval | None:
        """The share that got worse, given less withheld, with its 95 % interval."""
        return difference(self.given.worse, self.given.tasks, self.withheld.worse, self.withheld.tasks)

    def says(self, least: int) -> str:
        """Return what can be said of the difference where `least` failing tasks on each side are enough to say anything."""
        resolved, worse = self.resolved_difference, self.worse_difference
        if min(self.given.failing, self.withheld.failing) < least or resolved is None or worse is None:
            return TOO_FEW
        if resolved[1] < 0 or worse[0] > 0:
            return HURTS
        return HELPS if resolved[0] > 0 else UNSEEN

    def to_json(self, least: int) -> dict[str, Any]:
        """Return the groups, the intervals and what can be said."""
        return {
            "lesson_id": self.lesson_id,
            "given": self.given.to_json(),
            "withheld": self.withheld.to_json(),
            "resolved_difference": rounded(self.resolved_difference),
            "worse_difference": rounded(self.worse_difference),
            "says": self.says(least),
        }


def rounded(interval: Interval | None) -> list[float] | None:
    """Return an interval as data, to four places."""
    return None if interval is None else [round(end, 4) for end in interval]


def least_compared(bundle: Bundle) -> int:
    """Return how many tasks on each side are enough to say anything."""
    return int(bundle.setting("outcome.min_compared"))


def effect_of(store: Store, lesson_id: str) -> Effect:
    """Return the effect of a lesson, with the tasks of the lessons that it succeeds.

    Raises:
        ReflectGateError: `lesson-unknown` where an id names no lesson.
    """
    row = current(store, lesson_id)
    if row is None:
        raise ReflectGateError("lesson-unknown", f"the store has no lesson `{lesson_id}`")
    outcomes = (outcome for name in sorted(lineage(store, row)) for outcome in store.iterate("outcomes", {"counted_on": name}))
    return next(_grouped(store, outcomes, row["id"]), Effect(row["id"], Side(), Side()))


def effects(store: Store) -> list[Effect]:
    """Return the effect of all lessons together, then of each that was withheld from a task, those with most tasks first."""
    found = list(_grouped(store, store.iterate("outcomes")))
    given, withheld = Side(), Side()
    for effect in found:
        given, withheld = given.together(effect.given), withheld.together(effect.withheld)
    compared = [effect for effect in found if effect.withheld.tasks]
    compared.sort(key=lambda effect: (-(effect.given.tasks + effect.withheld.tasks), effect.lesson_id))
    return [Effect("", given, withheld), *compared]


def _grouped(store: Store, outcomes: Iterable[Row], lesson_id: str | None = None) -> Iterator[Effect]:
    """Yield the groups of each lesson, or of `lesson_id` for all of `outcomes`; a task counts once, by its first end."""
    sides: dict[str, dict[bool, Side]] = {}
    seen: set[tuple[str, bool, tuple[str, str]]] = set()
    for outcome in outcomes:
        name, withheld = lesson_id or outcome["counted_on"], bool(outcome["withheld"])
        key = (name, withheld, task_key(outcome))
        if name is None or key in seen or not outcome["retrieval_id"] or not _executed(store, outcome):
            continue
        seen.add(key)
        groups = sides.setdefault(name, {False: Side(), True: Side()})
        groups[withheld] = groups[withheld].plus(outcome)
    for name in sorted(sides):
        yield Effect(name, sides[name][False], sides[name][True])


def _executed(store: Store, outcome: Row) -> bool:
    event = store.event(outcome["event"])
    data = event.data() if event else None
    return data is not None and not _EXECUTED.isdisjoint(data["evidence"])
