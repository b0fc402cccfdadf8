"""The grounding benchmark on the logged corpus: mutants that are detected, and originals that are lost."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import Bundle, evaluate
from reflect_gate.corpus.mutate import MUTATORS, Mutant, mutants, name_of, task_of
from reflect_gate.corpus.reflexion import convert
from reflect_gate.corpus.score import Verdict, mutant_scores
from reflect_gate.report.text import GOOD_VERDICTS

FOLDER = Path(os.environ.get("REFLECT_GATE_CORPORA") or Path(__file__).resolve().parents[3] / "shared" / "corpora")
FILE = FOLDER / "reflexion_programming.jsonl"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.corpora,
    pytest.mark.skipif(not FILE.is_file(), reason="the corpora are not here"),
]

FLOORS = {
    "other-evidence": 0.95,
    "missing-ids": 1.0,
    "wrong-kind": 0.95,
    "overlooked-later": 0.95,
    "wider-scope": 0.95,
    "swapped-reflection": 0.95,
}
"""The least share that must be detected: what the gate is held to."""

SHORT = {"other-names": 0.9, "other-numbers": 0.7, "opposite": 0.7, "altered-quote": 0.6}
"""Where the gate falls short of 0.95 (0.85 for numbers and denials): the share that it must not fall below."""


def judged(request: Mapping[str, Any], bundle: Bundle, name: str) -> Verdict:
    """Return the verdict on a request."""
    decision = evaluate(request, bundle)
    against = ((found["stage"], found["reason"]) for found in decision.findings if found["verdict"] not in GOOD_VERDICTS)
    return Verdict(name, task_of(request), decision.status, decision.reason, frozenset(against))


@pytest.fixture(scope="module")
def figures(structured: Bundle) -> dict[str, Any]:
    """Detection on the mutants of every admitted candidate of the corpus."""
    bundle = structured._replace(engine="compiled", cross_check=False)
    with FILE.open(encoding="utf-8") as lines:
        requests = [convert(json.loads(line)) for line in lines]
    verdicts = [judged(request, bundle, request["record"]["failure_id"]) for request in requests]
    sources = [request for request, verdict in zip(requests, verdicts, strict=True) if verdict.admitted]
    made = [one for one in mutants(sources, requests, seed=1) if isinstance(one, Mutant)]
    return mutant_scores([(one.mutator, judged(one.request, bundle, one.source)) for one in made], verdicts, "1", 200)


def test_mutants_are_detected(figures: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Evidence that is not there, not fit, not in time or another's is never taken for support (R-c2, R-m1)."""
    told = {row["mutator"]: row["detected"] for row in figures["mutators"]}
    with capsys.disabled():
        for name, found in told.items():
            ends = f"{found['wilson'][0]:.3f} to {found['wilson'][1]:.3f}"
            print(f"\n{name:<20} {found['hits']:>4} of {found['n']:>4} detected: {found['share']:.3f} ({ends})", end="")  # noqa: T201
    floors = {**FLOORS, **SHORT}
    assert set(floors) == {name_of(mutator) for mutator in MUTATORS}
    assert {name: found["share"] for name, found in told.items() if found["share"] < floors[name]} == {}


def test_every_mutator_applies_somewhere(figures: dict[str, Any]) -> None:
    """A mutator that makes nothing on real reflections measures nothing."""
    assert {row["mutator"] for row in figures["mutators"]} == {name_of(mutator) for mutator in MUTATORS}
