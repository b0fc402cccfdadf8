"""The shipped cases try the shipped rules: conditions covered, planted mistakes noticed."""

from __future__ import annotations

from decimal import Decimal

import pytest

from reflect_gate.policy.coverage import Coverage, coverage, floored
from reflect_gate.policy.mutate import mutate, subjects
from reflect_gate.policy.reference import read_shipped
from reflect_gate.resources import data_path

RULESETS = [file.name for file in read_shipped()[0]]
POLICIES = data_path("policies.yaml")


@pytest.fixture(scope="module")
def found() -> Coverage:
    """The coverage of the rules by all shipped cases."""
    return coverage([data_path("rules", f"{name}.cases.yaml") for name in RULESETS], POLICIES)


@pytest.mark.slow
def test_conditions_are_covered(found: Coverage) -> None:
    """At least 95 % of the conditions are seen both ways, and every rule fires."""
    assert found.below(Decimal(95)) == []
    assert floored(found.share("rules")) == "100.0"


@pytest.mark.slow
def test_every_rule_set_is_tried_on_and_off(found: Coverage) -> None:
    """A case shows what the gate does without each rule set; no bundle is without `audit`, which decides no admission."""
    tried = [toggle for toggle in found.toggles.values() if toggle.ruleset != "audit"]
    assert [toggle.ruleset for toggle in tried if not toggle.on or not toggle.off] == []


@pytest.mark.slow
@pytest.mark.parametrize("ruleset", RULESETS)
def test_planted_mistakes_are_noticed(ruleset: str) -> None:
    """At least 90 % of the mutants of each rule set are killed by its cases."""
    results = mutate(subjects([data_path("rules")], [ruleset]), POLICIES, keep=False)
    survivors = [f"{result.mutant.rule}: {result.mutant.text}" for result in results if not result.killed_by]
    assert len(survivors) * 10 <= len(results), survivors
