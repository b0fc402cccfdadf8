"""What the gate promises on real and on hostile input, in small numbers; the scripts beside this file run the large ones."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from reflect_gate import Bundle

# The scripts import one another by name, as they do when they are run.
sys.path.insert(0, str(Path(__file__).resolve().parent))
corpora, fuzz, fuzz_bundles = (importlib.import_module(name) for name in ("corpora", "fuzz", "fuzz_bundles"))
needs_corpora = pytest.mark.skipif(not corpora.folder().is_dir(), reason="the corpora are not beside this checkout")


def test_hostile_requests(structured: Bundle) -> None:
    """No crash, no engine disagreement, no admission of what the schema refuses; many reach inference."""
    tally = fuzz.run(600, 7, structured)
    assert tally.wrong == []
    assert tally.counts["reached inference with a firing"] >= 0.3 * 600


def test_broken_bundles() -> None:
    """A damaged bundle is refused at a place or still judges; it never crashes."""
    counts, wrong = fuzz_bundles.run(25, 7, fuzz_bundles.examples())
    assert wrong == []
    assert counts["bundles refused"] > 0


@pytest.mark.slow
@needs_corpora
def test_reflections_without_evidence(structured: Bundle) -> None:
    """Every reflection that was written without evidence is refused as speculative (R-m2)."""
    judged = corpora.judge("reflexion_no_evidence", structured)
    assert judged
    assert {(row["status"], row["reason"]) for row in judged} == {("refused", "speculative")}


@pytest.mark.slow
@needs_corpora
def test_reflections_with_outcomes(structured: Bundle) -> None:
    """On the development split: no error, at least 40 % of the calibrated ones, more help and less harm than storing all."""
    found = corpora.summary(corpora.judge("reflexion_programming", structured), corpora.labels())
    assert found["errors"] == 0
    assert found["calibrated_admitted"] >= 0.4 * found["calibrated_labelled"]
    assert found["precision"] >= 1.5 * found["naive_precision"]
    assert found["harm"] <= 0.3 * found["naive_harm"]
