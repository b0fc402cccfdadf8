"""What is said of thresholds, and of rules that refuse what helped."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from reflect_gate import Bundle, ReflectGateError
from reflect_gate.ab.comparing import Plan
from reflect_gate.ab.sweeping import Point
from reflect_gate.corpus.blind import fold_of
from reflect_gate.corpus.figures import Case
from reflect_gate.resources import data_path

# The scripts import one another by name, as they do when they are run.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "acceptance"))
refusals, scored, tuning = (importlib.import_module(name) for name in ("refusals", "scored", "tuning"))
PLAN = Plan(resamples=60)
POINTS = [Point("some.least", value) for value in (1, 2, 3)]
TASKS = [f"task-{number}" for number in range(40)]


def found(then: Any) -> Any:
    """Return four records of each task: two that helped, one that did nothing, one that harmed.

    The value in force, 2, admits the first and the third, and so does the value 1; `then` says of a task and a record's place
    whether the value 3 admits it.
    """
    cases, rows = [], []
    for task in TASKS:
        for place in range(4):
            cases.append(Case(task, place == 3, place < 2))
            rows.append([place in {0, 2}, place in {0, 2}, then(task, place)])
    return tuning.Swept(cases, rows)


def test_a_value_that_is_better_everywhere_is_proposed() -> None:
    """It admits more of what helped in each task, and nothing else besides: chosen by every group."""
    told = tuning.judged("some.least", POINTS, 2.0, found(lambda _, place: place in {0, 1, 2}), PLAN)
    assert told["proposed"] == [3.0]
    assert told["chosen"] == [3.0] * PLAN.folds
    assert told["held_out"]["recall"]["value"] == 0.5
    assert told["values"][0]["better_in"] == PLAN.folds


def test_a_value_that_is_worse_in_one_group_is_not_proposed() -> None:
    """Better beyond noise in all is not enough."""
    bad = fold_of(TASKS[0], PLAN.folds)

    def then(task: str, place: int) -> bool:
        return place == 2 if fold_of(task, PLAN.folds) == bad else place in {0, 1}

    told = tuning.judged("some.least", POINTS, 2.0, found(then), PLAN)
    assert told["values"][0]["worse_in"] == 1
    assert told["values"][0]["beyond"]
    assert told["proposed"] == []


def test_a_value_that_changes_nothing_in_a_group_is_not_proposed() -> None:
    """What one group alone does not bear out may be luck, however much it betters the others."""
    idle = fold_of(TASKS[0], PLAN.folds)

    def then(task: str, place: int) -> bool:
        return place in {0, 2} if fold_of(task, PLAN.folds) == idle else place in {0, 1, 2}

    told = tuning.judged("some.least", POINTS, 2.0, found(then), PLAN)
    assert (told["values"][0]["better_in"], told["values"][0]["worse_in"]) == (PLAN.folds - 1, 0)
    assert told["values"][0]["beyond"]
    assert told["proposed"] == []


def test_values_that_admit_the_same_have_the_same_interval() -> None:
    """Intervals move where the records do, and not by lot."""
    same = found(lambda _, place: place in {0, 1, 2})
    rows = [[row[1], row[2], row[2]] for row in same.rows]
    told = tuning.judged("some.least", POINTS, 1.0, tuning.Swept(same.cases, rows), PLAN)
    assert told["values"][0]["recall"] == told["values"][1]["recall"]
    assert told["proposed"] == [2.0, 3.0]


def test_a_value_that_trades_is_not_chosen() -> None:
    """More recall for more harm is shown with its price, and is no better."""
    told = tuning.judged("some.least", POINTS, 2.0, found(lambda *_: True), PLAN)
    one = told["values"][0]
    assert (one["beyond"], one["against"], one["better_in"]) == (["recall"], ["harm"], 0)
    assert told["chosen"] == [2.0] * PLAN.folds
    assert told["proposed"] == []


def test_a_group_is_judged_by_the_choice_of_the_others() -> None:
    """Where one group alone gains, it is the others that learn of it, and it is judged by the value in force."""
    only = fold_of(TASKS[0], PLAN.folds)

    def then(task: str, place: int) -> bool:
        return place in {0, 1, 2} if fold_of(task, PLAN.folds) == only else place in {0, 2}

    told = tuning.judged("some.least", POINTS, 2.0, found(then), PLAN)
    assert [place for place, value in enumerate(told["chosen"]) if value == 2.0] == [only]
    assert told["held_out"]["recall"]["value"] == 0.0


def test_cells_of_the_table_are_those_of_the_rules(structured: Bundle) -> None:
    """What a failure needs that stands alone, as `rules/admission.yaml` has it."""
    rows: list[dict[str, Any]] = yaml.safe_load(data_path("rules/admission.yaml").read_text(encoding="utf-8"))["tables"][
        "evidence_needed"
    ]["rows"]
    task = next(row for row in rows if row["breadth"] == "task")
    known = tuning.with_cells(structured).settings
    assert {column: known[tuning._cell_name(column)].value for column in tuning.CELLS} == {
        column: task[column] for column in tuning.CELLS
    }


def test_a_cell_decides_how_many_checks_are_needed(request_document: dict[str, Any]) -> None:
    """One crash that nobody vouches for is enough where one is asked for, and not where two are."""
    request_document["record"]["traces"][2]["oracle"] = "self_written"
    judge = tuning._Judge("structured", [])
    answers = dict(zip(judge.points, judge(request_document), strict=True))
    assert [answers[Point(tuning._cell_name("defects"), value)] for value in (1, 2)] == [True, False]


def spoken(*rows: tuple[str, Sequence[str]]) -> list[Any]:
    """Return records that helped (`+`), harmed (`-`) or did neither, and the rules against each."""
    cases = {"+": (False, True), "-": (True, False), "0": (False, False)}
    return [
        refusals.Spoken(Case(f"task-{place}", *cases[kind]), "speculative" if against else None, frozenset(against))
        for place, (kind, against) in enumerate(rows)
    ]


def test_the_search_finds_the_rules_that_keep_help_out() -> None:
    """Letting go what refuses help alone reaches all that is looked for; what refuses harm is left."""
    rows = [("+", ()), ("+", ("g/strict",)), ("+", ("g/strict",)), ("-", ("g/right",)), ("0", ("g/right",)), ("0", ("g/right",))]
    told = refusals.searched(spoken(*rows))
    assert told["without"]["recall"] == pytest.approx(1 / 3)
    assert told["reached"]["rules"] == ["g/strict"]
    assert told["reached"]["recall"] == 1.0


def test_the_search_leaves_restatements_alone() -> None:
    """R-e1: where only line-level lessons helped there is no other way."""
    rows = [("+", ()), *[("+", (refusals.KEPT,))] * 3, *[("-", ("g/right",))] * 4]
    told = refusals.searched(spoken(*rows))
    assert told["reached"] is None
    assert told["most"]["recall"] == 0.25
    assert told["line_level"]["recall"] == 1.0


def test_rules_count_alone_and_with_others() -> None:
    """A rule that speaks with another lets nothing in by itself."""
    told = refusals.document(spoken(("+", ("g/a", "g/b")), ("+", ("g/a",)), ("0", ("g/a",)), ("+", ())), "some", 40)
    rule = next(one for one in told["rules"] if one["rule"] == "g/a")
    assert (rule["any"]["records"], rule["alone"]["records"], rule["alone"]["precision"]) == (3, 2, 0.5)
    assert told["refused_helped"] == 2
    assert told["reasons"][0]["records"] == 3


def test_what_admission_repeats_is_not_counted_again(structured: Bundle, request_document: dict[str, Any]) -> None:
    """A claim about nothing in the record is refused by grounding, and not by admission as well."""
    request_document["reflection"]["evidence_ids"] = ["nowhere"]
    found = refusals.spoken([scored.Scored(request_document, Case("t", False, True))], structured)
    assert "grounding/missing-evidence" in found[0].against
    assert not any(rule == "admission/speculative" for rule in found[0].against)
    assert found[0].reason == "speculative"


def test_a_bundle_that_is_not_there_is_an_error() -> None:
    """A misspelt name is no empty table."""
    with pytest.raises(ReflectGateError):
        tuning._Judge("structurde")
