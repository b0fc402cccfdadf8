"""The records of `schemas/` as types; a test holds their keys to the schemas, which also say what the values may be."""

# No postponed annotations here: `NotRequired` must be seen at run time for `__required_keys__` to be true.

from typing import Literal, NotRequired, TypeAlias, TypedDict

from reflect_store.records import (
    DerivedFrom,
    EarlierFailure,
    EarlierSuccess,
    Edge,
    HeldCandidate,
    Lesson,
    Level,
    Standing,
    StoredLesson,
)

__all__ = [
    "Admission",
    "Calibration",
    "CapturedDiagnosis",
    "CapturedItem",
    "Component",
    "DerivedFrom",
    "Diagnosis",
    "EarlierFailure",
    "EarlierSuccess",
    "Edge",
    "Envelope",
    "Evidence",
    "FailureError",
    "Generalization",
    "Grounding",
    "HeldCandidate",
    "Item",
    "Kind",
    "Ledger",
    "Lesson",
    "Level",
    "Lifecycle",
    "Oracle",
    "Outcome",
    "Project",
    "Record",
    "Recording",
    "Reflection",
    "RejectedReason",
    "Request",
    "Response",
    "Retrieval",
    "SignatureContext",
    "StoreView",
    "StoredLesson",
    "Termination",
    "Trigger",
]

Component: TypeAlias = Literal[11, 12, 13, 14, "user"]
Kind: TypeAlias = Literal[
    "plan", "code", "action", "spec", "tool_output", "test_output", "error", "log", "diagnosis", "repair", "success", "user"
]
Oracle: TypeAlias = Literal["none", "self_written", "repeats_example", "authoritative"]
Outcome: TypeAlias = Literal["resolved", "escalated"]
RejectedReason: TypeAlias = Literal["speculative", "contradicts_store", "shallow", "too_vague", "thin_evidence"]
Trigger: TypeAlias = Literal["error", "hallucination", "low_quality", "manual"]


class Item(TypedDict):
    """One citable item of evidence."""

    id: str
    component: Component
    kind: Kind
    seq: int
    text: str
    expected: NotRequired[str]
    actual: NotRequired[str]
    exit_code: NotRequired[int]
    error_class: NotRequired[str]
    path: NotRequired[str]
    line: NotRequired[int]
    oracle: NotRequired[Oracle]
    passed: NotRequired[bool]


class CapturedItem(TypedDict):
    """An item as it was captured, before its id, component and place are filled in."""

    id: NotRequired[str]
    component: NotRequired[Component]
    kind: Kind
    seq: NotRequired[int]
    text: str
    expected: NotRequired[str]
    actual: NotRequired[str]
    exit_code: NotRequired[int]
    error_class: NotRequired[str]
    path: NotRequired[str]
    line: NotRequired[int]
    oracle: NotRequired[Oracle]
    passed: NotRequired[bool]


class Diagnosis(TypedDict):
    """What component 13 found; a citable item as well."""

    id: str
    component: Literal[13]
    kind: Literal["diagnosis"]
    seq: int
    text: str
    symptom: str
    error_class: str
    site: str
    root_cause: str
    cited: list[str]
    fix_direction: NotRequired[str]


class CapturedDiagnosis(TypedDict, total=False):
    """A diagnosis as it was captured."""

    id: str
    component: Literal[13]
    kind: Literal["diagnosis"]
    seq: int
    text: str
    symptom: str
    error_class: str
    site: str
    root_cause: str
    cited: list[str]
    fix_direction: str


class Record(TypedDict):
    """The evidentiary record: S2's six keys."""

    failure_id: str
    outcome: Outcome | None
    traces: list[Item]
    diagnosis: Diagnosis | None
    repair_delta: Item | None
    successful_trajectory: list[Item]


FailureError = TypedDict("FailureError", {"class": str, "message": str, "site": str})
"""The error that ended a run."""


