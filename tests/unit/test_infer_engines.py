"""What every engine must do alike: chaining, joins, absence, sets, stages, limits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import permutations

import pytest

from reflect_gate.config import Limits
from reflect_gate.errors import ReflectGateError
from reflect_gate.infer import Engine, make_engine
from reflect_gate.infer.compiled import Compiled
from reflect_gate.infer.durable import Durable, durable_missing
from reflect_gate.policy.model import EncodedFact, Firing, Program

from .infer_programs import Rules, When, firings, program

Make = Callable[[Program], Engine]

_durable = pytest.mark.skipif(bool(durable_missing()), reason=f"durable_rules cannot be imported: {durable_missing()}")
_ENGINES = [
    pytest.param(Compiled, id="compiled"),
    pytest.param(lambda p: Compiled(p, tracing=True), id="tracing"),
    pytest.param(Durable, id="durable", marks=[_durable, pytest.mark.durable]),
    pytest.param(lambda p: make_engine(p, "durable", cross_check=True), id="both", marks=[_durable, pytest.mark.durable]),
]

TYPES = {"a": ["x", "y"], "b": ["x"], "c": ["x"], "d": ["x"], "out": ["x"]}
A, B, C, D, OUT = range(5)


@pytest.fixture(params=_ENGINES)
def make(request: pytest.FixtureRequest) -> Make:
    """A way to make an engine."""
    made: Make = request.param
    return made


def _one(engine: Engine, *facts: EncodedFact) -> list[Firing]:
    return firings(engine, ("one", facts))


def test_rules_chain(make: Make) -> None:
    """What one rule derives fires the next one (R-c2)."""
    engine = make(program(TYPES, [([("a", {"y": ("gte", 3)})], [("b", ["0.x"])]), ([("b", {})], [("out", ["0.x"])])]))
    assert _one(engine, (A, 1, 2), (A, 2, 3)) == [(0, ((A, 2, 3),)), (1, ((B, 2),))]


@pytest.mark.parametrize(
    ("test", "passing"),
    [(5, {5}), (("ne", 5), {4, 6}), (("lt", 5), {4}), (("lte", 5), {4, 5}), (("gt", 5), {6}), (("gte", 5), {5, 6})],
)
def test_comparisons(make: Make, test: object, passing: set[int]) -> None:
    """Each operator passes the values that it says, at the boundary and on both sides of it."""
    engine = make(program(TYPES, [([("b", {"x": test})], [("out", [0])])]))
    assert {bound[0][1] for _, bound in _one(engine, (B, 4), (B, 5), (B, 6))} == passing


@pytest.mark.parametrize("values", [(1,), (1, 2, 3), (2, 9), (1, 100, 5_000), tuple(range(0, 60, 2)), (-7, 0, 7)])
@pytest.mark.parametrize("negated", [False, True])
def test_one_of_a_list(make: Make, values: Sequence[int], negated: bool) -> None:
    """`in` passes exactly its values, dense or scattered, positive or under `not`."""
    name = "not b" if negated else "b"
    engine = make(program(TYPES, [([("a", {}), (name, {"x": ("in", tuple(values))})], [("out", ["0.x"])])]))
    for value in {*values, *(v + 1 for v in values), *(v - 1 for v in values)}:
        assert len(_one(engine, (A, 0, 0), (B, value))) == ((value in values) != negated)


@pytest.mark.parametrize("op", ["eq", "ne", "lt", "lte", "gt", "gte"])
def test_joins(make: Make, op: str) -> None:
    """A field may be compared with a field of an earlier pattern, by every operator."""
    engine = make(program(TYPES, [([("b", {}), ("c", {"x": (op, "0.x")})], [("out", [0])])]))
    found = {(bound[0][1], bound[1][1]) for _, bound in _one(engine, *[(B, v) for v in range(3)], *[(C, v) for v in range(3)])}
    expected = {"eq": "==", "ne": "!=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}[op]
    assert found == {(b, c) for b in range(3) for c in range(3) if eval(f"{c}{expected}{b}")}  # noqa: S307 -- two digits and an operator


def test_absence_waits_for_what_is_derived(make: Make) -> None:
    """`not` over derived facts asks after every rule that may derive them, level over level, in any order of facts."""
    engine = make(
        program(
            TYPES,
            [
                ([("a", {"y": 1})], [("b", ["0.x"])]),
                ([("a", {}), ("not b", {"x": "0.x"})], [("c", ["0.x"])]),
                ([("a", {}), ("not c", {"x": "0.x"})], [("d", ["0.x"])]),
                ([("a", {}), ("not d", {"x": "0.x"}), ("not b", {"x": "0.x"})], [("out", ["0.x"])]),
            ],
        )
    )
    facts: list[EncodedFact] = [(A, 1, 1), (A, 2, 0), (A, 3, 1), (A, 3, 0)]
    expected = [
        *[(0, ((A, 1, 1),)), (0, ((A, 3, 1),)), (1, ((A, 2, 0),))],
        *[(2, ((A, 1, 1),)), (2, ((A, 3, 0),)), (2, ((A, 3, 1),)), (3, ((A, 2, 0),))],
    ]
    assert all(_one(engine, *order) == expected for order in permutations(facts))


def test_absence_of_what_a_bound_fact_is(make: Make) -> None:
    """`not` also sees the facts that the rule itself is bound to."""
    engine = make(program(TYPES, [([("a", {}), ("not a", {"x": "0.x"})], [("out", [0])])]))
    assert _one(engine, (A, 1, 1)) == []


def test_recursion_reaches_a_fixpoint(make: Make) -> None:
    """A rule may feed itself: a chain is closed to its end, and a ring ends too."""
    types = {"edge": ["a", "b"], "path": ["a", "b"]}
    rules: Rules = [
        ([("edge", {})], [("path", ["0.a", "0.b"])]),
        ([("path", {}), ("path", {"a": "0.b"})], [("path", ["0.a", "1.b"])]),
    ]
    engine = make(program(types, rules, recursive=[1]))
    found = _one(engine, *[(0, n, n + 1) for n in range(5)], (0, 5, 0))
    assert {bound[0][1:] for rule, bound in found if rule == 1 for bound in [bound]} == {
        (a, b) for a in range(6) for b in range(6)
    }
    assert len(found) == 6 + 6 * 6 * 6


def test_facts_are_a_set(make: Make) -> None:
    """A fact given twice, or also derived, is one fact."""
    engine = make(program(TYPES, [([("a", {})], [("b", ["0.x"])]), ([("b", {})], [("out", [0])])]))
    assert len(_one(engine, (A, 1, 0), (A, 1, 0), (A, 1, 1), (B, 1))) == 3


def test_tables_are_facts(make: Make) -> None:
    """Static facts are there before the first stage, once even if written twice."""
    engine = make(program(TYPES, [([("a", {}), ("b", {"x": "0.x"})], [("out", [0])])], tables=[(B, 1), (B, 2), (B, 1)]))
    assert _one(engine, (A, 1, 0)) == [(0, ((A, 1, 0), (B, 1)))]
    assert _one(engine, (A, 3, 0)) == []


def _staged(make: Make) -> Engine:
    rules: Rules = [
        ([("a", {})], [("b", ["0.x"])]),
        ([("a", {})], [("c", ["0.x"])]),
        ([("c", {}), ("not d", {})], [("out", ["0.x"])]),
    ]
    return make(program(TYPES, rules, stages=["one", "two"], stage_of=["one", "two", "two"]))


def test_firings_belong_to_their_stage(make: Make) -> None:
    """A stage returns its own rules' firings, also where its facts were there earlier."""
    with _staged(make).session(Limits()) as session:
        assert session.advance("before", [(A, 1, 0)]) == []
        assert session.advance("one", []) == [(0, ((A, 1, 0),))]
        assert session.advance("two", [(A, 2, 0)]) == [(1, ((A, 1, 0),)), (1, ((A, 2, 0),)), (2, ((C, 1),)), (2, ((C, 2),))]


