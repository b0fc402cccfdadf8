"""Retrieval on the logged corpora: at or above plain FTS5, and silent on what it knows nothing of (R-h1, R-P4)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import load_bundle

sys.path.insert(0, str(Path(__file__).parent))
quality: Any = importlib.import_module("retrieval_quality")
QUERIES = 100

pytestmark = pytest.mark.skipif(not quality.corpora().is_dir(), reason="needs the corpora of logged reflections")


@pytest.fixture(scope="module")
def given() -> Any:
    """Lessons and a part of the queries."""
    return quality.sets(quality.corpora(), QUERIES)


@pytest.fixture(scope="module")
def ranks(given: Any) -> dict[str, Sequence[int | None]]:
    """The ranks of the first relevant lessons, by who answers what."""
    store, families = quality.filled(given.lessons)
    bundle = load_bundle("structured", cache=False)._replace(engine="compiled", cross_check=False)
    return {
        "plain": quality.Plain(given.lessons).ranks(given.related),
        "gate": quality.gate_ranks(store, families, bundle, given.related),
        "unrelated": quality.gate_ranks(store, families, bundle, given.unrelated),
    }


def test_the_sets_are_what_they_are_called(given: Any) -> None:
    """Enough of each, no lesson answers an unrelated query, and no scope gives a task away."""
    assert (len(given.related), len(given.unrelated)) == (QUERIES, quality.UNRELATED)
    assert not any("task:" in taught.scope for taught in given.lessons)
    assert {entry.family for entry in given.related} <= {taught.family for taught in given.lessons}
    assert not {entry.family for entry in given.novel} & {taught.family for taught in given.lessons}


def test_recall_and_rank_are_no_worse_than_plain_bm25(ranks: dict[str, Sequence[int | None]]) -> None:
    """R-h1: after abstention, against the first five hits of plain FTS5 on the same texts."""
    gate, plain = quality.measured(ranks["gate"]), quality.measured(ranks["plain"])
    assert gate.recall >= plain.recall
    assert gate.mrr >= plain.mrr


def test_it_keeps_silent_on_unrelated_queries(ranks: dict[str, Sequence[int | None]]) -> None:
    """R-P4: at least nine in ten of 200."""
    assert quality.measured(ranks["unrelated"]).silent >= 0.9