class Termination(TypedDict):
    """A failure as a harness captured it."""

    failure_id: str
    outcome: Outcome | None
    task: NotRequired[str]
    repository: NotRequired[str]
    language: NotRequired[str]
    error: NotRequired[FailureError]
    traces: list[CapturedItem]
    diagnosis: NotRequired[CapturedDiagnosis | None]
    repair_delta: NotRequired[CapturedItem | None]
    successful_trajectory: NotRequired[list[CapturedItem]]
    failing_action_seq: NotRequired[int]
    commit: NotRequired[str]
    session: NotRequired[str]
    recalled: NotRequired[list[str]]
    recalled_beside: NotRequired[list[str]]


SignatureContext = TypedDict(
    "SignatureContext",
    {"signature": str, "class": str, "template": str, "site": str, "reflected_before": bool, "prior_reflection_id": str | None},
)
"""What the failure ledger knows of a failure's signature."""


class Reflection(TypedDict):
    """A candidate explanation, as the model proposed it: S2's ten fields."""

    outcome: Outcome
    failed_assumption: str
    overlooked_evidence: str
    strategy_error: str
    violated_invariant: str
    evidence_ids: list[str]
    counterfactual: str
    candidate_lesson: str
    scope: str
    confidence: float


class Response(TypedDict):
    """What the one model call answers."""

    skip: bool
    tags: list[str]
    reflection: Reflection | None


class Project(TypedDict, total=False):
    """What is known of where a failure happened."""

    repository: str
    language: str
    task: str
    commit: str
    session: str


class Envelope(TypedDict):
    """What is kept of an admitted lesson beside its exact fields."""

    lesson_id: str
    signature: str
    project: Project
    red_flag: bool
    status: NotRequired[Standing]
    bundle: str
    tags: NotRequired[list[str]]


class StoreView(TypedDict):
    """The part of the store that one candidate is judged against."""

    version: int
    lessons: list[StoredLesson]
    edges: list[Edge]
    failures: NotRequired[list[EarlierFailure]]
    candidates: NotRequired[list[HeldCandidate]]
    successes: NotRequired[list[EarlierSuccess]]


class Request(TypedDict):
    """One candidate reflection with all that it is judged by."""

    record: Record
    reflection: Reflection
    signature_context: NotRequired[SignatureContext]
    store_view: NotRequired[StoreView]
    project: NotRequired[Project]
    recalled: NotRequired[list[str]]
    recalled_beside: NotRequired[list[str]]
    trigger: NotRequired[Trigger]
    tags: NotRequired[list[str]]


# -- outputs of the stages, S2 3.1 to 3.9 ----------------------------------------------------------------------------------------

Evidence: TypeAlias = Record


class Ledger(TypedDict):
    """Output of `ledger`."""

    signature: str
    reflected_before: bool
    prior_reflection_id: str | None


class Grounding(TypedDict):
    """Output of `ground`."""

    grounded: bool
    verdict: Literal["grounded", "speculative"]
    unresolved_claims: list[str]


class Generalization(TypedDict):
    """Output of `generalize`."""

    generalized: bool
    adjusted_scope: str
    contradicts_lesson_id: str | None
    counterexample_ids: list[str]


class Calibration(TypedDict):
    """Output of `calibrate`."""

    deduped: Literal["merge", "flag_contradiction", "new"]
    calibration: Literal["calibrated", "shallow", "too_vague"]
    calibrated_lesson: str | None
    episodic_only: bool


class Admission(TypedDict):
    """Output of `admit`."""

    admitted: bool
    lesson_id: str | None
    rejected_reason: RejectedReason | None
    unattached_candidate: bool


class Lifecycle(TypedDict):
    """Output of `lifecycle`."""

    level: Level
    action: Literal["admit", "promote", "demote", "retire", "redflag"]
    superseded_by: str | None
    red_flag_class: bool
    confidence_cap: Literal["lowest"] | None


class Retrieval(TypedDict):
    """Output of `retrieve`."""

    lessons: list[Lesson]
    cap: Literal[5]
    retrieved_lesson_ids: list[str]


class Recording(TypedDict):
    """Output of `record`."""

    times_applied: int
    times_helped: int
    times_hurt: int
