"""Order never matters: `policy check --confluence` shuffles and compares (complaints 18, 23 and 24)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from reflect_gate.policy import confluence, load_bundle
from reflect_gate.policy.confluence import check_confluence, reordered
from reflect_gate.policy.model import Program


def test_small_policy_comes_out_alike(folder: Path) -> None:
    """Every case is run in every round."""
    tried = check_confluence(folder, [folder / "rules"], 4, 0)
    assert (tried.cases, tried.runs, tried.differences) == (2, 8, ())


@pytest.mark.slow
def test_shipped_rule_set_comes_out_alike() -> None:
    """A shipped rule set, beside what all of them compile to."""
    from reflect_gate.resources import data_path

    tried = check_confluence(data_path("policies.yaml"), [data_path("rules", "blame.cases.yaml")], 1, 1)
    assert tried.cases > 5
    assert tried.differences == ()


def test_engine_that_depends_on_order_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that fires only on its first fact is told, with the case and its place."""
    run = confluence._run

    def first_only(engine: object, ready: object, facts: object, program: object) -> frozenset[tuple[str, object]]:
        return run(engine, ready, tuple(facts)[:1], program)  # type: ignore[arg-type]

    cases = folder / "rules" / "speed.cases.yaml"
    text = cases.read_text(encoding="utf-8").replace(
        "{lesson: {hedges: 4}}", "{lesson: {hedges: 4}}, {lesson: {words: 3}}, {lesson: {}}"
    )
    cases.write_text(text, encoding="utf-8")
    monkeypatch.setattr(confluence, "_run", first_only)
    found = check_confluence(folder, [cases], 8, 0).differences
    assert found
    assert {error.code for error in found} == {"policy-confluence"}
    assert all(error.source is not None and error.source.line == 3 for error in found)


@pytest.fixture(scope="module")
def program() -> Program:
    """The shipped rules."""
    return load_bundle("structured").program


@pytest.mark.parametrize("seed", range(3))
def test_reordered_program_is_sound(program: Program, seed: int) -> None:
    """Numbers are places, and whatever a rule reads is derived before it."""
    moved = reordered(program, random.Random(seed))
    assert [rule.number for rule in moved.rules] == list(range(len(program.rules)))
    assert {rule.name for rule in moved.rules} == {rule.name for rule in program.rules}
    for place, stratum in enumerate(moved.strata):
        later = {head.type for rest in moved.strata[place + 1 :] for rule in rest.rules for head in moved.rules[rule].heads}
        finding = program.type_index("finding")
        for number in stratum.rules:
            rule = moved.rules[number]
            assert rule.stratum == place
            same_stage = {pattern.type for pattern in (*rule.positive, *rule.negative)} - {finding}
            assert not same_stage & {kind for kind in later if program.types[kind].owner == rule.ruleset}


def test_orders_differ(program: Program) -> None:
    """Shuffling does something."""
    orders = {tuple(rule.name for rule in reordered(program, random.Random(seed)).rules) for seed in range(4)}
    assert len(orders) > 1
