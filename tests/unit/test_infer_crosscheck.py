"""Two engines that differ: nothing of either counts."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

import pytest

from reflect_gate.config import Limits
from reflect_gate.errors import ReflectGateError
from reflect_gate.infer import Session, make_engine
from reflect_gate.infer.compiled import Compiled
from reflect_gate.infer.crosscheck import CrossChecked
from reflect_gate.infer.durable import durable_missing
from reflect_gate.policy.model import EncodedFact, Firing

from .infer_programs import Rules, firings, program

TYPES = {"a": ["x"], "out": ["x"]}
RULES: Rules = [([("a", {})], [("out", ["0.x"])])]
MADE = program(TYPES, RULES)


class _Broken:
    """An engine that answers what it is told to, and notes whether its session was left."""

    name = "broken"

    def __init__(self, answer: Sequence[Firing] | ReflectGateError) -> None:
        self._answer = answer
        self.left = 0

    def session(self, limits: Limits) -> Session:
        del limits
        return self

    def advance(self, stage: str, facts: Sequence[EncodedFact]) -> list[Firing]:
        del stage, facts
        if isinstance(self._answer, ReflectGateError):
            raise self._answer
        return list(self._answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.left += 1


@pytest.mark.parametrize("answer", [[], [(0, ((0, 2),))], [(0, ((0, 1),)), (0, ((0, 1),))]], ids=["less", "other", "twice"])
def test_a_difference_is_an_error(answer: list[Firing]) -> None:
    """Fewer firings, others, or one twice: the rule is named, no firing is returned, both sessions are left."""
    broken = _Broken(answer)
    with pytest.raises(ReflectGateError) as caught:
        firings(CrossChecked(MADE, broken, Compiled(MADE)), ("one", [(0, 1)]))
    assert caught.value.code == "engine-disagreement"
    assert "stage `one`" in caught.value.message
    assert broken.left == 1


def test_the_rule_that_differs_is_named() -> None:
    """The error stands at the rule where the engines first differ."""
    with pytest.raises(ReflectGateError, match=r"rules\.yaml:1: .*rule `set/r0`"):
        firings(CrossChecked(MADE, _Broken([]), Compiled(MADE)), ("one", [(0, 1)]))


def test_an_error_of_one_engine_is_an_error() -> None:
    """Where one engine fails, the other's answer does not count."""
    broken = _Broken(ReflectGateError("engine-truncated", "cut"))
    with pytest.raises(ReflectGateError, match="engine-truncated"):
        firings(CrossChecked(MADE, broken, Compiled(MADE)), ("one", [(0, 1)]))
    assert broken.left == 1


def test_agreement_is_an_answer() -> None:
    """Engines that agree answer."""
    assert firings(CrossChecked(MADE, Compiled(MADE), Compiled(MADE)), ("one", [(0, 1)])) == [(0, ((0, 1),))]


def test_names_say_what_runs() -> None:
    """An engine's name says which engines run."""
    assert make_engine(MADE, "compiled", cross_check=True).name == "compiled"
    assert CrossChecked(MADE, _Broken([]), Compiled(MADE)).name == "broken+compiled"


@pytest.mark.durable
@pytest.mark.skipif(bool(durable_missing()), reason=f"durable_rules cannot be imported: {durable_missing()}")
def test_modes_of_the_first_engine() -> None:
    """`durable` runs alone or checked."""
    assert make_engine(MADE, "durable", cross_check=False).name == "durable"
    assert make_engine(MADE, "durable", cross_check=True).name == "durable+compiled"


def test_without_the_library_only_compiled_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where durable_rules cannot be imported, asking for it is an error and `compiled` still works."""
    monkeypatch.setitem(__import__("sys").modules, "durable_rules_engine", None)
    assert durable_missing()
    with pytest.raises(ReflectGateError, match="engine-failed"):
        make_engine(MADE, "durable", cross_check=True)
    assert len(firings(make_engine(MADE, "compiled", cross_check=False), ("one", [(0, 1)]))) == 1
