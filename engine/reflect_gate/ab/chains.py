"""Records replayed in the order of time through a store: what remembers has a say only there.

Each record is a failure that is met: lessons are recalled for the next attempt, the reflection is judged against the store and
committed, and how the next attempt ended is recorded for the lessons that were recalled. The next attempt of a log never saw
those lessons, so that what is counted as helped says how lessons and outcomes fall together, not that one caused the other.
Only where a world says what a lesson brings about (`Ends`) does an end follow from what was recalled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ..corpus._intervals import Row
from ..corpus.figures import Case, contrasted, difference
from ..memory.applying import Applied, apply
from ..memory.recording import Outcome, Proof, record
from ..memory.retrieving import Query, log, retrieve
from ..memory.settling import sweep_all
from ..stages.record import After, Before
from .ablating import BAND, idle, shown
from .comparing import Plan

if TYPE_CHECKING:
    from reflect_store import EventStore

    from ..policy import Bundle

__all__ = ["CHAINED", "SWEEP_EVERY", "Chain", "End", "Ends", "Step", "chained", "replay"]

CHAINED: Final = ("dedupe", "generalization", "lifecycle", "retrieval", "adjudication", "outcome")
"""The rule sets that have a say in time."""

SWEEP_EVERY: Final = 50
"""Records between two sweeps of everything."""

_BETTER: Final = {"helped": 1, "hurt": -1, "shown": 1}

_TEXT = 8_000

_ANSWERS: Final = frozenset({"lesson-retired", "lesson-demoted", "lesson-promoted", "flag-resolved"})
"""Events by which the lifecycle answers while a failure is being committed."""


class Step(NamedTuple):
    """A record in its turn: the request, the group that it belongs to, and its outcomes where both are known."""

    request: Mapping[str, Any]
    group: str
    case: Case | None


class End(NamedTuple):
    """How the attempt ended that was shown lessons, and how the task stood before it.

    `met` is the request of the failure that the attempt met with these lessons at hand, where it met one of its own.
    """

    after: After
    before: Before = "failing"
    met: Mapping[str, Any] | None = None


Ends: TypeAlias = Callable[[Step, Sequence[str]], End]
"""What a world says of the next attempt at a step, given the statements of the lessons that it was shown, the best first."""


class Chain(NamedTuple):
    """What became of a replay.

    Attributes:
        recalls: of each step in order, how many lessons were recalled, and how many of those counted as helped and as hurt.
        said: how often each rule set had a say.
        actions: what committing came to, by action.
        lessons: lessons in use at the end.
    """

    recalls: tuple[tuple[str, int, int, int], ...]
    said: Mapping[str, int]
    actions: Mapping[str, int]
    lessons: int


def replay(steps: Sequence[Step], bundle: Bundle, ends: Ends | None = None) -> Chain:
    """Replay `steps` in order through a store in memory.

    Args:
        steps: the records in the order of time.
        bundle: the policies.
        ends: how attempts end that are shown lessons; where absent, as the log says of its own next attempt.

    Raises:
        ReflectGateError: a request cannot be judged; what a store refuses of one record raises too.
    """
    from reflect_store.memory import memory_store

    store = memory_store()
    try:
        run = _Replay(store, bundle, ends)
        for number, step in enumerate(steps, 1):
            run.take(step)
            if number % SWEEP_EVERY == 0:
                run.sweep()
        run.sweep()
        return run.chain()
    finally:
        store.close()


class _Replay:
    def __init__(self, store: EventStore, bundle: Bundle, ends: Ends | None) -> None:
        self._store = store
        self._bundle = bundle
        self._ends = ends
        self._neutral = {ruleset.name: ruleset.neutral for ruleset in bundle.rulesets}
        self._recalls: list[tuple[str, int, int, int]] = []
        self._said: Counter[str] = Counter()
        self._actions: Counter[str] = Counter()

    def take(self, step: Step) -> None:
        """Recall for a record, judge it, and record how it ended."""
        recalled = retrieve(self._store, _query(step), self._bundle)
        self._said["retrieval"] += recalled.proposed > 0
        names = [shown.match.lesson_id for shown in recalled.shown]
        if names:
            log(self._store, recalled)
        # The attempt that failed never saw them: they are recalled for the next one, and its end is what they are counted by.
        self._judge(step.request)
        end = self._end(step, names) if names else None
        effects: list[str] = []
        if end is not None:
            ended = record(self._store, self._bundle, _outcome(step, end), retrieval_id=recalled.retrieval_id)
            effects = list(ended.effects.values())
            self._said["outcome"] += len(effects)
            self._changed(ended.changes)
            if end.met is not None:
                self._judge({**end.met, "recalled": names})
        self._recalls.append((step.group, len(effects), effects.count("helped"), effects.count("hurt")))

    def _judge(self, request: Mapping[str, Any]) -> None:
        """Judge a failure against the store, and count what was said of it."""
        applied = apply(self._store, request, self._bundle)
        self._actions[applied.action] += 1
        for found in applied.decision.findings:
            self._said[found["ruleset"]] += found["verdict"] != self._neutral.get(found["ruleset"])
        self._fell(applied)

    def _fell(self, applied: Applied) -> None:
        """Count what the lifecycle answered to a failure that speaks against the lessons that were recalled into it."""
        for name in applied.events:
            event = self._store.event(name)
            if event is not None and event.type in _ANSWERS:
                self._said[str((event.data() or {}).get("rule", "")).partition("/")[0]] += 1
                self._actions[event.type] += 1

    def _end(self, step: Step, names: Sequence[str]) -> End | None:
        if self._ends is not None:
            rows = [self._store.get("lessons", name) for name in names]
            return self._ends(step, [row["lesson"]["statement"] for row in rows if row is not None])
        return None if step.case is None else _logged(step.case)

    def sweep(self) -> None:
        """Let lessons rise, fall and go, and settle what contradicts."""
        self._changed(sweep_all(self._store, self._bundle))

    def _changed(self, changes: Sequence[Any]) -> None:
        for change in changes:
            self._said[change.rule.partition("/")[0]] += 1
            self._actions[change.action] += 1

    def chain(self) -> Chain:
        """Return what has become of it."""
        lessons = sum(self._store.count("lessons", {"standing": standing}) for standing in ("active", "flagged"))
        return Chain(tuple(self._recalls), dict(self._said), dict(self._actions), lessons)


def _query(step: Step) -> Query:
    """Return the task of a record as it is met: its statement, the first failing check, its place. Its name is this failure's."""
    record_ = step.request["record"]
    stated = next((item["text"] for item in record_["traces"] if item["kind"] == "spec"), "")
    failing = next((item["text"] for item in record_["traces"] if item.get("passed") is False), "")
    project = step.request.get("project") or {}
    task, language = project.get("task", ""), project.get("language", "")
    return Query(
        text=stated[:_TEXT] or step.group,
        error=failing[:_TEXT],
        hints=(f"task:{'-'.join(task.split())}",) if task else (),
        language=language,
        repository=project.get("repository", ""),
        task=record_["failure_id"],
        session=record_["failure_id"],
    )


