"""Figures: intervals, gates that do not read the text, and what is counted of mutants, outcomes and labels."""

from __future__ import annotations

from typing import Any

import pytest

from reflect_gate.corpus._intervals import bootstrap, quotient, share
from reflect_gate.corpus.blind import FAMILIES, Labelled, fold_of, held_out, in_sample
from reflect_gate.corpus.score import Outcome, Verdict, mutant_scores, outcome_of, outcome_scores, summary, sweep_point
from reflect_gate.errors import ReflectGateError, Source
from reflect_gate.intervals import wilson

ADMITTED, REFUSED = "admitted", "refused"


def verdict(name: str, status: str = ADMITTED, stage: str = "ground") -> Verdict:
    """Return a verdict on a candidate of its own task."""
    against = frozenset() if status == ADMITTED else frozenset({(stage, "unsupported")})
    return Verdict(name, f"task-{name}", status, None if status == ADMITTED else "speculative", against)


def seen(*, failing: int = 1, firm: int = 0) -> tuple[float, ...]:
    """Return what a text-blind gate sees of a record with so many failing checks, so many of them firm."""
    return failing, 0, 1.0, firm, firm / failing, 0, 0, 0.0, 0


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_interval(hits: int, n: int, low: float, high: float) -> None:
    """Against values of R's `prop.test(correct = FALSE)`."""
    assert wilson(hits, n) == pytest.approx((low, high), abs=1e-4)


def test_nothing_has_no_interval() -> None:
    """No share and no interval of nothing."""
    assert wilson(0, 0) is None
    assert share([], "s").to_json() == {"hits": 0, "n": 0, "share": None, "wilson": None, "cluster": None}


def test_bootstrap_draws_whole_tasks() -> None:
    """Two tasks that each agree with themselves: resampled shares are 0, a half or 1, so that the interval is everything."""
    rows = [("a", (1, 1))] * 50 + [("b", (0, 1))] * 50
    assert bootstrap(rows, quotient, "s") == (0.0, 1.0)
    low, high = wilson(50, 100) or (0.0, 0.0)
    assert (low, high) == pytest.approx((0.4038, 0.5962), abs=1e-4)


def test_bootstrap_is_seeded() -> None:
    """The same seed gives the same interval, another one another."""
    rows = [(str(number), (number % 3 == 0, 1 + number % 4)) for number in range(30)]
    assert bootstrap(rows, quotient, "1") == bootstrap(rows, quotient, "1")
    assert bootstrap(rows, quotient, "1") != bootstrap(rows, quotient, "2")


def test_one_task_has_no_bootstrap_interval() -> None:
    """Of one task nothing can be resampled."""
    assert bootstrap([("a", (1, 2)), ("a", (0, 2))], quotient, "s") is None


@pytest.mark.parametrize("family", FAMILIES)
def test_text_blind_gate_finds_what_the_evidence_tells(family: str) -> None:
    """Where a firm check tells all, the gate is perfect, on other tasks as well."""
    records = [Labelled(f"t{number}", seen(firm=number % 2), number % 2 == 1) for number in range(40)]
    wanted = [record.helped for record in records]
    assert in_sample(records, 1.0, FAMILIES[family]) == wanted
    assert held_out(records, 1.0, FAMILIES[family]) == wanted


def test_held_out_gate_has_not_seen_its_tasks() -> None:
    """What holds for one task alone is learnt in sample and not beyond it."""
    odd = "t0"
    records = [Labelled(f"t{number}", seen(failing=2), number == 1) for number in range(1, 40)]
    records.append(Labelled(odd, seen(failing=9), True))
    fit = FAMILIES["cells"]
    assert in_sample(records, 0.5, fit)[-1]
    assert not held_out(records, 0.4, fit)[-1]


def test_tasks_are_grouped_by_hash() -> None:
    """A task's group depends on its name alone, and every group is used."""
    assert {fold_of(f"task-{number}") for number in range(60)} == set(range(5))


@pytest.mark.parametrize("family", FAMILIES)
def test_text_blind_gate_of_nothing(family: str) -> None:
    """No records, no gate, no error."""
    assert in_sample([], 0.5, FAMILIES[family]) == []


def test_mutants_of_refused_candidates_prove_nothing() -> None:
    """Detected counts only what was made of an admitted original."""
    originals = [verdict("a"), verdict("b", REFUSED)]
    mutants = [("opposite", verdict("a")), ("opposite", verdict("b", REFUSED))]
    scores = mutant_scores(mutants, originals, "0", 50)
    (row,) = scores["mutators"]
    assert (row["made"], row["detected"]["hits"], row["detected"]["n"]) == (2, 0, 1)
    assert row["escaped"] == ["a"]
    assert scores["originals_refused"]["hits"] == 1


