"""The records of the store: a lesson, what is kept around it, and the view of the store that one evaluation sees.

`Lesson` holds the twelve fields of S2 §3.6 and nothing else; whatever more is known of a lesson (its id, signature, project, red
flag, bundle digest) stands in the `Envelope` around it. Records are plain JSON: what is stored is what was judged.
"""

# Annotations are evaluated here: as strings, `TypedDict` would take an optional key for a required one (PEP 655).
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NotRequired, Self, TypeAlias, TypedDict, cast

import orjson

__all__ = [
    "EMPTY_VIEW",
    "LESSON_FIELDS",
    "DerivedFrom",
    "EarlierFailure",
    "EarlierSuccess",
    "Edge",
    "Envelope",
    "HeldCandidate",
    "Lesson",
    "Level",
    "Origin",
    "Standing",
    "StoreView",
    "StoredLesson",
    "new_lesson",
]

Level: TypeAlias = Literal["episodic", "procedural", "meta_strategy"]
Standing: TypeAlias = Literal["active", "flagged", "superseded", "retired"]


class DerivedFrom(TypedDict):
    """Where a lesson comes from: ids of failure terminations and of successful trajectories."""

    failures: list[str]
    successes: list[str]


class Lesson(TypedDict):
    """A lesson, exactly as S2 §3.6 lists its fields; counters are whole numbers ≥ 0, confidence lies in 0..1."""

    statement: str
    type: Level
    scope: str
    derived_from: DerivedFrom
    evidence: list[str]
    counterexamples: list[str]
    confidence: float
    times_applied: int
    times_helped: int
    times_hurt: int
    supersedes: str | None
    superseded_by: str | None


LESSON_FIELDS: tuple[str, ...] = tuple(Lesson.__annotations__)
"""The names of the fields of `Lesson`, in the order of S2."""


class Envelope(TypedDict):
    """What is known of a lesson beside its own fields: `bundle` is the digest of the policies that admitted it.

    A decision proposes a lesson and says no `status`; a store says where the lesson stands. `tags` are keywords that it is also
    found by.
    """

    lesson_id: str
    signature: str
    project: Mapping[str, str]
    red_flag: bool
    bundle: str
    tags: NotRequired[list[str]]
    status: NotRequired[Standing]


class Origin(TypedDict, total=False):
    """Where something happened; what is unknown is left out."""

    repository: str
    language: str
    task: str
    commit: str
    session: str


class StoredLesson(TypedDict):
    """A lesson of a store view, with the id and the failure signature that it is stored under.

    `signatures` are all that it explains, `origins` where it was learned and corroborated, the earliest first.
    """

    id: str
    lesson: Lesson
    signature: str
    signatures: NotRequired[list[str]]
    standing: NotRequired[Literal["active", "flagged"]]
    red_flag: NotRequired[bool]
    origins: NotRequired[list[Origin]]


class EarlierFailure(TypedDict):
    """An earlier failure of the same signature; `scope` is the canonical scope of where it happened, empty where unknown."""

    failure_id: str
    signature: str
    origin: Origin
    outcome: Literal["resolved", "escalated"] | None
    recalled: list[str]
    scope: str


class EarlierSuccess(TypedDict):
    """The run that went well in the end after an earlier failure of the same signature: what its last items say."""

    success_id: str
    failure_id: str
    origin: Origin
    said: list[str]


class HeldCandidate(TypedDict):
    """A candidate of the same signature that waits for evidence."""

    candidate_id: str
    decision_id: str
    failure_id: str
    statement: str
    scope: str
    origin: Origin
    reason: str


class Edge(TypedDict):
    """One join of the failure ledger (what failed) to a lesson (why)."""

    signature: str
    lesson_id: str