def test_a_stage_is_closed_when_it_returns(make: Make) -> None:
    """Facts that come later fire no rule of an earlier stage, nor do they undo what it fired."""
    with _staged(make).session(Limits()) as session:
        assert session.advance("one", []) == []
        assert session.advance("two", [(A, 1, 0)]) == [(1, ((A, 1, 0),)), (2, ((C, 1),))]
        assert session.advance("after", [(A, 3, 0), (D, 1)]) == []


@pytest.mark.parametrize("again", ["one", "two"])
def test_a_stage_is_advanced_once(make: Make, again: str) -> None:
    """Advancing a stage twice, or one before it, is an error, and so is going on after an error."""
    with _staged(make).session(Limits()) as session:
        session.advance("two", [])
        with pytest.raises(ReflectGateError, match="engine-failed"):
            session.advance(again, [])
        with pytest.raises(ReflectGateError, match="engine-failed"):
            session.advance("after", [])


def test_a_session_that_was_left_is_closed(make: Make) -> None:
    """A session cannot be used after it was left."""
    session = _staged(make).session(Limits())
    with session:
        pass
    with pytest.raises(ReflectGateError, match="engine-failed"):
        session.advance("one", [])


def test_sessions_do_not_mix(make: Make) -> None:
    """Two sessions of one engine know nothing of each other, also side by side and one after the other."""
    engine = _staged(make)
    with engine.session(Limits()) as first, engine.session(Limits()) as second:
        assert first.advance("one", [(A, 1, 0)]) == [(0, ((A, 1, 0),))]
        assert second.advance("one", [(A, 2, 0)]) == [(0, ((A, 2, 0),))]
    assert firings(engine, ("one", [])) == []


