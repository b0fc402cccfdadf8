"""How a program becomes a ruleset of the C engine: lanes, gates, variants, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reflect_gate.errors import ReflectGateError
from reflect_gate.infer._network import LANE, Network, build

from .infer_programs import Rules, When, program

TYPES = {"a": ["x", "y"], "b": ["x"], "c": ["x"], "d": ["x"], "out": ["x"]}
ABSENT_B: When = [("a", {}), ("not b", {})]


def _rules(network: Network) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(network.definition)
    return read


def test_a_type_that_no_rule_reads_has_no_lane() -> None:
    """Facts that cannot fire anything are not asserted, and of the others only the fields that are read."""
    network = build(program(TYPES, [([("a", {"y": 1})], [("out", [0])])]))
    assert network.lanes == (((0, (1,)),), (), (), (), ())


def test_fields_that_others_join_with_are_read() -> None:
    """The far side of a join is written too."""
    network = build(program(TYPES, [([("a", {}), ("b", {"x": "0.y"})], [("out", [0])])]))
    assert network.lanes[:2] == (((0, (1,)),), ((1, (0,)),))


def test_lanes_hold_so_many_patterns() -> None:
    """A type with many patterns is asserted once for each lane."""
    network = build(program(TYPES, [([("a", {"x": number})], [("out", [0])]) for number in range(LANE + 1)]))
    assert len(network.lanes[0]) == 2


def test_rules_without_absence_wait_for_no_gate() -> None:
    """Only negated rules and those without any pattern have a gate."""
    network = build(program(TYPES, [([("a", {})], [("b", ["0.x"])]), (ABSENT_B, [("c", [0])])]))
    aliases = [[next(iter(pattern)) for pattern in rule["all"]] for name, rule in _rules(network).items() if name in {"0", "1"}]
    assert aliases == [["A"], ["A", "Z", "n0$not"]]


def test_absence_of_measured_facts_opens_with_them() -> None:
    """What is measured is complete when the stage begins: its gate is of level 0."""
    network = build(program(TYPES, [(ABSENT_B, [("out", [0])])]))
    assert [level.gates for level in network.levels["one"]] == [(0,)]


def test_absence_of_derived_facts_waits() -> None:
    """What is derived in the stage is complete when all below has come to rest: each step is a level."""
    rules: Rules = [
        ([("a", {})], [("b", ["0.x"])]),
        ([("a", {}), ("not b", {})], [("c", ["0.x"])]),
        ([("a", {}), ("not c", {})], [("out", ["0.x"])]),
    ]
    levels = build(program(TYPES, rules)).levels["one"]
    assert [level.gates for level in levels] == [(), (0,), (1,)]
    assert [level.loud for level in levels] == [frozenset(), {0}, {0}]


def test_a_dense_list_is_a_range_with_exceptions() -> None:
    """`in` over near numbers needs no variants: it is a range without its gaps."""
    network = build(program(TYPES, [([("b", {"x": ("in", (1, 2, 4))})], [("out", [0])])]))
    assert network.owners == (0,)
    (pattern,) = _rules(network)["0"]["all"]
    assert pattern["A"]["$and"][1:] == [{"$gte": {"a": 1}}, {"$lte": {"a": 4}}, {"$neq": {"a": 3}}]


def test_a_scattered_list_makes_variants() -> None:
    """`in` over far numbers becomes one rule for each, and together they are one rule."""
    network = build(program(TYPES, [([("b", {"x": ("in", (1, 100, 10_000))})], [("out", [0])])]))
    assert network.owners == (0, 0, 0)


def test_the_definition_caps_and_shares() -> None:
    """Every rule may dispatch 64 firings at once and bind one fact twice."""
    rules = _rules(build(program(TYPES, [([("b", {})], [("out", [0])])])))
    assert {name: (rule["cap"], rule.get("dist")) for name, rule in rules.items()} == {
        "O": (1, None),
        "E": (1, None),
        "0": (64, 0),
    }


def _far(count: int) -> tuple[str, tuple[int, ...]]:
    return ("in", tuple(range(0, count * 1_000, 1_000)))


@pytest.mark.parametrize(
    ("when", "message"),
    [
        ([("b", {"x": _far(9)}), ("c", {"x": _far(9)})], "81 variants"),
        ([("b", {})] * 13, "12 positive patterns"),
        ([("b", {"x": 2**31})], "2\\^31"),
        ([("b", {"x": ("in", (0, -(2**60)))})], "2\\^31"),
    ],
)
def test_what_the_engine_cannot_hold_is_refused(when: Any, message: str) -> None:
    """A rule beyond what the engine runs correctly is an error at load, at its place."""
    with pytest.raises(ReflectGateError, match=message) as caught:
        build(program(TYPES, [(when, [("out", [0])])]))
    assert caught.value.code == "engine-limit"
    assert caught.value.source is not None


def test_types_with_too_many_fields_are_refused() -> None:
    """There are so many keys that are known not to collide."""
    with pytest.raises(ReflectGateError, match="52 fields"):
        build(program({"wide": [f"f{number}" for number in range(53)]}, [([("wide", {})], [])]))


def test_bundles_of_too_many_variants_are_refused() -> None:
    """Every variant costs memory in every session."""
    with pytest.raises(ReflectGateError, match="2048 rules"):
        build(program(TYPES, [([("b", {"x": _far(60)})], [("out", [0])]) for _ in range(35)]))
