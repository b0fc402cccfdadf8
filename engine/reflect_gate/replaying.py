"""One request judged many times: by changed policies, or with changed facts, without measuring anew what has not changed.

What a stage measures follows from the request, the lexicons and what was concluded before. So it is kept by those conclusions,
and a run that comes to other conclusions measures its later stages anew: a replay gives what a whole evaluation would.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from . import documents, schemas
from ._canonical import canonical_bytes
from .facts import Fact
from .pipeline import STAGES, judge
from .runtime import Runtime
from .stages._case import Case, Stage
from .stages._prepare import prepare

if TYPE_CHECKING:
    from .pipeline import _Run
    from .policy import Bundle
    from .types import Record

__all__ = ["Change", "Replay"]

Change: TypeAlias = Callable[[str, list[Fact]], list[Fact]]
"""Given a stage and what it measured, what it is made to have measured."""

_KEPT = ("index", "signature", "claims", "hits", "explaining", "store_lessons")
"""What a case keeps of its request, whatever is concluded (`stages._case.Case`)."""


class Replay:
    """A request of one bundle. `requests` that are not valid raise as `evaluate` does.

    Runs may differ in their rules and settings for rules; a bundle with other lexicons or other settings for Python needs a
    replay of its own, because they are measured with.
    """

    def __init__(self, request: Mapping[str, Any], bundle: Bundle) -> None:
        self.request: dict[str, Any] = cast("dict[str, Any]", documents.plain(request, bundle.limits))
        schemas.check("request", self.request, "request")
        self.bundle = bundle
        self._record: Record = prepare(self.request["record"], bundle.limits)
        self._known: dict[str, Any] = {}
        self._measured: dict[tuple[str, bytes], list[Fact]] = {}

    def run(self, gate: Runtime, change: Change | None = None) -> _Run:
        """Judge the request by `gate`, with the facts of each stage passed through `change`."""
        case = Case(self.request, self._record, gate.bundle, gate.lexicons)
        case.__dict__.update(self._known)
        done = judge(case, gate, self._stages(change))
        self._known = {name: value for name, value in case.__dict__.items() if name in _KEPT}
        return done

    def _stages(self, change: Change | None) -> Sequence[Stage]:
        def replayed(stage: Stage) -> Stage:
            def measure(case: Case) -> list[Fact]:
                facts = self._measure(stage, case)
                return facts if change is None else change(stage.name, list(facts))

            return stage._replace(measure=measure)

        return [replayed(stage) for stage in STAGES]

    def _measure(self, stage: Stage, case: Case) -> list[Fact]:
        before = [[name, judged.verdict, case.outputs[name]] for name, judged in case.judgements.items()]
        key = (stage.name, canonical_bytes(before))
        found = self._measured.get(key)
        if found is None:
            found = self._measured[key] = stage.measure(case)
        return found
