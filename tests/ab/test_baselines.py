"""Gates beside a bundle: what they are fitted to, and what they see."""

from __future__ import annotations

import copy
import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from reflect_gate.ab.comparing import Plan
from reflect_gate.corpus.blind import Fitted, Labelled, fold_of
from reflect_gate.corpus.figures import Case

# The scripts import one another by name, as they do when they are run.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "acceptance"))
baselines, logistic, scored, surface = (importlib.import_module(name) for name in ("baselines", "logistic", "scored", "surface"))
PLAN = Plan(resamples=40)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "ab-report.md"


@pytest.fixture
def records(request_document: dict[str, Any]) -> Callable[[Sequence[str]], list[Any]]:
    """One record for each task named, the first of every two of which helped."""

    def made(tasks: Sequence[str]) -> list[Any]:
        found = []
        for number, task in enumerate(tasks):
            request = copy.deepcopy(request_document)
            request["record"]["failure_id"] = f"{task}-{number}"
            found.append(scored.Scored(request, Case(task, False, number % 2 == 0)))
        return found

    return made


def drawn(size: int) -> list[Labelled]:
    """Return records of which the first feature tells what helped, the second is noise and the third never changes."""
    rng = Random(5)
    rows = [(rng.gauss(1.5 if number % 2 else -1.5, 1.0), rng.gauss(0.0, 1.0), 7.0) for number in range(size)]
    return [Labelled(f"task-{number}", row, bool(number % 2)) for number, row in enumerate(rows)]


def test_the_logistic_model_finds_what_tells() -> None:
    """The column that tells weighs the most, the one that is the same everywhere is left out."""
    records = drawn(200)
    model = logistic.fit([one.features for one in records], [one.helped for one in records])
    assert [column.place for column in model.columns] == [0, 1]
    assert model.weights[1] > 5 * abs(model.weights[2])
    assert model.chance((3.0, 0.0, 7.0)) > 0.9
    assert model.chance((-3.0, 0.0, 7.0)) < 0.1


def test_the_logistic_model_is_at_its_optimum() -> None:
    """Where the penalised likelihood is highest its slope is 0: residuals and columns agree with the penalty."""
    records = drawn(60)
    rows, helped = [one.features for one in records], [one.helped for one in records]
    model = logistic.fit(rows, helped, ridge=2.0)
    residuals = [won - model.chance(row) for row, won in zip(rows, helped, strict=True)]
    assert sum(residuals) == pytest.approx(0.0, abs=1e-6)
    for (place, mean, deviation), weight in zip(model.columns, model.weights[1:], strict=True):
        slope = sum(left * (row[place] - mean) / deviation for left, row in zip(residuals, rows, strict=True))
        assert slope == pytest.approx(2.0 * weight, abs=1e-6)


@pytest.mark.parametrize("recall", [0.25, 0.5, 1.0])
def test_a_threshold_reaches_the_recall_and_no_more(recall: float) -> None:
    """The highest threshold at which the share of what helped is admitted."""
    shares, helped = [0.9, 0.8, 0.7, 0.6, 0.5], [True, False, True, True, True]
    least = logistic.least_for(shares, helped, recall)
    won = sum(share >= least and hit for share, hit in zip(shares, helped, strict=True))
    assert won == 4 * recall


def test_what_is_barred_stays_out() -> None:
    """A value below 0 bars a record, whatever recall is asked for."""
    records = [Labelled("a", (-1.0,), True), Labelled("b", (0.5,), True), Labelled("c", (0.2,), False)]
    gate = logistic.single(records, 1.0).gate
    assert [gate(record) for record in records] == [False, True, True]


def test_the_surface_of_a_reflection_is_blind_to_its_record(request_document: dict[str, Any]) -> None:
    """Another record gives the same counts; what stands in the evidence is another measure."""
    other = copy.deepcopy(request_document)
    for item in other["record"]["traces"]:
        item["text"] = "nothing of the kind"
    assert surface.surface(other) == surface.surface(request_document)
    assert len(surface.surface(other)) == len(surface.NAMES)
    assert surface.overlap(other) < surface.overlap(request_document)


