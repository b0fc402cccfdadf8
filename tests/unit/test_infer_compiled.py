"""The generated engine: its text, its traces, and how it stops."""

from __future__ import annotations

import re

import pytest

from reflect_gate import Bundle
from reflect_gate.config import Limits
from reflect_gate.errors import ReflectGateError
from reflect_gate.infer.compiled import MISSES, Compiled, Miss, load
from reflect_gate.infer.generate import generate

from .infer_programs import Rules, When, firings, program

TYPES = {"a": ["x", "y"], "b": ["x"], "out": ["x"]}
RULES: Rules = [([("a", {"y": ("gte", 50)}), ("b", {"x": "0.x"})], [("out", ["0.x"])])]


def test_text_holds_no_word_of_a_policy(structured: Bundle) -> None:
    """The generated module is made of integers and a fixed set of short words: nothing from YAML can become code."""
    for tracing in (False, True):
        words = set(re.findall(r"[A-Za-z]+", generate(structured.program, tracing=tracing)))
        code = {"def", "for", "in", "if", "is", "not", "and", "or", "else", "break", "continue", "return", "while", "None"}
        calls = {"len", "get", "append", "add"}
        assert {word for word in words - code - calls if len(word) > 2} == set()
        assert '"' not in generate(structured.program, tracing=tracing)


def test_text_is_the_same_every_time(structured: Bundle) -> None:
    """Equal programs give equal text, so that it may be kept with the bundle."""
    assert generate(structured.program) == generate(structured.program)


def test_kept_text_is_used() -> None:
    """An engine made from kept text behaves as one made anew."""
    made = program(TYPES, RULES)
    facts = [(0, 1, 50), (1, 1)]
    assert firings(Compiled(made, generate(made)), ("one", facts)) == firings(Compiled(made), ("one", facts))


@pytest.mark.parametrize("text", ["", "F=0\nR={}", "R={}", "not python", "import os\nF=1\nR={}", "F=1"])
def test_text_of_another_kind_is_refused(text: str) -> None:
    """Text that `generate` of this version did not make is an error, not an engine without rules."""
    with pytest.raises(ReflectGateError) as caught:
        load(text)
    assert caught.value.code == "engine-failed"


def test_a_trace_says_what_failed() -> None:
    """Tracing keeps the first condition that each candidate fails, with its value and the facts bound so far."""
    engine = Compiled(program(TYPES, RULES), tracing=True)
    with engine.session(Limits()) as session:
        assert session.advance("one", [(0, 1, 49), (0, 2, 50), (1, 3)]) == []
    assert session.misses == [Miss(0, 0, 0, 49, 50, ((0, 1, 49),)), Miss(0, 1, 0, 3, 2, ((0, 2, 50), (1, 3)))]


def test_a_trace_says_what_was_not_there() -> None:
    """A pattern without any fact is a miss of its own."""
    engine = Compiled(program(TYPES, RULES), tracing=True)
    with engine.session(Limits()) as session:
        session.advance("one", [(0, 2, 50)])
    assert session.misses == [Miss(0, 1, -1, 0, 0, ((0, 2, 50),))]


def test_a_trace_says_what_refuted() -> None:
    """A negated pattern that finds a fact is a miss that names the fact."""
    rules: Rules = [([("a", {}), ("not b", {"x": "0.x"})], [("out", ["0.x"])])]
    engine = Compiled(program(TYPES, rules), tracing=True)
    with engine.session(Limits()) as session:
        assert session.advance("one", [(0, 1, 0), (0, 2, 0), (1, 1)]) == [(0, ((0, 2, 0),))]
    assert session.misses == [Miss(0, 1, -1, 0, 0, ((0, 1, 0), (1, 1)))]


def test_traces_are_bounded() -> None:
    """Tracing keeps so many misses and says that there were more."""
    engine = Compiled(program(TYPES, RULES), tracing=True)
    with engine.session(Limits()) as session:
        session.advance("one", [(0, number, 0) for number in range(MISSES + 1)])
    assert (len(session.misses), session.truncated) == (MISSES, True)


def test_a_search_without_end_is_stopped() -> None:
    """Joins that look at far more facts than they fire on are stopped while they run."""
    when: When = [("b", {})] + [("b", {"x": ("gt", f"{place}.x")}) for place in range(5)]
    engine = Compiled(program(TYPES, [([*when, ("a", {"x": "0.x"})], [("out", [0])])]))
    with pytest.raises(ReflectGateError) as caught:
        firings(engine, ("one", [(0, -1, 0), *[(1, number) for number in range(400)]]), limits=Limits(firings=100))
    assert caught.value.code == "engine-limit"


def test_all_facts_can_be_asked_for() -> None:
    """A session tells every fact that it knows: tables, measured and derived."""
    engine = Compiled(program(TYPES, RULES, tables=[(1, 1)]))
    with engine.session(Limits()) as session:
        session.advance("one", [(0, 1, 60)])
    assert session.facts == [(0, 1, 60), (1, 1), (2, 1)]
