"""What an inference engine is: a program's engine opens sessions, a session takes facts stage by stage and returns firings.

Facts are a set: a duplicate is the same fact. Stages are advanced at most once each, in the program's order; a stage is closed
when `advance` returns, and facts that arrive later no longer make its rules fire. Everything that goes wrong is a
`ReflectGateError` with one of the codes `engine-limit`, `engine-truncated`, `engine-failed`, `engine-disagreement`, and no firing
of that session may be used.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from ..config import Limits
from ..errors import ReflectGateError
from ..policy.model import EncodedFact, Firing, Program

__all__ = ["STEPS_PER_FIRING", "Engine", "Session", "StageOrder", "failed", "over_limit"]

STEPS_PER_FIRING = 100
"""How many candidate facts a session may look at for each firing that its limits allow."""


class Session(Protocol):
    """One evaluation; leave it by `with`, so that the engine's memory is given back."""

    def advance(self, stage: str, facts: Sequence[EncodedFact]) -> list[Firing]:
        """Assert `facts`, run the strata of `stage` to a fixpoint and return the firings of its rules, sorted."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class Engine(Protocol):
    """A program made ready to run; several sessions may be open at once, also from several threads."""

    @property
    def name(self) -> str:
        """Which engine this is, as a decision names it."""
        ...

    def session(self, limits: Limits) -> Session:
        """Open a session over the program's tables."""
        ...


class StageOrder:
    """Refuses to advance a stage twice or backwards; stages that the program does not know have no rules and no order."""

    __slots__ = ("_last", "_places")

    def __init__(self, program: Program) -> None:
        self._places = {stage: place for place, stage in enumerate(program.stages)}
        self._last = -1

    def enter(self, stage: str) -> None:
        """Note that `stage` is advanced now."""
        place = self._places.get(stage)
        if place is None:
            return
        if place <= self._last:
            raise failed(f"stage `{stage}` was advanced after itself or a later stage")
        self._last = place


def failed(message: str) -> ReflectGateError:
    """Return the error of an engine that cannot be trusted to have finished."""
    return ReflectGateError("engine-failed", message)


def over_limit(what: str, limit: int) -> ReflectGateError:
    """Return the error of an evaluation that exceeds `limits.<what>`; nothing is cut, the evaluation is refused."""
    return ReflectGateError("engine-limit", f"the evaluation exceeds the limit of {limit} {what}")
