"""Kinds of reflections whose verdict is known by their kind get it, on the corpora where they are there (R-g2, R-e1, R-m1)."""

from __future__ import annotations

import pytest

from reflect_gate import load_bundle

from .corpora import folder
from .genres import advice, blame, human_reasons

pytestmark = pytest.mark.skipif(not folder().is_dir(), reason="the corpora are not here")


def test_outward_blame_stays_at_the_lowest_confidence() -> None:
    """Of sixty sampled candidates that blame outward none is above the cap, and corroboration from elsewhere clears it."""
    found = blame(load_bundle(), folder(), 60)
    assert found["sample"] == 60
    assert found["above_lowest"] == 0
    assert found["planted_corroboration"]["tried"] > 40
    assert found["planted_corroboration"]["cleared"] == found["planted_corroboration"]["tried"]


def test_advice_is_too_vague_or_thin() -> None:
    """General advice on exams is refused as too vague or thin, nine times in ten."""
    found = advice(load_bundle(), folder())
    assert found["records"] > 150
    assert found["too_vague_or_thin"] >= 0.9


def test_reasons_of_people_are_no_platitudes() -> None:
    """Words of people that name a cause are seldom taken for a platitude or a restatement."""
    assert human_reasons(load_bundle(), folder())["wording"] <= 0.15
