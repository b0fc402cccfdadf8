"""How the first engine keeps its library: rulesets, states, and what happens when the library fails."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import pytest

from reflect_gate.config import Limits
from reflect_gate.errors import ReflectGateError
from reflect_gate.infer.durable import Durable, durable_missing
from reflect_gate.policy.model import EncodedFact

from .infer_programs import Rules, firings, program

pytestmark = [
    pytest.mark.durable,
    pytest.mark.skipif(bool(durable_missing()), reason=f"durable_rules cannot be imported: {durable_missing()}"),
]

TYPES = {"a": ["x"], "out": ["x"]}
RULES: Rules = [([("a", {})], [("out", ["0.x"])])]
ONE: list[EncodedFact] = [(0, 1)]
MANY: list[EncodedFact] = [(0, number) for number in range(40)]


class _Watched:
    """The library with its calls counted; a call named in `answers` is answered instead of made."""

    def __init__(self, library: Any, **answers: Any) -> None:
        self._library = library
        self.answers = answers
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._library, name)
        if name == "error":
            return found

        def call(*given: Any) -> Any:
            self.calls[name] += 1
            answer = self.answers.get(name)
            if isinstance(answer, BaseException):
                raise answer
            return found(*given) if answer is None else answer

        return call


@pytest.fixture
def engine() -> Durable:
    """An engine whose library is watched."""
    made = Durable(program(TYPES, RULES))
    made.library = _Watched(made.library)
    return made


def test_a_ruleset_serves_one_session_after_another(engine: Durable) -> None:
    """Rulesets are built once, states are deleted each time."""
    for _ in range(10):
        assert len(firings(engine, ("one", ONE))) == 1
    assert engine.library.calls["create_ruleset"] == 1
    assert engine.library.calls["delete_state"] == 10


def test_a_ruleset_in_which_a_session_failed_is_deleted(engine: Durable) -> None:
    """What a failure left behind serves nobody."""
    with pytest.raises(ReflectGateError, match="engine-limit"):
        firings(engine, ("one", MANY), limits=Limits(firings=10))
    assert engine.library.calls["delete_ruleset"] == 1
    assert len(firings(engine, ("one", ONE))) == 1
    assert engine.library.calls["create_ruleset"] == 2


def test_rulesets_are_deleted_with_the_engine(engine: Durable) -> None:
    """An engine that nobody uses any more leaves no ruleset in the library."""
    library = engine.library
    fresh = Durable(program(TYPES, RULES))
    firings(fresh, ("one", ONE))
    (handle,) = fresh._free
    del fresh
    gc.collect()
    with pytest.raises(library.error):
        library.assert_fact(handle, '{"x":1}')


def test_tables_above_the_limit_give_the_ruleset_back() -> None:
    """A session that cannot even take the tables leaves room for others."""
    engine = Durable(program(TYPES, RULES, tables=[(0, 1), (0, 2)]))
    for _ in range(300):
        with pytest.raises(ReflectGateError, match="limit of 1 facts"):
            engine.session(Limits(facts=1))
    assert len(firings(engine, ("one", []))) == 2


@pytest.mark.parametrize("call", ["assert_facts", "start_action_for_state", "complete_and_start_action"])
def test_an_error_of_the_library_is_ours(engine: Durable, call: str) -> None:
    """Whatever the library raises is `engine-failed`; the session is over, the engine is not."""
    with engine.session(Limits()) as session:
        engine.library.answers[call] = engine.library.error("error code: 303")
        with pytest.raises(ReflectGateError, match="303") as caught:
            session.advance("one", MANY)
        assert caught.value.code == "engine-failed"
        engine.library.answers.clear()
        with pytest.raises(ReflectGateError, match="engine-failed"):
            session.advance("two", [])
    assert len(firings(engine, ("one", ONE))) == 1


@pytest.mark.parametrize("error", [MemoryError(), None])
def test_a_library_without_memory_is_an_error(engine: Durable, error: MemoryError | None) -> None:
    """Neither a ruleset that cannot be built nor a state that cannot be opened takes a place for good."""
    call = "create_ruleset" if error else "assert_fact"
    engine.library.answers[call] = error or MemoryError()
    for _ in range(300):
        with pytest.raises(ReflectGateError, match="engine-failed"):
            engine.session(Limits())
        engine._free.clear()
    engine.library.answers.clear()
    assert len(firings(engine, ("one", ONE))) == 1


def test_a_duplicate_that_is_none_is_an_error(engine: Durable) -> None:
    """Facts are new when they are asserted; a library that takes one for another is not believed."""
    with engine.session(Limits()) as session:
        engine.library.answers["assert_fact"] = (2, 1)
        with pytest.raises(ReflectGateError, match="two facts for one"):
            session.advance("one", ONE)


def test_a_lost_sentinel_is_an_error(engine: Durable) -> None:
    """Where nothing fires after a batch, not even its sentinel, the batch was lost."""
    with engine.session(Limits()) as session:
        engine.library.answers["assert_facts"] = (0, 1)
        with pytest.raises(ReflectGateError) as caught:
            session.advance("one", MANY)
    assert caught.value.code == "engine-truncated"


def test_few_facts_need_no_sentinel(engine: Durable) -> None:
    """The library reports on each fact that is asserted alone."""
    firings(engine, ("one", ONE))
    assert engine.library.calls["assert_facts"] == 0
    firings(engine, ("one", MANY))
    assert engine.library.calls["assert_facts"] == 1


def test_the_first_sessions_are_not_tuned() -> None:
    """A process of one evaluation generates nothing; the answers are the same before and after."""
    engine = Durable(program(TYPES, RULES))
    before = engine.variants
    found = [firings(engine, ("one", MANY)) for _ in range(4)]
    assert engine.variants is not before
    assert found == [found[0]] * 4
