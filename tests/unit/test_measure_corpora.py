"""The measures on logged reflections: they read real texts, and tell a reflection on its own failure from one on another."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from reflect_gate.corpus.reflexion import convert
from reflect_gate.facts import load_vocabulary
from reflect_gate.measure.index import RecordIndex
from reflect_gate.measure.support import support_facts
from reflect_gate.measure.text import language

FOLDER = Path(os.environ.get("REFLECT_GATE_CORPORA") or Path(__file__).resolve().parents[3] / "shared" / "corpora")
FILE = FOLDER / "reflexion_programming.jsonl"
FIELDS = load_vocabulary().domains["field"].symbols
NAMES = ("type", *load_vocabulary().facts["support"].fields)

pytestmark = [pytest.mark.corpora, pytest.mark.skipif(not FILE.is_file(), reason="the corpora are not here")]


@cache
def rows() -> list[dict[str, Any]]:
    """Return the logged reflections."""
    with FILE.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@cache
def requests() -> list[dict[str, Any]]:
    """Return them as requests."""
    return [convert(row) for row in rows()]


def measured(reflection: Mapping[str, Any], record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the support of every causal field by every trace."""
    claims = {field: reflection[field].strip() for field in FIELDS}
    cited = [item["id"] for item in record["traces"]]
    return [dict(zip(NAMES, fact, strict=True)) for fact in support_facts(claims, cited, RecordIndex(record))]


def share(pairs: list[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> dict[str, float]:
    """Return the shares of reflections that some item quotes or half holds, or that some item contradicts."""
    found = {"held": 0, "conflict": 0}
    for reflection, record in pairs:
        facts = measured(reflection, record)
        found["held"] += any(fact["quoted"] or (fact["anchors"] and fact["anchor_overlap"] >= 50) for fact in facts)
        found["conflict"] += any("conflict" in {fact["numbers"], fact["polarity"]} for fact in facts)
    return {name: number / len(pairs) for name, number in found.items()}


def test_logged_reflections_are_read_as_english() -> None:
    """All of them are; a measure of language that loses some would leave them undecided (R-e1)."""
    assert sum(language(row["reflection_text"]) == "english" for row in rows()) >= 0.99 * len(rows())


def test_measures_tell_own_failures_from_others() -> None:
    """Swapped between tasks, reflections are rarely held by the evidence, and they conflict with it more often (R-m1)."""
    listed = list(zip(rows(), requests(), strict=True))[::3]
    own = [(request["reflection"], request["record"]) for _, request in listed]
    swapped = [
        (request["reflection"], other["record"])
        for (row, request), (next_row, other) in zip(listed, listed[97:] + listed[:97], strict=True)
        if row["task_id"] != next_row["task_id"]
    ]
    kept, lost = share(own), share(swapped)
    assert kept["held"] >= 5 * lost["held"]
    assert kept["conflict"] < lost["conflict"]
    assert kept["conflict"] < 0.03