def test_the_order_of_facts_changes_nothing(make: Make) -> None:
    """Firings are returned sorted: the same facts in any order give the same list."""
    engine = make(program(TYPES, [([("a", {}), ("b", {"x": "0.x"})], [("out", ["0.x"])]), ([("b", {})], [("c", ["0.x"])])]))
    facts: list[EncodedFact] = [(A, 2, 0), (A, 1, 0), (B, 1), (B, 2), (A, 1, 1)]
    assert len({tuple(_one(engine, *order)) for order in permutations(facts)}) == 1


def test_more_firings_than_one_dispatch_holds(make: Make) -> None:
    """A rule may fire hundreds of times in one stage."""
    engine = make(program(TYPES, [([("a", {}), ("b", {})], [("out", ["0.x"])])]))
    assert len(_one(engine, *[(A, n, 0) for n in range(30)], *[(B, n) for n in range(30)])) == 900


def test_many_facts_join_by_equality(make: Make) -> None:
    """Thousands of facts arrive in several batches and meet their partners."""
    engine = make(program(TYPES, [([("a", {}), ("b", {"x": "0.x"})], [("out", ["0.x"])])]))
    assert len(_one(engine, *[(A, n, 0) for n in range(1_500)], *[(B, n) for n in range(1_500)])) == 1_500


@pytest.mark.parametrize(("limits", "what"), [(Limits(facts=10), "facts"), (Limits(firings=10), "firings")])
def test_limits_refuse(make: Make, limits: Limits, what: str) -> None:
    """More facts or firings than allowed are an error; nothing is cut."""
    engine = make(program(TYPES, [([("a", {})], [("b", ["0.x"])])]))
    assert len(firings(engine, ("one", [(A, n, 0) for n in range(5)]), limits=limits)) == 5
    with pytest.raises(ReflectGateError, match=f"limit of 10 {what}") as caught:
        firings(engine, ("one", [(A, n, 0) for n in range(11)]), limits=limits)
    assert caught.value.code == "engine-limit"


def test_limits_count_over_stages(make: Make) -> None:
    """Firings of all stages count together."""
    rules: Rules = [([("a", {})], [("b", ["0.x"])]), ([("a", {})], [("c", ["0.x"])])]
    engine = make(program(TYPES, rules, stages=["one", "two"], stage_of=["one", "two"]))
    facts: list[EncodedFact] = [(A, n, 0) for n in range(5)]
    assert len(firings(engine, ("one", facts), ("two", []), limits=Limits(firings=10))) == 10
    with pytest.raises(ReflectGateError, match="limit of 9 firings"):
        firings(engine, ("one", facts), ("two", []), limits=Limits(firings=9))


def test_an_engine_is_used_after_a_failure(make: Make) -> None:
    """A session that failed leaves the engine whole."""
    engine = make(program(TYPES, [([("a", {})], [("b", ["0.x"])])]))
    for _ in range(3):
        with pytest.raises(ReflectGateError):
            firings(engine, ("one", [(A, n, 0) for n in range(11)]), limits=Limits(firings=10))
    assert len(_one(engine, (A, 1, 0))) == 1


def test_threads_share_an_engine(make: Make) -> None:
    """Sessions may run in several threads at once."""
    engine = make(program(TYPES, [([("a", {}), ("b", {"x": "0.x"})], [("out", ["0.x"])])]))
    wrong: list[object] = []

    def work(own: int) -> None:
        for turn in range(60):
            value = own * 1_000 + turn
            found = _one(engine, (A, value, 0), (B, value), (B, value + 1))
            if found != [(0, ((A, value, 0), (B, value)))]:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_twelve_patterns(make: Make) -> None:
    """A rule may have twelve patterns and join along them all."""
    when: When = [("b", {})] + [("b", {"x": ("gt", f"{place}.x")}) for place in range(11)]
    engine = make(program(TYPES, [(when, [("out", ["11.x"])])]))
    assert len(_one(engine, *[(B, n) for n in range(12)])) == 1
    assert _one(engine, *[(B, n) for n in range(11)]) == []


def test_many_absent_patterns(make: Make) -> None:
    """Under `not` a scattered list becomes many patterns, and all of them count."""
    values = tuple(range(0, 64 * 40, 40))
    engine = make(program(TYPES, [([("a", {}), ("not b", {"x": ("in", values)})], [("out", [0])])]))
    assert [len(_one(engine, (A, 0, 0), (B, value))) for value in (0, 1, 40, 63 * 40, 64 * 40)] == [0, 1, 0, 0, 1]
