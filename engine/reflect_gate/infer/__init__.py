"""Inference: facts in, firings out, on one of two engines or on both at once."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from types import CodeType

    from ..policy.model import Program
    from .protocol import Engine, Session

__all__ = ["Engine", "Session", "make_engine"]


def __getattr__(name: str) -> object:
    """Import the protocols when they are asked for: whoever only tells facts apart runs no engine (PEP 562)."""
    if name not in {"Engine", "Session"}:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from . import protocol

    return getattr(protocol, name)


def make_engine(
    program: Program,
    mode: Literal["durable", "compiled"],
    cross_check: bool,
    generated: str | bytes | CodeType | None = None,
    stages: Container[str] | None = None,
) -> Engine:
    """Return the engine of a bundle.

    Args:
        program: the compiled bundle.
        mode: `durable`, or `compiled` alone.
        cross_check: with `durable`, run the compiled engine beside it and refuse to go on where they differ.
        generated: what `generate.generate` made of this program earlier, if it was kept: the text, its code, or that marshalled.
        stages: the stages that sessions will advance; durable_rules then holds no other rules. All when absent.

    Raises:
        ReflectGateError: `engine-failed` where durable_rules cannot be imported, `engine-limit` where it cannot hold the program.
    """
    from .compiled import Compiled

    if mode == "compiled":
        return Compiled(program, generated)
    from .durable import Durable

    durable = Durable(program, stages)
    if not cross_check:
        return durable
    from .crosscheck import CrossChecked

    return CrossChecked(program, durable, Compiled(program, generated))
