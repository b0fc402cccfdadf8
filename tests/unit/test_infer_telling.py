"""Which facts the rules of a stage can say anything of: no engine need be asked of the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate import Bundle
from reflect_gate.facts import Fact
from reflect_gate.infer.telling import Telling
from reflect_gate.runtime import runtime
from reflect_gate.stages.retrieve import COMPARED

from .infer_programs import Rules, program

TYPES = {"match": ("lesson", "words"), "barred": ("lesson",), "near": ("words",), "table": ("words",), "finding": ("verdict",)}
OFFERED = ("finding", (1,))


def telling(*rules: tuple[object, object], unknown: tuple[str, ...] = (), tables: tuple[tuple[int, ...], ...] = ()) -> Telling:
    """Return what rules tell of `match`, which is type 0."""
    made: Rules = rules  # type: ignore[assignment]
    return Telling(program(TYPES, made, tables=tables), "one", 0, unknown)


ENOUGH = ([("match", {"words": ("gte", 2)})], [OFFERED])
BARS = ([("match", {"words": 9})], [("barred", ("0.lesson",))])
UNLESS_BARRED = ([("match", {"words": ("gte", 2)}), ("not barred", {"lesson": "0.lesson"})], [OFFERED])


def test_a_fact_that_no_rule_hears_of_does_not_tell() -> None:
    """The constant tests of the rules that find decide, not those of rules that only derive."""
    told = telling(BARS, ([("match", {"words": ("gte", 2)}), ("not barred", {"lesson": "0.lesson"})], [OFFERED]))
    assert [told.of((0, 7, words)) for words in (1, 2, 9)] == [False, True, True]
    assert (told.silent, told.alone) == (False, True)


def test_what_is_not_known_yet_counts_as_passed() -> None:
    """A field that is still to be measured keeps no fact out."""
    told = telling(ENOUGH, unknown=("words",))
    assert told.of((0, 7, 0))


def test_without_a_rule_that_finds_nothing_tells() -> None:
    """Rules that only derive say nothing."""
    assert not telling(BARS).of((0, 7, 9))


@pytest.mark.parametrize(
    "rule",
    [
        ([("match", {}), ("match", {"words": "0.words"})], [OFFERED]),
        ([("match", {}), ("not match", {"words": ("gte", 3)})], [OFFERED]),
        ([("match", {}), ("not barred", {})], [OFFERED]),
        ([("match", {}), ("near", {"words": "0.words"})], [OFFERED]),
    ],
    ids=["two facts", "no other fact", "whatever is barred", "joined by another field"],
)
def test_a_rule_that_hears_of_two_facts_is_noticed(rule: tuple[object, object]) -> None:
    """Where one lesson can speak for or against another, all of them must be asserted together."""
    assert not telling(BARS, ([("match", {})], [("near", ("0.words",))]), rule).alone


def test_a_derived_fact_that_does_not_always_name_its_lesson_joins_two() -> None:
    """`barred` with a constant in it bars lessons that it was not derived from."""
    assert not telling(([("match", {})], [("barred", (5,))]), UNLESS_BARRED).alone


def test_a_table_is_no_other_fact() -> None:
    """What stands in the rule file is the same for all."""
    assert telling(([("match", {}), ("table", {"words": "0.words"})], [OFFERED]), tables=((3, 1),)).alone


def test_a_rule_that_finds_without_a_fact_is_noticed() -> None:
    """Then nothing follows from there being no fact that tells."""
    told = telling(([("table", {})], [OFFERED]), tables=((3, 1),))
    assert (told.silent, told.alone) == (True, False)


@given(
    facts=st.lists(
        st.tuples(
            st.booleans(),
            st.sampled_from(["holds", "unknown", "fails"]),
            *(st.integers(0, top) for top in (60, 4, 60)),
            st.booleans(),
            st.booleans(),
            st.integers(0, 3),
            st.booleans(),
        ),
        max_size=4,
    )
)
def test_what_does_not_tell_is_not_offered(structured: Bundle, facts: list[tuple[object, ...]]) -> None:
    """R-h1: asked of both engines, the shipped rules offer only what tells, and the same with or without the rest."""
    gate = runtime(structured)
    asked: list[Fact] = [
        ("match", f"l-{number}", exact, fit, place, words, score, "episodic", red, in_use, tags, hinted)  # type: ignore[misc]
        for number, (exact, fit, place, words, score, red, in_use, tags, hinted) in enumerate(facts)
    ]
    full, loose = gate.telling("retrieve", "match"), gate.telling("retrieve", "match", COMPARED)
    assert full.alone
    assert loose.alone
    tells = [fact for fact, said in zip(asked, gate.some(full, asked), strict=True) if said]
    could = [fact for fact, said in zip(asked, gate.some(loose, asked), strict=True) if said]
    assert set(tells) <= set(could)
    offered = {(found.about, found.reason) for found in gate.conclude("retrieve", asked).findings}
    assert {about for about, _ in offered} <= {fact[1] for fact in tells}
    assert {(found.about, found.reason) for found in gate.conclude("retrieve", tells).findings} == offered
