"""Inference: facts in, firings out, on one of two engines or on both at once."""

from __future__ import annotations

from collections.abc import Container
from types import CodeType
from typing import Literal

from ..policy.model import Program
from .compiled import Compiled
from .protocol import Engine, Session

__all__ = ["Engine", "Session", "make_engine"]


def make_engine(
    program: Program,
    mode: Literal["durable", "compiled"],
    cross_check: bool,
    generated: str | CodeType | None = None,
    stages: Container[str] | None = None,
) -> Engine:
    """Return the engine of a bundle.

    Args:
        program: the compiled bundle.
        mode: `durable`, or `compiled` alone.
        cross_check: with `durable`, run the compiled engine beside it and refuse to go on where they differ.
        generated: the text that `compiled.generate`, or its code, made of this program earlier, if it was kept.
        stages: the stages that sessions will advance; durable_rules then holds no other rules. All when absent.

    Raises:
        ReflectGateError: `engine-failed` where durable_rules cannot be imported, `engine-limit` where it cannot hold the program.
    """
    if mode == "compiled":
        return Compiled(program, generated)
    from .durable import Durable

    durable = Durable(program, stages)
    if not cross_check:
        return durable
    from .crosscheck import CrossChecked

    return CrossChecked(program, durable, Compiled(program, generated))
