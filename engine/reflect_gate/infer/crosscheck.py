"""Two engines side by side: they must fire the same rules on the same facts, stage by stage, or nothing counts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from ..config import Limits
from ..errors import ReflectGateError
from ..policy.model import EncodedFact, Firing, Program
from .protocol import Engine, Session

__all__ = ["CrossChecked"]


class CrossChecked:
    """Runs `second` first: it stops at a limit while it works, where `first` would notice only afterwards."""

    def __init__(self, program: Program, first: Engine, second: Engine) -> None:
        self._program = program
        self._first = first
        self._second = second
        self.name = f"{first.name}+{second.name}"

    def session(self, limits: Limits) -> CrossCheckedSession:
        """Open a session of both engines."""
        with ExitStack() as opened:
            second = opened.enter_context(self._second.session(limits))
            first = opened.enter_context(self._first.session(limits))
            return CrossCheckedSession(self._program, first, second, opened.pop_all())


class CrossCheckedSession:
    """One evaluation on both engines. What a stage derives follows from its firings, so equal firings are equal facts."""

    def __init__(self, program: Program, first: Session, second: Session, opened: ExitStack) -> None:
        self._program = program
        self._first = first
        self._second = second
        self._opened = opened

    def advance(self, stage: str, facts: Sequence[EncodedFact]) -> list[Firing]:
        """See `protocol.Session`."""
        expected = self._second.advance(stage, facts)
        fired = self._first.advance(stage, facts)
        if fired != expected:
            differing = sorted(set(fired) ^ set(expected))
            rule = self._program.rules[differing[0][0]] if differing else None
            named = f", first in rule `{rule.name}`" if rule else ""
            raise ReflectGateError(
                "engine-disagreement",
                f"the engines disagree on {len(differing)} firings of stage `{stage}`{named}",
                rule.source if rule else None,
            )
        return fired

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._opened.__exit__(kind, error, trace)
