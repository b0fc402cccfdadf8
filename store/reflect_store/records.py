"""The records of the store: a lesson, what is kept around it, and the view of the store that one evaluation sees.

`Lesson` holds the twelve fields of S2 §3.6 and nothing else; whatever more is known of a lesson (its id, signature, project, red
flag, bundle digest) stands in the `Envelope` around it. Records are plain JSON: what is stored is what was judged.
"""

# Annotations are evaluated here: as strings, `TypedDict` would take an optional key for a required one (PEP 655).
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NotRequired, Self, TypeAlias, TypedDict, cast

__all__ = [
    "EMPTY_VIEW",
    "LESSON_FIELDS",
    "DerivedFrom",
    "Edge",
    "Envelope",
    "Lesson",
    "Level",
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

    A decision proposes a lesson and says no `status`; a store says where the lesson stands.
    """

    lesson_id: str
    signature: str
    project: Mapping[str, str]
    red_flag: bool
    bundle: str
    status: NotRequired[Standing]


class StoredLesson(TypedDict):
    """A lesson of a store view, with the id and the failure signature that it is stored under."""

    id: str
    lesson: Lesson
    signature: str


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
    """The store as one evaluation sees it: a version that moves with every change, the lessons, and the edges of the ledger.

    Raises:
        ValueError: two lessons share an id, or an edge leads to no lesson of the view; every such id is named.
    """

    version: int
    lessons: tuple[StoredLesson, ...] = ()
    edges: tuple[Edge, ...] = ()

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
        )

    def to_json(self) -> dict[str, object]:
        """Return the view as the `store_view` of an evaluation request."""
        return {"version": self.version, "lessons": list(self.lessons), "edges": list(self.edges)}


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
