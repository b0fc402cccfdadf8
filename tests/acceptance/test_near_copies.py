"""Likeness on logged reflections: near-copies of one chain merge, lessons of different tasks do not (R-P6)."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

# The scripts import one another by name, as they do when they are run.
sys.path.insert(0, str(Path(__file__).resolve().parent))
corpora, near_copies = (importlib.import_module(name) for name in ("corpora", "near_copies"))
needs_corpora = pytest.mark.skipif(not corpora.folder().is_dir(), reason="the corpora are not beside this checkout")


@needs_corpora
def test_near_copies_merge_and_other_lessons_do_not() -> None:
    """At the thresholds of `dedupe`: four in five of a chain, one in a thousand of different tasks, no chain against itself."""
    records = list(corpora.rows("reflexion_alfworld"))
    found = near_copies.figures(records, 75, 80, seed=20)
    assert found["chain"]["merged_share"] >= 0.8
    assert found["chain"]["opposed"] == 0
    assert found["other_tasks"]["merged_share"] <= 0.001


def test_pairs_follow_each_other_or_are_of_different_tasks() -> None:
    """A chain is ordered by its trials, and equal texts of different tasks are no distinct lessons."""
    row = {"env": "e", "run": "r"}
    records = [
        {**row, "task_id": "1", "trial": 1, "reflection_text": "second"},
        {**row, "task_id": "1", "trial": 0, "reflection_text": "first"},
        {**row, "task_id": "2", "trial": 0, "reflection_text": "second"},
    ]
    following, different = near_copies.pairs(records, seed=1)
    assert (following, different) == ([("first", "second")], [("first", "second")])
