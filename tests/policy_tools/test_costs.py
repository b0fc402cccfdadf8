"""`policy bench`: counts that are the same each time, and a growth that is told."""

from __future__ import annotations

from pathlib import Path

from reflect_gate import schemas
from reflect_gate.policy.costs import Change, Cost, compared, costs_of_cases
from reflect_gate.report._paint import Paint
from reflect_gate.report.costs import changes_text, costs_document, costs_text


def test_counts_of_a_small_policy(folder: Path) -> None:
    """`too-many` looks at one condition a lesson; `in-limits` at one or two, and at no hit."""
    costs = {cost.rule: cost for cost in costs_of_cases(folder, [folder / "rules"])}
    assert costs["speed/too-many"][3:] == (2, 2, 1, 1)
    assert (costs["speed/in-limits"].runs, costs["speed/in-limits"].fired) == (2, 1)
    assert 2 <= costs["speed/in-limits"].conditions <= 4


def test_same_figures_each_time(folder: Path) -> None:
    """Nothing is timed."""
    assert costs_of_cases(folder, [folder / "rules"]) == costs_of_cases(folder, [folder / "rules"])


def cost(rule: str, runs: int, conditions: int) -> Cost:
    """Return a cost."""
    return Cost(rule, "r.yaml", 1, runs, conditions, conditions, 0)


def test_growth_is_by_run() -> None:
    """More cases are no growth; more conditions a case are."""
    now = [cost("a/same", 20, 40), cost("a/dear", 10, 30), cost("a/new", 1, 1)]
    before = {"a/same": (20, 10), "a/dear": (20, 10), "a/gone": (5, 5)}
    changes = compared(before, now)
    assert [(change.rule, change.percent) for change in changes] == [("a/dear", 50), ("a/gone", 0), ("a/new", 0)]


def test_texts_and_document() -> None:
    """The table has a line a rule; the document holds to its schema."""
    costs = [cost("a/dear", 10, 30)]
    schemas.check("policy-bench", costs_document(costs), "here")
    assert "a/dear" in costs_text(costs, Paint())
    assert "+50 %" in changes_text([Change("a/dear", 200, 300)], 10, Paint())
    assert changes_text([], 10, Paint()) == "no rule's cost changed\n"