def test_a_mutant_refused_elsewhere_was_not_understood() -> None:
    """Refused by calibration, it is detected, but not by grounding."""
    scores = mutant_scores([("opposite", verdict("a", REFUSED, "calibrate"))], [verdict("a")], "0", 50)
    (row,) = scores["mutators"]
    assert (row["detected"]["hits"], row["by_its_stage"]["hits"]) == (1, 0)


def test_mutators_are_listed_in_their_order_and_unknown_ones_last() -> None:
    """A file may hold mutants of another version."""
    mutants = [(name, verdict("a", REFUSED)) for name in ("future", "opposite", "missing-ids")]
    scores = mutant_scores(mutants, [], "0", 50)
    assert [row["mutator"] for row in scores["mutators"]] == ["missing-ids", "opposite", "future"]
    assert scores["originals_missing"] == 1


def outcomes() -> dict[str, Outcome]:
    """Return one record of each transition, one of them labelled, and one of which nothing is known."""
    known = {"helped": (False, True), "failed": (False, False), "harmed": (True, False), "kept": (True, True)}
    found = {name: Outcome(name, f"task-{name}", *pair, "e" if name == "helped" else None) for name, pair in known.items()}
    return {**found, "open": Outcome("open", "task-open", None, None)}


def rows_of(verdicts: list[Verdict]) -> dict[str, Any]:
    """Return the rows of a score by gate."""
    scores = outcome_scores(verdicts, outcomes(), {one.id: seen() for one in verdicts}, "0", 50)
    assert scores["records"] == 4
    return {row["gate"]: row for row in scores["rows"]}


def test_precision_harm_and_recall() -> None:
    """Of what was admitted, what helped and what harmed; of what helped, what was admitted."""
    names = ("helped", "failed", "harmed", "kept", "open")
    rows = rows_of([verdict(name, ADMITTED if name in {"helped", "harmed"} else REFUSED) for name in names])
    gate, naive = rows["gate"], rows["naive"]
    assert [gate[key]["share"] for key in ("precision", "harm", "recall", "in_real_failures")] == [0.5, 0.5, 1.0, 1.0]
    assert [naive[key]["share"] for key in ("precision", "harm", "recall", "in_real_failures")] == [0.25, 0.25, 1.0, 0.5]


def test_a_gate_that_admits_nothing_has_no_precision() -> None:
    """No share of nothing, and no ratio."""
    scores = outcome_scores([verdict("helped", REFUSED)], outcomes(), {"helped": seen()}, "0", 50)
    assert scores["rows"][1]["precision"]["share"] is None
    assert scores["compared"][0]["value"] is None


def test_labels_of_people_are_told_apart() -> None:
    """The admitted share of each label, and why the others were refused."""
    scores = outcome_scores([verdict("helped", REFUSED)], outcomes(), {"helped": seen()}, "0", 50)
    assert [(row["label"], row["admitted"]["hits"], row["refused"]) for row in scores["labels"]] == [("e", 0, {"speculative": 1})]


def test_a_corpus_without_outcomes_is_scored() -> None:
    """Labels that match nothing give counts of zero, not an error."""
    scores = outcome_scores([verdict("stranger")], outcomes(), {"stranger": seen()}, "0", 50)
    assert (scores["records"], scores["unlabelled"]) == (0, 1)


def test_point_of_a_curve() -> None:
    """The same counts without intervals."""
    verdicts = [verdict("helped"), verdict("harmed", REFUSED), verdict("kept")]
    assert sweep_point("0.3", verdicts, outcomes(), [verdict("helped", REFUSED), verdict("harmed")]) == {
        "value": "0.3",
        "admitted": 2,
        "precision": 0.5,
        "harm": 0.0,
        "recall": 1.0,
        "mutants_detected": 1.0,
        "originals_refused": 0.5,
    }


def test_summary_counts_reasons_of_refusal() -> None:
    """Statuses in a fixed order, the most frequent reason first."""
    told = summary([verdict("a"), verdict("b", REFUSED), verdict("c", REFUSED)], 1)
    assert told == {
        "judged": 3,
        "invalid": 1,
        "statuses": {"admitted": 1, "undecided": 0, "refused": 2},
        "reasons": {"speculative": 2},
    }


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([], "expected an object"),
        ({"id": 1, "task": "t"}, "`id` must be a text"),
        ({"id": "a", "task": "t", "before": "yes"}, "`before` must be true, false or null"),
        ({"id": "a", "task": "t", "label": 5}, "`label` must be a text"),
    ],
)
def test_a_bad_label_is_named(row: object, message: str) -> None:
    """With the key and what it must be."""
    with pytest.raises(ReflectGateError, match=message) as caught:
        outcome_of(row, Source("labels.ndjson", 3))
    assert caught.value.code == "corpus-bad-label"
    assert "labels.ndjson:3" in str(caught.value)


def test_a_label_may_say_nothing_of_the_outcome() -> None:
    """Outcomes and a person's label are optional."""
    assert outcome_of({"id": "a", "task": "t"}, Source("f")) == Outcome("a", "t", None, None)
