"""What became of a lesson, counted from a store: tasks that it helped and hurt, where, and what falsifies it. Rules decide on it.

Counts are of *distinct tasks* and start anew at the lesson's last change of level. What cannot be told counts for nothing: a task
whose repository is unknown helped nowhere else, and a lesson whose own repository is unknown is never known to help elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..facts import Fact
from .scope import Scope

if TYPE_CHECKING:
    from reflect_store import Row, Store

__all__ = [
    "Tally",
    "Tenure",
    "counterexamples",
    "current",
    "lineage",
    "repository",
    "since_level",
    "tally",
    "task_key",
    "tenure",
    "untouched",
]

_MOST_ANCESTORS = 64


class Tally(NamedTuple):
    """Distinct tasks since a moment: those that were helped and hurt, each with its repository, empty where unknown."""

    helped: frozenset[tuple[str, str]]
    hurt: frozenset[tuple[str, str]]


class Tenure(NamedTuple):
    """A lesson's life since its last change of level, as the fact `tenure` holds it."""

    level: str
    helped_elsewhere: int
    repositories: int
    hurt: int
    counterexamples: int
    red_flag: bool

    def facts(self) -> list[Fact]:
        """Return the `tenure` fact."""
        return [("tenure", *self)]

    def to_json(self) -> dict[str, Any]:
        """Return the measures by name."""
        return self._asdict()


def repository(origin: Mapping[str, Any]) -> str:
    """Return the repository of an origin in canonical form, empty where it is unknown: its URLs are one repository."""
    given = origin.get("repository") or ""
    return str(Scope.place([("repo", given)])) if given else ""


def task_key(outcome: Row) -> tuple[str, str]:
    """Return repository and task of an outcome: the same task counts once, however often it was tried."""
    origin = outcome["origin"]
    return repository(origin), " ".join(str(origin.get("task") or "").split()) or str(outcome["outcome_id"])


def tally(store: Store, lesson_ids: Iterable[str], since: str) -> Tally:
    """Return the tasks that lessons helped and hurt after the time `since`; a task that had both counts as hurt."""
    tasks: dict[str, set[tuple[str, str]]] = {"helped": set(), "hurt": set()}
    for name in lesson_ids:
        for outcome in store.iterate("outcomes", {"counted_on": name}):
            if outcome["time"] > since and not outcome["withheld"] and outcome["effect"] in tasks:
                tasks[outcome["effect"]].add(task_key(outcome))
    return Tally(frozenset(tasks["helped"] - tasks["hurt"]), frozenset(tasks["hurt"]))


def current(store: Store, lesson_id: str) -> Row | None:
    """Return the lesson that stands for an id now: a superseded one leads to its successor; `None` where there is no such id."""
    row, seen = store.get("lessons", lesson_id), {lesson_id}
    while row is not None and row["standing"] == "superseded" and row["lesson"]["superseded_by"] not in seen:
        seen.add(row["lesson"]["superseded_by"])
        row = store.get("lessons", row["lesson"]["superseded_by"]) or row
    return row


def lineage(store: Store, row: Row) -> frozenset[str]:
    """Return the ids of a lesson and of those that it was before it fell: what was recalled by an older id was this lesson.

    A lesson that it replaced said something else, and is none of them.
    """
    names, older = [row["id"]], row["lesson"]["supersedes"]
    while older and older not in names and len(names) < _MOST_ANCESTORS:
        found = store.get("lessons", older)
        if found is None or found["lesson"]["statement"] != row["lesson"]["statement"]:
            break
        names.append(older)
        older = found["lesson"]["supersedes"]
    return frozenset(names)


def _said_against(store: Store, row: Row, since: str) -> Iterator[str]:
    """Yield the failures that were added as counterexamples after `since`; those of a merged candidate only narrowed it."""
    for said in store.iterate("corroborations", {"lesson_id": row["id"]}):
        if said["time"] > since and not said.get("decision_id"):
            yield from said["counterexamples"]


def counterexamples(store: Store, row: Row, since: str) -> frozenset[str]:
    """Return the failures that falsify a lesson since a moment: of its signature, after it or one that it succeeds was recalled.

    Whether a failure was executed and lies in the lesson's scope was judged when it was added (`applying`).
    """
    if not row["lesson"]["counterexamples"]:
        return frozenset()
    names, found = lineage(store, row), set()
    for failure in _said_against(store, row, since):
        termination = store.get("terminations", failure)
        if termination and termination["signature"] in row["signatures"] and names & set(termination["recalled"]):
            found.add(failure)
    return frozenset(found)


def _home(store: Store, row: Row) -> frozenset[str]:
    """Return the repositories that a lesson comes from: where it was learned, and where it was corroborated."""
    found = {repository(row["origin"]), repository(row["envelope"]["project"])}
    for failure in row["lesson"]["derived_from"]["failures"]:
        termination = store.get("terminations", failure)
        if termination:
            found.add(repository(termination["origin"]))
    support = (
        said for said in store.iterate("corroborations", {"lesson_id": row["id"]}) if said["failures"] or said["successes"]
    )
    found.update(repository(said["origin"]) for said in support)
    return frozenset(found) - {""}


def since_level(store: Store, row: Row) -> str:
    """Return the moment from which a lesson is counted: its last change of level, or that a person brought it back.

    What had taken a lesson out of use was judged by that person, so it does not take it out again.
    """
    life = store.iterate("history", {"lesson_id": row["id"]})
    moments: list[str] = [row["since"], *(entry["time"] for entry in life if entry["type"] == "lesson-restored")]
    return max(moments)


def untouched(row: Row) -> Tenure | None:
    """Return the tenure of a lesson of which its row says that nothing happened since its last change of level, else `None`."""
    if any(row["since_level"].values()) or row["lesson"]["counterexamples"]:
        return None
    return Tenure(row["level"], 0, 0, 0, 0, bool(row["envelope"]["red_flag"]))


def tenure(store: Store, row: Row) -> Tenure:
    """Return a lesson's life since it is counted.

    Args:
        store: where its outcomes are kept.
        row: the lesson's row of the projection `lessons`.
    """
    quiet = untouched(row)
    if quiet is not None:
        return quiet
    since = since_level(store, row)
    counted = tally(store, [row["id"]], since)
    home = _home(store, row) if counted.helped else frozenset()
    elsewhere = {task for task in counted.helped if home and task[0] and task[0] not in home}
    return Tenure(
        level=row["level"],
        helped_elsewhere=len(elsewhere),
        repositories=len({task[0] for task in elsewhere}),
        hurt=len(counted.hurt),
        counterexamples=len(counterexamples(store, row, since)),
        red_flag=bool(row["envelope"]["red_flag"]),
    )
