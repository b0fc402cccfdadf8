"""What the stages of one evaluation share: the checked request, what was measured of it, what was concluded so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from ..facts import Fact
from ..measure.index import RecordIndex
from ..measure.lexicon import LexiconHit, LexiconSet
from ..measure.precedent import Candidate, Precedents
from ..measure.scope import Scope
from ._judgement import Finding, Judgement
from ._record import record_signature

if TYPE_CHECKING:
    from ..policy import Bundle
    from ..types import Record

__all__ = ["CAUSAL_FIELDS", "TEXT_FIELDS", "Case", "Finding", "Judgement", "Stage"]

CAUSAL_FIELDS = ("failed_assumption", "overlooked_evidence", "strategy_error", "violated_invariant")
TEXT_FIELDS = (*CAUSAL_FIELDS, "counterfactual", "candidate_lesson", "scope")

_NEVER = 101
"""A likeness that no two lessons have."""


class Case:
    """One request on its way through the stages.

    `outputs` and `judgements` fill as the stages conclude; a later stage measures with the earlier conclusions at hand.
    """

    def __init__(self, request: Mapping[str, Any], record: Record, bundle: Bundle, lexicons: LexiconSet) -> None:
        self.request = request
        self.record = record
        self.bundle = bundle
        self.lexicons = lexicons
        self.outputs: dict[str, Mapping[str, Any]] = {}
        self.judgements: dict[str, Judgement] = {}

    @property
    def reflection(self) -> Mapping[str, Any]:
        """The candidate, exactly as the model proposed it."""
        reflection: Mapping[str, Any] = self.request["reflection"]
        return reflection

    @cached_property
    def index(self) -> RecordIndex:
        """The record, measured once."""
        return RecordIndex(self.record)

    @cached_property
    def signature(self) -> str:
        """The failure signature of the record, 64 hexadecimal digits."""
        return record_signature(self.record)["signature"]

    @cached_property
    def claims(self) -> Mapping[str, str]:
        """The four causal fields; an empty string did not contribute."""
        return {name: self.reflection[name].strip() for name in CAUSAL_FIELDS}

    @cached_property
    def hits(self) -> Sequence[LexiconHit]:
        """Every lexicon found in every text field, with its spans."""
        return self.lexicons.hits({name: self.reflection[name] for name in TEXT_FIELDS})

    @cached_property
    def precedents(self) -> Precedents:
        """What the store view knows of the candidate; without the rule set `generalization` no two lessons are alike."""
        reflection = self.reflection
        candidate = Candidate(
            statement=reflection["candidate_lesson"],
            scope=Scope.parse(reflection["scope"]),
            signature=self.signature,
            record=self.record,
            origin=self.request.get("project") or {},
            recalled=frozenset(self.request.get("recalled", ())),
            beside=frozenset(self.request.get("recalled_beside", ())),
        )
        alike = self.bundle.settings.get("generalization.min_similarity")
        enough = self.bundle.settings.get("generalization.min_done")
        shares = (int(setting.value * 100) if setting else _NEVER for setting in (alike, enough))
        return Precedents(candidate, self.request.get("store_view") or {}, *shares)

    @cached_property
    def explaining(self) -> Sequence[str]:
        """The ids of the view's lessons that explain this failure's signature, sorted."""
        view = self.request.get("store_view") or {}
        return sorted({edge["lesson_id"] for edge in view.get("edges", ()) if edge["signature"] == self.signature})

    @cached_property
    def store_lessons(self) -> Sequence[Mapping[str, Any]]:
        """The lessons of the store view, none where the request has no view."""
        view = self.request.get("store_view") or {}
        return tuple(view.get("lessons", ()))


class Stage(NamedTuple):
    """A stage of the pipeline: `measure` turns the case into facts, `conclude` turns the verdict into the stage's output."""

    name: str
    measure: Callable[[Case], list[Fact]]
    conclude: Callable[[Case, Judgement], Mapping[str, Any]]
