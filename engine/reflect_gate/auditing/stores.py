"""The ways in which a store can lie (S2 7.5), each as a check with a threshold in the rule set's settings.

Lessons are looked at by sample: those with the smallest hashes of their ids, so that the same store gives the same answer.
Nothing is written. What a check measured is said whether it fails or not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..errors import ReflectGateError
from ..facts import Fact
from ..measure.tenure import counterexamples, tenure
from ..memory.applying import decision_of
from ..memory.rejudging import Kept, kept
from ..memory.retrieving import CAP, Query, retrieve
from ..memory.sweeping import IN_USE
from ..runtime import Runtime
from .entries import Entry
from .judging import conclude, gate_of
from .markdown import prose_of
from .measuring import measure

if TYPE_CHECKING:
    from reflect_store import Row, Store

    from ..policy import Bundle

__all__ = ["CHECKS", "Check", "StoreAudit", "audit_store"]

CHECKS: Final = {
    "introspection-in-disguise": "what the model says is stored without being held to evidence",
    "confabulated-cause": "lessons state causes that their cited evidence does not support",
    "blame-deflection": "lessons look for the cause elsewhere",
    "shallow-restatement": "lessons restate the line that went wrong",
    "unfalsifiable-store": "lessons that did harm stay in use",
    "retrieval-miss": "the store holds the right lesson and does not show it",
}
"""The checks in order, with what it means that one fails."""

_FACTS: Final = dict(zip(("admitting", "fidelity", "deflecting", "restating", "revising", "surfacing"), CHECKS, strict=True))
_CLAIMS: Final = ("failed_assumption", "overlooked_evidence", "strategy_error", "violated_invariant", "candidate_lesson")
_SHOWING: Final = frozenset({"error", "test_output", "tool_output", "log"})
_MOST_FAILURES: Final = 10_000
_MOST_ANCESTORS: Final = 64
_EXAMPLES: Final = 20
_BATCH: Final = 64


class Check(NamedTuple):
    """One check: the rules that said that it fails, what was measured, and some of the lessons or failures that it fails by."""

    name: str
    rules: tuple[str, ...]
    measured: Mapping[str, Any]
    examples: tuple[str, ...]

    @property
    def failed(self) -> bool:
        """Whether a rule says so."""
        return bool(self.rules)


class StoreAudit(NamedTuple):
    """The checks of a store, how many lessons it has in use, and how many of them were looked at."""

    checks: tuple[Check, ...]
    lessons: int
    sampled: int


class _Lesson(NamedTuple):
    """A lesson in use, with the decision that it was born by where the store still has it."""

    row: Row
    born: Kept | None
    redacted: bool


class _Part(NamedTuple):
    fact: Fact
    examples: Sequence[str]


def _up(part: int, whole: int) -> int:
    """Return a share in hundredths, rounded up."""
    return -(-100 * part // whole) if whole else 0


def _born(store: Store, row: Row) -> tuple[Kept | None, bool]:
    """Return the decision that a lesson, or the one that it was before it fell, was born by; whether it was redacted."""
    for _ in range(_MOST_ANCESTORS):
        if row["decision_id"]:
            try:
                return kept(store, row["decision_id"]), False
            except ReflectGateError as error:
                return None, error.code == "decision-redacted"
        older = store.get("lessons", row["lesson"]["supersedes"]) if row["lesson"]["supersedes"] else None
        if older is None:
            break
        row = older
    return None, False


def _sample(store: Store, most: int) -> tuple[list[_Lesson], int]:
    rows = [row for standing in IN_USE for row in store.iterate("lessons", {"standing": standing})]
    rows.sort(key=lambda row: hashlib.sha256(row["id"].encode("utf-8", "replace")).digest())
    return [_Lesson(row, *_born(store, row)) for row in rows[:most]], len(rows)


def _admitting(store: Store, sample: Sequence[_Lesson]) -> _Part:
    decided = store.count("decisions")
    refused = decided - store.count("decisions", {"status": "admitted"})
    trials = helped = 0
    for row in store.iterate("lessons"):
        trials += row["lesson"]["times_applied"]
        helped += row["lesson"]["times_helped"]
    loose = [lesson.row["id"] for lesson in sample if not lesson.redacted and not _grounded(lesson)]
    shares = 100 * refused // decided if decided else 0, 100 * helped // trials if trials else 0
    return _Part(("admitting", decided, shares[0], len(sample), len(loose), trials, shares[1]), loose)


def _grounded(lesson: _Lesson) -> bool:
    """Return whether a rule, not a rule set that is off, called a lesson grounded when it was admitted."""
    found = lesson.born.decision.findings if lesson.born else ()
    return any(finding["stage"] == "ground" and finding["verdict"] == "grounded" for finding in found)


def _fidelity(sample: Sequence[_Lesson], bundle: Bundle) -> _Part:
    on = any(ruleset.on for ruleset in bundle.rulesets_of("ground"))
    judged = [lesson for lesson in sample if lesson.born is not None] if on else []
    bad = [lesson.row["id"] for lesson in judged if not _faithful(lesson, bundle)]
    return _Part(("fidelity", len(judged), _up(len(bad), len(judged))), bad)


def _faithful(lesson: _Lesson, bundle: Bundle) -> bool:
    if lesson.born is None:
        return False
    try:
        ground = decision_of(lesson.born.request, bundle).stages["ground"]
    except ReflectGateError as error:
        if error.code.startswith("engine-"):
            raise
        return False
    return bool(ground and ground["grounded"])


def _deflecting(sample: Sequence[_Lesson], gate: Runtime) -> _Part:
    blaming = [lesson for lesson in sample if _blames(lesson, gate)]
    loose = [lesson.row["id"] for lesson in blaming if not _excused(lesson, gate.bundle)]
    fact = ("deflecting", len(sample), _up(len(blaming), len(sample)), len(loose))
    return _Part(fact, loose or [lesson.row["id"] for lesson in blaming])


def _blames(lesson: _Lesson, gate: Runtime) -> bool:
    reflection = lesson.born.request["reflection"] if lesson.born else {}
    texts = {name: str(reflection[name]) for name in _CLAIMS if name in reflection}
    texts["statement"] = lesson.row["lesson"]["statement"]
    return any(hit.lexicon == "outward-blame" for hit in gate.lexicons.hits(texts))


def _excused(lesson: _Lesson, bundle: Bundle) -> bool:
    """Return whether a lesson that blames outward is capped, corroborated, or was cleared by the rules for blame."""
    said, envelope = lesson.row["lesson"], lesson.row["envelope"]
    least = 1 + int(_setting(bundle, "blame.min_corroborations", 2))
    if envelope["red_flag"] or said["confidence"] <= float(_setting(bundle, "blame.lowest", 0.1)):
        return True
    cleared = any(finding["ruleset"] == "blame" for finding in (lesson.born.decision.findings if lesson.born else ()))
    return cleared or len(set(said["derived_from"]["failures"])) >= least


def _setting(bundle: Bundle, key: str, default: Any) -> Any:
    return bundle.settings[key].value if key in bundle.settings else default


def _restating(sample: Sequence[_Lesson], gate: Runtime) -> _Part:
    shallow: list[str] = []
    for first in range(0, len(sample), _BATCH):
        facts: list[Fact] = []
        for lesson in sample[first : first + _BATCH]:
            said = lesson.row["lesson"]["statement"]
            facts += measure(Entry(lesson.row["id"], said, prose_of(said)), gate.lexicons).facts
        shallow += [said.about for said in conclude(gate, facts) if said.reason == "shallow"]
    found = list(dict.fromkeys(shallow))
    return _Part(("restating", len(sample), _up(len(found), len(sample))), found)


def _revising(store: Store, bundle: Bundle) -> _Part:
    most = int(_setting(bundle, "lifecycle.demote_after", 3))
    revised, kept_on = 0, []
    for row in store.iterate("lessons"):
        if row["standing"] in IN_USE:
            life = tenure(store, row)
            if life.hurt >= most or life.counterexamples:
                kept_on.append(row["id"])
        elif row["lesson"]["times_hurt"] >= most or counterexamples(store, row, ""):
            revised += 1
    harmful = revised + len(kept_on)
    return _Part(("revising", harmful, 100 * revised // harmful if harmful else 0), kept_on)


def _repeats(store: Store) -> Iterator[tuple[str, bool]]:
    """Yield each failure that a lesson in use explained before it happened, and whether such a lesson was recalled into it."""
    for failure in islice(store.iterate("terminations", newest=True), _MOST_FAILURES):
        names = {edge["lesson_id"] for edge in store.iterate("edges", {"signature": failure["signature"]})}
        rows = [row for row in (store.get("lessons", name) for name in sorted(names)) if row is not None]
        older = {row["id"] for row in rows if row["standing"] in IN_USE and row["time"] < failure["time"]}
        if older:
            session = failure["origin"].get("session")
            shown = set(failure["recalled"])
            for seen in store.iterate("retrievals", {"session": session}) if session else ():
                shown |= set(seen["lesson_ids"])
            yield failure["failure_id"], bool(older & shown)


def _surfacing(store: Store, sample: Sequence[_Lesson], bundle: Bundle) -> _Part:
    repeats = list(_repeats(store))
    unseen = [name for name, seen in repeats if not seen]
    asked = missed = 0
    lost = []
    for lesson in sample:
        query = None if lesson.row["envelope"]["red_flag"] else _query(store, lesson.row)
        if query is not None:
            asked += 1
            if not _shown(store, lesson.row, query, bundle):
                missed += 1
                lost.append(lesson.row["id"])
    return _Part(("surfacing", len(repeats), _up(len(unseen), len(repeats)), asked, _up(missed, asked)), [*lost, *unseen])


def _query(store: Store, row: Row) -> Query | None:
    """Return what the failure that a lesson comes from asks, `None` where the store does not know it any more."""
    failures = row["lesson"]["derived_from"]["failures"]
    failure = store.get("terminations", failures[0]) if failures else None
    event = store.event(failure["event"]) if failure else None
    data = event.data() if event else None
    if failure is None or data is None or row["standing"] != "active":
        return None
    texts = [item["text"] for item in data["record"]["traces"] if item["kind"] in _SHOWING]
    origin = {key: value for key, value in data["origin"].items() if key in {"repository", "language", "task", "commit"}}
    paths = tuple(dict.fromkeys(item["path"] for item in data["record"]["traces"] if item.get("path")))
    return Query(error=texts[-1] if texts else "", signature=failure["signature"], paths=paths, **origin)


def _shown(store: Store, row: Row, query: Query, bundle: Bundle) -> bool:
    """Return whether retrieval shows a lesson, or fills its places with others that explain the same failure."""
    found = retrieve(store, query, bundle, limit=CAP)
    names = {*found.lesson_ids, *found.withheld}
    rivals = {edge["lesson_id"] for edge in store.iterate("edges", {"signature": row["signature"]})}
    return row["id"] in names or len(names & rivals) >= CAP


def audit_store(store: Store, bundle: Bundle) -> StoreAudit:
    """Return the six checks of a store.

    Raises:
        ReflectGateError: `audit-off` where no rule set of stage `audit` is on, or the engines failed.
        StoreError: the store cannot be read.
    """
    gate = gate_of(bundle)
    sample, lessons = _sample(store, int(bundle.setting("audit.sample")))
    parts = [
        _admitting(store, sample),
        _fidelity(sample, bundle),
        _deflecting(sample, gate),
        _restating(sample, gate),
        _revising(store, bundle),
        _surfacing(store, sample, bundle),
    ]
    said = list(conclude(gate, [part.fact for part in parts]))
    declared = {type_.name: type_.fields for type_ in gate.program.types}
    checks = []
    for part, (fact, name) in zip(parts, _FACTS.items(), strict=True):
        rules = tuple(dict.fromkeys(each.rule for each in said if each.reason == name))
        shares = _shares(fact)
        values = zip(declared[fact], part.fact[1:], strict=True)
        measured = {field: int(value) / 100 if field in shares else value for field, value in values}
        checks.append(Check(name, rules, measured, tuple(part.examples[:_EXAMPLES]) if rules else ()))
    return StoreAudit(tuple(checks), lessons, len(sample))


def _shares(fact: str) -> frozenset[str]:
    from ..facts import load_vocabulary

    vocabulary = load_vocabulary()
    fields = vocabulary.facts[fact].fields
    return frozenset(name for name, domain in fields.items() if vocabulary.domains[domain].kind == "scaled")
