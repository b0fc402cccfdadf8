"""The engines against each other and against the YAML itself, on policies and facts that nobody wrote."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reflect_gate import load_bundle
from reflect_gate.config import Limits
from reflect_gate.facts import Fact
from reflect_gate.infer.compiled import Compiled

from . import bulk
from .bundles import facts_for, policies, write
from .compare import Decoder, differences, engines_of
from .naive import Naive


def _rule_set(**changes: Any) -> dict[str, Any]:
    document = {
        "ruleset": "hand",
        "version": "1.0.0",
        "stage": "ground",
        "doc": "Written by hand.",
        "neutral": "grounded",
        "derive": {"reach": {"a": "id", "b": "id"}, "alone": {"a": "id"}},
    }
    return document | changes


REACH = _rule_set(
    tables={
        "edge": {
            "doc": "A ring of a, b and c that leads out to d.",
            "columns": {"a": "id", "b": "id"},
            "rows": [{"a": "a", "b": "b"}, {"a": "b", "b": "c"}, {"a": "c", "b": "a"}, {"a": "c", "b": "d"}],
        }
    },
    rules=[
        {
            "id": "step",
            "doc": "One step, from an item.",
            "when": [{"item as i": {}}, {"edge as e": {"a": "$i.item"}}],
            "then": [{"reach": {"a": "$e.a", "b": "$e.b"}}],
        },
        {
            "id": "onward",
            "doc": "Any number of steps.",
            "when": [{"reach as x": {}}, {"reach as y": {"a": "$x.b"}}],
            "then": [{"reach": {"a": "$x.a", "b": "$y.b"}}],
        },
        {
            "id": "alone",
            "doc": "Reached by nothing.",
            "when": [{"item as i": {}}, {"not reach": {"b": "$i.item"}}],
            "then": [{"alone": {"a": "$i.item"}}],
        },
    ],
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(rng=st.randoms(use_true_random=False))
def test_engines_agree_with_the_yaml(rng: Random, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever the policy, the facts and their order, every engine fires what a naive fixpoint over the YAML fires."""
    path = write(tmp_path_factory.mktemp("fuzz"), policies(rng))
    bundle = load_bundle("fuzz", policies=path, cache=False, as_of="2026-01-01")
    documents = [yaml.safe_load(file.read_bytes()) for file in sorted((path.parent / "rules").iterdir())]
    found, _ = differences(bundle, engines_of(bundle.program), documents, facts_for(rng), rng)
    assert found == []


def test_bulk_runner_finds_no_disagreement() -> None:
    """The runner for thousands of bundles compares firings, not silence: seeds 0 to 39 fire rules and agree."""
    counts, complaints = bulk.run(40, 2, 0)
    assert complaints == []
    assert counts["bundles"] == 40
    assert counts["firings"] > 250


def test_bulk_runner_notices_a_wrong_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that drops a firing is reported with the seed that shows it."""
    advance = Compiled.session

    def forgetful(self: Compiled, limits: Limits) -> Any:
        session = advance(self, limits)
        whole = session.advance
        session.advance = lambda stage, facts: whole(stage, facts)[1:]  # type: ignore[method-assign]
        return session

    monkeypatch.setattr(Compiled, "session", forgetful)
    counts, complaints = bulk.run(3, 2, 0)
    assert counts["disagreements"] > 0
    assert complaints[0].startswith("seed ")
    assert "compiled in stage" in complaints[0]


def _items(names: str) -> list[Fact]:
    return [("item", name, "plan", "11", 1, "none", "none") for name in names]


def test_naive_follows_chains_and_absence() -> None:
    """The naive reading itself is right on a case small enough to do by hand."""
    naive = Naive([REACH])
    fired = naive.advance("ground", _items("abe"))
    assert {fact[1:] for fact in naive.facts if fact[0] == "hand/reach"} == {("a", "b"), ("b", "c"), ("a", "c")}
    assert {bound[0][1] for rule, bound in fired if rule == "hand/alone"} == {"a", "e"}
    assert len(fired) == 5


@pytest.mark.parametrize("order", range(6))
def test_recursion_ends_before_absence_is_asked(order: int, tmp_path: Path) -> None:
    """A ring is followed to its end on every engine before a rule of the same stage asks what is not reached."""
    bundle = load_bundle("fuzz", policies=write(tmp_path, [REACH]), cache=False)
    facts: dict[str, list[Fact]] = {"evidence": _items("abcde"), "ground": []}
    rng = Random(order)
    known = Decoder(bundle.program)
    engines = engines_of(bundle.program)
    assert differences(bundle, engines, [REACH], facts, rng) == ([], 41)
    for engine in engines.values():
        with engine.session(Limits()) as session:
            session.advance("evidence", known.encode(rng.sample(facts["evidence"], 5)))
            derived = known.derived(session.advance("ground", []))
        assert {fact[1:] for fact in derived if fact[0] == "hand/alone"} == {("e",)}
        assert {fact[1:] for fact in derived if fact[0] == "hand/reach"} == {(a, b) for a in "abc" for b in "abcd"}


def test_no_firing_is_lost_between_names_and_numbers(tmp_path: Path) -> None:
    """Putting facts into numbers and back gives the same facts."""
    bundle = load_bundle("fuzz", policies=write(tmp_path, [REACH]), cache=False)
    known = Decoder(bundle.program)
    facts = [("cite", "b", True), *_items("a")]
    assert [known.fact(fact) for fact in known.encode(facts)] == [
        ("/cite", "b", 1),
        ("/item", "a", "plan", "11", 1, "none", "none"),
    ]
