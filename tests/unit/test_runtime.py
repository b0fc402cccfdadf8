"""A bundle's runtime: the stages that no evaluation runs judge facts alone, as often as they are asked."""

from __future__ import annotations

from reflect_gate import Bundle
from reflect_gate.infer import durable
from reflect_gate.runtime import AFTERWARDS, runtime


def test_a_later_stage_judges_again_and_again(structured: Bundle) -> None:
    """The network of some stages alone is tuned like the whole one, and then still skips what only other stages read."""
    gate = runtime(structured)
    facts = [("trial", "failing", "resolved", True, False)]
    said = [gate.conclude("record", facts).verdict for _ in range(durable._TUNE_AT + 2)]
    assert set(said) == {"helped"}


def test_each_stage_has_one_engine(structured: Bundle) -> None:
    """What looks after the store runs apart from what judges a request."""
    gate = runtime(structured)
    apart = {stage for stage in structured.program.stages if gate.engine_of(stage) is not gate.engine}
    assert apart == AFTERWARDS