def test_words_in_common_are_those_of_cited_items(request_document: dict[str, Any]) -> None:
    """An item that is not cited lends no words."""
    uncited = copy.deepcopy(request_document)
    uncited["reflection"]["evidence_ids"] = []
    assert surface.overlap(uncited) == 0.0 < surface.overlap(request_document)


def test_a_gate_is_fitted_to_other_tasks(records: Callable[[Sequence[str]], list[Any]]) -> None:
    """On the open part no gate judges a group that it was fitted to; on the part kept apart all learn from the open one."""
    tasks = [f"task-{number}" for number in range(12)]
    seen, apart = baselines.Seen(records(tasks)), baselines.Seen(records(["elsewhere", "yonder"]))
    learnt: list[set[str]] = []

    def spy(found: Sequence[Labelled], _recall: float) -> Fitted:
        known = {record.task for record in found}
        learnt.append(known)
        return Fitted(lambda record: record.task in known, "")

    table = baselines._Table("structured", seen, seen, PLAN)
    assert table.fitted(spy, lambda one: one.evidence) == [False] * len(tasks)
    assert len(learnt) == len({fold_of(task, PLAN.folds) for task in tasks})
    del learnt[:]
    beside = baselines._Table("structured", apart, seen, PLAN)
    assert beside.fitted(spy, lambda one: one.evidence) == [False, False]
    assert learnt == [set(tasks)]


def test_one_table_has_every_gate(records: Callable[[Sequence[str]], list[Any]]) -> None:
    """The bundle comes first; admitting all has the base rate; paired differences are the bundle's less the gate's."""
    found = scored.Parts(records([f"task-{number}" for number in range(8)]), records(["elsewhere", "yonder"]))
    told = baselines.document(found, ["structured"], PLAN)
    rows = {row["gate"]: row for row in told[0]["open"]}
    assert next(iter(rows)) == "structured"
    assert rows["introspect: all"]["precision"] == 0.5
    assert rows["introspect: all"]["admitted"] == 8
    assert {"random, as many", "text-blind cells", "logistic, both and words in common"} <= set(rows)
    assert rows["introspect: all"]["above"]["value"] == rows["structured"]["precision"] - 0.5
    assert [row["gate"] for row in told[0]["apart"]] == list(rows)
    title = baselines.sheets(told, "apart")[0].title
    assert title == "kept apart: baselines beside structured, 2 records"


def test_a_family_that_passes_over_records_never_admits_them() -> None:
    """It is fitted to what may pass, asked for the recall of all, and refuses the rest."""
    records = [Labelled(f"t{number}", (float(number), float(number % 2)), number > 3) for number in range(8)]
    asked: list[tuple[int, float]] = []

    def spy(found: Sequence[Labelled], recall: float) -> Fitted:
        asked.append((len(found), recall))
        return Fitted(lambda _: True, "")

    gate = baselines.passing(spy)(records, 0.25).gate
    assert [gate(record) for record in records] == [bool(number % 2) for number in range(8)]
    assert asked == [(4, 0.5)]


def test_assay_gate_sees_the_same_candidates(request_document: dict[str, Any]) -> None:
    """It refuses what it holds already; shared words stand for its model, sentence by sentence."""
    pytest.importorskip("assay_gate")
    admitted, shares = baselines.assayed([request_document, request_document])
    assert admitted == [True, False]
    assert shares[0] == shares[1]
    assert 0 < shares[0][0] < 1


@pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")
def test_the_report_has_every_gate_for_each_bundle() -> None:
    """R-m1: what a bundle is held against stands in the page, assay-gate included, and again for the part kept apart."""
    text = PAGE.read_text(encoding="utf-8")
    for bundle in baselines.BUNDLES:
        assert text.count(f"aselines beside {bundle}, ") == 2
    for gate in ("introspect: all", "random, as many", "text-blind cells", "logistic, evidence", "assay-gate as it comes"):
        assert text.count(f"\n| {gate} | ") >= 2 * len(baselines.BUNDLES)
    assert text.index("\n## Baselines beside ") < text.index("\n## Kept apart: baselines beside ")