def _repeated(names: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    again: set[str] = set()
    for name in names:
        (again if name in seen else seen).add(name)
    return sorted(again)


@dataclass(frozen=True)
class StoreView:
    """The store as one evaluation sees it.

    A version that moves with every change, the lessons, the edges of the ledger, earlier failures of the same signature (the
    newest first), candidates of that signature that wait, and how earlier failures of it went well in the end.

    Raises:
        ValueError: two lessons share an id, or an edge leads to no lesson of the view; every such id is named.
    """

    version: int
    lessons: tuple[StoredLesson, ...] = ()
    edges: tuple[Edge, ...] = ()
    failures: tuple[EarlierFailure, ...] = ()
    candidates: tuple[HeldCandidate, ...] = ()
    successes: tuple[EarlierSuccess, ...] = ()

    def __post_init__(self) -> None:
        problems = [f"two lessons have the id `{name}`" for name in _repeated(entry["id"] for entry in self.lessons)]
        known = {entry["id"] for entry in self.lessons}
        problems += [
            f"the edge of signature `{edge['signature']}` leads to `{edge['lesson_id']}`, which is no lesson of the view"
            for edge in self.edges
            if edge["lesson_id"] not in known
        ]
        if self.version < 0:
            problems.append(f"a store view's version counts from 0, not `{self.version}`")
        if problems:
            raise ValueError("; ".join(problems))

    @cached_property
    def _by_signature(self) -> Mapping[str, tuple[StoredLesson, ...]]:
        by_id = {entry["id"]: entry for entry in self.lessons}
        joined: dict[str, set[str]] = {}
        for edge in self.edges:
            joined.setdefault(edge["signature"], set()).add(edge["lesson_id"])
        return {signature: tuple(by_id[name] for name in sorted(names)) for signature, names in joined.items()}

    def lessons_for(self, signature: str) -> tuple[StoredLesson, ...]:
        """Return the lessons that the ledger joins to `signature`, by id; none where it was never reflected on."""
        return self._by_signature.get(signature, ())

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        """Return the view of a document that `request.schema.json` has accepted."""
        return cls(
            version=cast("int", document["version"]),
            lessons=tuple(cast("Iterable[StoredLesson]", document["lessons"])),
            edges=tuple(cast("Iterable[Edge]", document["edges"])),
            failures=tuple(cast("Iterable[EarlierFailure]", document.get("failures", ()))),
            candidates=tuple(cast("Iterable[HeldCandidate]", document.get("candidates", ()))),
            successes=tuple(cast("Iterable[EarlierSuccess]", document.get("successes", ()))),
        )

    def to_json(self) -> dict[str, object]:
        """Return the view as the `store_view` of an evaluation request."""
        document: dict[str, object] = {"version": self.version, "lessons": list(self.lessons), "edges": list(self.edges)}
        more = {"failures": list(self.failures), "candidates": list(self.candidates), "successes": list(self.successes)}
        return document | {name: entries for name, entries in more.items() if entries}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the view without its version: two views of one digest are the same to whoever judges by them."""
        content = {name: value for name, value in self.to_json().items() if name != "version"}
        return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()


EMPTY_VIEW = StoreView(version=0)
"""The view of a store that holds nothing yet."""


def new_lesson(
    statement: str,
    scope: str,
    *,
    failures: Iterable[str],
    evidence: Iterable[str],
    confidence: float,
    successes: Iterable[str] = (),
    counterexamples: Iterable[str] = (),
    supersedes: str | None = None,
) -> Lesson:
    """Return a lesson as it is born: episodic, applied to nothing yet, superseded by nothing.

    Args:
        statement: the operative lesson; not blank.
        scope: what it applies to, in the scope grammar of the gate; the empty string applies everywhere.
        failures: ids of the failure terminations that it comes from; at least one.
        evidence: ids of the items that ground it; at least one.
        confidence: 0..1, as the candidate proposed it or as a red flag capped it.
        successes: ids of the successful trajectories that it comes from.
        counterexamples: ids of failures that narrowed its scope before it was admitted.
        supersedes: id of the lesson that it replaces.

    Raises:
        ValueError: a lesson without statement, provenance or evidence, or with a confidence out of range (S2 §8, invariant 3).
    """
    lesson: Lesson = {
        "statement": statement,
        "type": "episodic",
        "scope": scope,
        "derived_from": {"failures": list(failures), "successes": list(successes)},
        "evidence": list(evidence),
        "counterexamples": list(counterexamples),
        "confidence": confidence,
        "times_applied": 0,
        "times_helped": 0,
        "times_hurt": 0,
        "supersedes": supersedes,
        "superseded_by": None,
    }
    problems = _birth_defects(lesson)
    if problems:
        raise ValueError("; ".join(problems))
    return lesson


def _birth_defects(lesson: Lesson) -> list[str]:
    problems = []
    if not lesson["statement"].strip():
        problems.append("a lesson needs a statement")
    if not lesson["derived_from"]["failures"]:
        problems.append("a lesson needs at least one failure that it comes from")
    if not lesson["evidence"]:
        problems.append("a lesson needs at least one item of evidence")
    if not 0.0 <= lesson["confidence"] <= 1.0:
        problems.append(f"confidence lies in 0..1, not `{lesson['confidence']}`")
    return problems
