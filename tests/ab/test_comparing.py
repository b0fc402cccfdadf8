"""What is counted of two bundles on the same records."""

from __future__ import annotations

from typing import Any

import pytest

from reflect_gate.ab.cases import frozen, known_of
from reflect_gate.ab.comparing import Plan, section, thin
from reflect_gate.errors import ReflectGateError, Source

from .cases import PLAIN, subject

NAMES = ("ours", "theirs")
PLAN = Plan(resamples=60)


def found(*subjects: Any) -> dict[str, Any]:
    """Return the section of some subjects."""
    return section(subjects, NAMES, PLAN)


def test_precision_harm_and_recall() -> None:
    """R-m1: of what is admitted, what helped; of what helped, what is admitted."""
    told = found(subject("1", helped=True), subject("2", harmed=True), subject("3", helped=True, a=False), subject("4"))
    gate = told["gates"]["a"]
    assert (gate["precision"]["hits"], gate["precision"]["n"]) == (1, 3)
    assert gate["harm"]["hits"] == 1
    assert gate["recall"]["share"] == 0.5
    assert told["gates"]["b"]["admitted"]["share"] == 1.0


def test_a_difference_is_paired() -> None:
    """Two bundles that admit the same differ by nothing in every resample, however much the groups differ."""
    records = [subject(str(number), helped=number % 3 == 0) for number in range(12)]
    told = found(*records)["compared"]["precision_difference"]
    assert (told["value"], told["cluster"]) == (0.0, [0.0, 0.0])


def test_ratio_to_a_baseline_that_admits_everything() -> None:
    """Precision 1 against a half is 2."""
    records = [subject(str(number), helped=number % 2 == 0, a=number % 2 == 0) for number in range(20)]
    assert found(*records)["compared"]["precision_ratio"]["value"] == 2.0


def test_rejection_counts_what_is_ungrounded_alone() -> None:
    """R-m2: a lesson that is refused as too vague was not rejected as ungrounded."""
    told = found(subject("1", a=False), subject("2", a=False, reason="too_vague"), subject("3"))
    assert (told["rejected"]["a"]["hits"], told["rejected"]["a"]["n"]) == (1, 3)


def test_records_without_outcomes_count_for_rejection_alone() -> None:
    """A candidate whose outcome is not known is judged all the same."""
    unknown = subject("1", a=False)._replace(known=None)
    told = found(unknown, subject("2", helped=True))
    assert (told["records"], told["scored"], told["rejected"]["a"]["hits"]) == (2, 1, 1)


def test_reading_is_told_from_evidence() -> None:
    """R-m1: a gate that admits by evidence alone is no better than lots drawn among records of the same evidence."""
    firm = (1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    blind = [subject(str(n), helped=n % 4 < 2, a=n % 2 == 0, seen=firm if n % 2 == 0 else PLAIN) for n in range(40)]
    reading = [subject(str(n), helped=n % 2 == 0, a=n % 2 == 0) for n in range(40)]
    assert found(*blind)["compared"]["above_same_evidence"]["value"] == 0.0
    assert found(*reading)["compared"]["above_same_evidence"]["value"] == 0.5


def test_lots_that_are_drawn() -> None:
    """As many are admitted; what they give is the base rate, and the draws lie about it."""
    told = found(*[subject(str(n), helped=n % 2 == 0, a=n < 10) for n in range(40)])["random"]
    assert (told["admitted"], told["precision"]["expected"]) == (10, 0.5)
    low, high = told["precision"]["middle"]
    assert low < 0.5 < high


def test_swapped_reflections() -> None:
    """Counted where there was one to swap with."""
    told = found(subject("1", swapped=False), subject("2", swapped=True), subject("3"))["swapped"]
    assert (told["own"]["n"], told["swapped"]["hits"], told["swapped"]["n"]) == (2, 1, 2)


def test_what_is_not_carried_is_said() -> None:
    """R-m3: a mean of what the records carry, and how many carry nothing."""
    told = found(subject("1", cost=0.02), subject("2", cost=0.04), subject("3"))["spending"]["cost"]
    assert (told["carried"], told["mean"], told["ratio"]) == (2, 0.03, 1.0)
    assert "1 of 3 records carry no cost" in told["note"]


def test_folds_hold_whole_groups() -> None:
    """Every record is in one fold, with the others of its group."""
    told = found(*[subject(str(n % 7)) for n in range(70)])["folds"]
    assert sum(fold["records"] for fold in told) == 70
    assert sum(fold["groups"] for fold in told) == 7


def test_the_part_that_is_kept_apart_follows_from_the_name() -> None:
    """R-m8: about one group in five, the same each time."""
    names = [f"task-{number}" for number in range(500)]
    assert 60 < sum(map(frozen, names)) < 140
    assert [name for name in names if frozen(name)] == [name for name in names if frozen(name)]


@pytest.mark.parametrize(
    ("changed", "place"),
    [({"cost": -1}, "/cost"), ({"tokens": 1.5}, "/tokens"), ({"tokens": True}, "/tokens"), ({"team": 3}, "/team")],
)
def test_bad_labels_are_named(changed: dict[str, Any], place: str) -> None:
    """With the key that is wrong."""
    row = {"id": "a", "task": "t", "before": True, "after": False, "team": "x", **changed}
    with pytest.raises(ReflectGateError) as caught:
        known_of(row, Source("labels", 3), "team")
    assert caught.value.source is not None
    assert caught.value.source.pointer == place


def test_figures_follow_from_the_seed() -> None:
    """R-m8: the same seed the same figures, another one others."""
    records = [subject(str(n), helped=n % 3 == 0, a=n % 2 == 0) for n in range(30)]
    first, again, other = (section(records, NAMES, Plan(seed, 60)) for seed in (1, 1, 2))
    assert first == again
    assert first["compared"] != other["compared"]


def test_few_groups_and_no_harm_are_said() -> None:
    """An interval from few groups is too narrow, and one from 0 to 0 is no proof of safety."""
    few = thin([subject(str(number % 3), helped=number % 2 == 0) for number in range(12)])
    assert [line.partition(":")[0] for line in few] == [
        "The 12 records that a admits are of 3 groups",
        "None of the 12 records that a admits harmed",
    ]
    assert few[0].endswith("precision 0.254 to 0.746.")
    assert few[1].endswith("harm may be up to 0.242.")


def test_many_groups_of_both_kinds_need_no_warning() -> None:
    """Nor does a gate that admits nothing."""
    assert thin([subject(str(number), harmed=number == 0) for number in range(12)]) == []
    assert thin([subject(str(number), a=False) for number in range(3)]) == []
