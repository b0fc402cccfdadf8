"""Curves of thresholds, and candidates as examples."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from reflect_gate import Bundle, evaluate, load_bundle, schemas
from reflect_gate.ab.comparing import Plan
from reflect_gate.ab.examples import Calibrator, calibration_examples
from reflect_gate.ab.sweeping import Point, Sweeper, curves, points_of
from reflect_gate.corpus.figures import Case

Run = Callable[..., Any]

SETTING = "calibration.max_instance"


def test_every_threshold_that_a_decision_reads_has_points(structured: Bundle) -> None:
    """Numbers of stages of an evaluation, the value in force among them; nothing of audits, nothing that a rule file forbids."""
    points = points_of(structured)
    names = {point.setting for point in points}
    assert {"grounding.min_term_overlap", SETTING} <= names
    assert not {name for name in names if name.startswith(("audit.", "retrieval.", "lifecycle.promote"))}
    for name in names:
        values = [point.value for point in points if point.setting == name]
        assert structured.settings[name].value in values
        assert values == sorted(values)
    assert min(point.value for point in points) >= 0


def test_a_point_is_the_setting_changed(structured: Bundle, request_document: dict[str, Any]) -> None:
    """What is admitted at a point is what the bundle with that setting admits."""
    points = [Point(SETTING, Decimal(0)), Point("grounding.min_terms_alone", Decimal(1)), Point("calibration.min_words", 60)]
    admitted = Sweeper(structured, points).see(request_document)
    for point, said in zip(points, admitted, strict=True):
        changed = load_bundle("structured", set_=[f"{point.setting}={point.value}"])
        assert said == (evaluate(request_document, changed).status == "admitted"), point
    assert set(admitted) == {True, False}


def test_a_curve_has_the_rates_of_each_value(structured: Bundle) -> None:
    """Two records: at the lower value the one that helped is admitted, at the higher one both."""
    points = [Point(SETTING, Decimal("0.2")), Point(SETTING, Decimal("0.4")), Point("calibration.min_words", 6)]
    rows = [
        (Case("a", False, True), [True, True, True]),
        (Case("b", True, False), [False, True, True]),
        (None, [False, True, True]),
    ]
    told = curves(structured, points, rows, Plan(resamples=40))
    assert told["flat"] == ["calibration.min_words"]
    (curve,) = told["curves"]
    assert (curve["setting"], curve["value"]) == (SETTING, 0.4)
    found = [
        (p["value"], p["admitted"], p["precision"]["share"], p["harm"]["share"], p["recall"]["share"]) for p in curve["points"]
    ]
    assert found == [(0.2, 1, 1.0, 0.0, 1.0), (0.4, 3, 0.5, 0.5, 1.0)]


def test_an_example_says_what_became_of_a_candidate(structured: Bundle, with_reflection: Callable[..., dict[str, Any]]) -> None:
    """Level, rule, words, decision; and the outcome where it is known."""
    vague = Calibrator(structured).see(with_reflection(candidate_lesson="Always be more careful and test the code thoroughly."))
    assert vague["calibration"] != "calibrated"
    assert vague["rules"]
    assert (vague["status"], vague["calibrated_lesson"]) == ("refused", "")
    rows = [({**vague, "id": str(n)}, Case("t", False, n % 2 == 0)) for n in range(6)]
    shown = calibration_examples([*rows, ({**vague, "calibration": "calibrated"}, None)], 2, 0)
    assert [one["calibration"] for one in shown].count(vague["calibration"]) == 2
    assert [one["outcome"] for one in shown if one["calibration"] == "calibrated"] == ["unknown"]
    assert shown == calibration_examples([*reversed(rows), ({**vague, "calibration": "calibrated"}, None)], 2, 0)


@pytest.fixture
def compared(here: Run, files: dict[str, str]) -> Callable[..., Any]:
    """Compare the default bundle with the baseline."""

    def run(*more: str) -> Any:
        fixed = ("--resamples", "40", "--engine", "compiled")
        return here("ab", files["requests"], "--labels", files["labels"], *fixed, *more)

    return run


def test_curves_and_examples_come_where_they_are_asked_for(
    compared: Callable[..., Any], files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the texts without `--examples`; with both the document holds to the schema, and a second run goes on."""
    monkeypatch.setattr("reflect_gate.ab.sweeping._FACTORS", ("0", "1"))
    monkeypatch.setattr("reflect_gate.ab.sweeping._STEPS", (0,))
    plain = json.loads(compared("--format", "json").out)
    assert (plain["sweep"], plain["examples"], plain["calls"]) == (None, [], None)
    more = ("--curves", "--examples", "1", "--resume", files["kept"])
    first = compared("--format", "json", *more)
    document = json.loads(first.out)
    schemas.check("ab", document, "stdout")
    assert len(document["examples"]) >= 1
    assert len(document["sweep"]["flat"]) + len(document["sweep"]["curves"]) == len(
        {point.setting for point in points_of(load_bundle("structured"))}
    )
    text = compared(*more).out
    assert text.index("examples of calibration") < text.index("what this can prove")
    assert compared("--format", "json", *more).out == first.out