def _logged(case: Case) -> End:
    after: After = "resolved" if case.helped() else "worse" if case.harmed() else "unchanged"
    return End(after, "passing" if case.before else "failing")


def _outcome(step: Step, end: End) -> Outcome:
    passed = end.after == "resolved" or (end.after == "unchanged" and end.before == "passing")
    return Outcome(end.after, end.before, Proof(exit_code=int(not passed)), {"task": step.request["record"]["failure_id"]})


# -- verdicts --------------------------------------------------------------------------------------------------------------------


def chained(full: Chain, without: Mapping[str, Chain], plan: Plan, least: int) -> list[dict[str, Any]]:
    """Return a line for each rule set: its verdict by helped and hurt of what was recalled, tasks shown, and lessons kept."""
    return [_line(name, full, other, plan, least) for name, other in without.items()]


def _line(name: str, full: Chain, other: Chain, plan: Plan, least: int) -> dict[str, Any]:
    measures = {measure: _measured(f"{name}:{measure}", measure, full, other, plan) for measure in _BETTER}
    fired = full.said.get(name, 0)
    changed = full._replace(said={}) != other._replace(said={})
    verdict, why = _judged(fired, measures, (full.lessons, other.lessons), least)
    return {
        "name": name,
        "fired": fired,
        "inert": fired > 0 and not changed,
        "verdict": verdict,
        "why": why,
        **measures,
        "lessons": {"with": full.lessons, "without": other.lessons},
    }


def _measured(seed: str, measure: str, full: Chain, other: Chain, plan: Plan) -> dict[str, Any]:
    rows: list[Row] = [
        (mine[0], (*_count(measure, theirs), *_count(measure, mine)))
        for mine, theirs in zip(full.recalls, other.recalls, strict=True)
    ]
    sums = [sum(counts[place] for _, counts in rows) for place in range(4)]
    compared = contrasted(seed, rows, difference, plan.text, plan.resamples)
    return {
        "with": round(sums[2] / sums[3], 4) if sums[3] else None,
        "without": round(sums[0] / sums[1], 4) if sums[1] else None,
        "value": compared["value"],
        "cluster": compared["cluster"],
    }


def _count(measure: str, recall: tuple[str, int, int, int]) -> tuple[int, int]:
    _, applied, helped, hurt = recall
    return {"helped": (helped, applied), "hurt": (hurt, applied), "shown": (int(applied > 0), 1)}[measure]


def _judged(fired: int, measures: Mapping[str, Mapping[str, Any]], lessons: tuple[int, int], least: int) -> tuple[str, str]:
    if fired < least:
        return "unexercised", f"had a say {fired} times, fewer than {least}"
    worse = [name for name in _BETTER if _loss(name, measures[name]) > BAND]
    told = [name if shown(measures[name]) else f"{name} (within noise)" for name in worse]
    if lessons[1] > lessons[0] * (1 + BAND):
        told.append("lessons kept")
    better = [name for name in ("helped", "hurt") if _loss(name, measures[name]) < -BAND and shown(measures[name])]
    if told:
        return "KEEP", f"without it worse {', '.join(told)}" + (f", though better {' and '.join(better)}" if better else "")
    if better:
        return "HARM", f"without it better {' and '.join(better)}, beyond noise"
    return "DELETE", idle([name for name in _BETTER if _loss(name, measures[name]) < -BAND], measures, changed=True)


def _loss(name: str, measure: Mapping[str, Any]) -> float:
    before, after = measure["with"], measure["without"]
    if before is None or before == after:
        return 0.0
    if after is None:
        return 1.0
    loss = (before - after) * _BETTER[name]
    return float(loss / before) if before else float(loss > 0) or -1.0
