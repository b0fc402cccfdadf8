"""`reflect-gate demo`: the shipped example comes out as it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import schemas
from reflect_gate.cli.demo import load_demo, requests

Run = Callable[..., Any]


def test_demo_comes_out_as_labelled(here: Run) -> None:
    """Admitted, speculative, shallow, too vague, and blame admitted under the red flag (R-c2, R-e1, R-g2)."""
    code, out, err = here("demo")
    assert (code, err) == (0, "")
    assert "5 of 5 as labelled" in out


def test_each_refusal_says_why(here: Run) -> None:
    """Each verdict stands with a rule and its place."""
    out = here("demo").out
    for rule in ("grounding/unsupported-claim", "calibration/line-level", "calibration/virtue-level", "blame/outward-blame"):
        assert rule in out


def test_blame_is_capped(here: Run) -> None:
    """Outward blame is admitted at the lowest confidence (R-g2)."""
    document = json.loads(here("demo", "--format", "json").out)
    schemas.check("demo", document, "stdout")
    blame = next(case for case in document["cases"] if case["name"] == "blame")["decision"]
    assert blame["envelope"]["red_flag"]
    assert blame["lesson"]["confidence"] == 0.1


@pytest.mark.parametrize(
    ("ruleset", "changed"),
    [("grounding", "speculative"), ("calibration", "line-level"), ("admission", "platitude"), ("blame", "blame")],
)
def test_each_rule_set_matters(here: Run, ruleset: str, changed: str) -> None:
    """Without a rule set, the case that it is there for comes out otherwise, and the demo says so (R-m5)."""
    code, out, _ = here("demo", "--format", "json", "--disable", ruleset)
    assert code == 3
    assert changed in {case["name"] for case in json.loads(out)["cases"] if not case["as_labelled"]}


def test_written_requests_are_valid_and_judged_alike(here: Run, tmp_path: Path) -> None:
    """`--write` gives request files that `evaluate` judges as the demo did."""
    folder = tmp_path / "demo"
    code, out, _ = here("demo", "--write", str(folder))
    assert (code, len(out.splitlines())) == (0, 5)
    for case in load_demo()["cases"]:
        path = folder / f"{case['name']}.json"
        schemas.check("request", json.loads(path.read_bytes()), path.name)
        assert here("evaluate", str(path), "--format", "json").code == (0 if case["expect"]["status"] == "admitted" else 5)


def test_write_where_nothing_can_be_written(here: Run, tmp_path: Path) -> None:
    """A folder that cannot be made is 1."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert here("demo", "--write", str(tmp_path / "file" / "demo")).code == 1


def test_one_record_for_all() -> None:
    """The five reflections explain one failure, so that only the reflections differ."""
    records = [request["record"] for _, request in requests(load_demo())]
    assert all(record == records[0] for record in records)
