"""`reflect-gate policy mutate`: the threshold, the corpus and the formats."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reflect_gate import schemas

Run = Callable[..., Any]


def test_kill_rate_of_a_shipped_rule_set(here: Run) -> None:
    """The cases of `blame` notice at least nine mistakes of ten."""
    code, out, err = here("policy", "mutate", "blame", "--threshold", "90")
    assert (code, err) == (0, "")
    assert "mutants killed" in out.splitlines()[-1]


def test_json_holds_to_its_schema(here: Run) -> None:
    """Every mutant stands in it with its place."""
    document = json.loads(here("policy", "mutate", "blame", "--format", "json").out)
    schemas.check("policy-mutate", document, "stdout")
    assert document["total"] == len(document["mutants"]) > 10


def test_below_the_threshold_is_5(here: Run) -> None:
    """A survivor fails a threshold of everything."""
    code, out, err = here("policy", "mutate", "calibration", "--threshold", "100")
    assert code == 5
    assert "survivors" in out
    assert "fewer than 100 %" in err


def test_corpus_that_cannot_be_read_is_3(here: Run, tmp_path: Path) -> None:
    """A line that is no request is told with its place, and nothing is judged."""
    path = tmp_path / "corpus.ndjson"
    path.write_text("{}\n[1]\n{broken\n", encoding="utf-8")
    code, out, err = here("policy", "mutate", "blame", "--corpus", str(path))
    assert (code, out) == (3, "")
    assert err.startswith("error: ")


def test_misspelt_rule_set_is_3(here: Run) -> None:
    """The nearest name is offered."""
    code, _, err = here("policy", "mutate", "blme")
    assert (code, "did you mean `blame`?" in err) == (3, True)
