"""The made world is the same each time, and all that has a say in time has it there (R-m5)."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import schemas
from reflect_gate.ab.chains import CHAINED, Step

# The scripts import one another by name, as they do when they are run.
sys.path.insert(0, str(Path(__file__).resolve().parent))
argued, chain_world = (importlib.import_module(name) for name in ("argued", "chain_world"))


def test_a_seed_makes_one_world() -> None:
    """The same seed, the same bytes; another seed, another world."""
    one, again, other = (json.dumps(chain_world.corpus(chain_world.made(6, 30, seed))) for seed in (3, 3, 4))
    assert one == again
    assert one != other


def test_a_world_is_a_corpus() -> None:
    """Each record is one of an imported corpus, true and false ones among them."""
    records = chain_world.corpus(chain_world.made(6, 30))
    for record in records:
        schemas.check("corpus-record", record, "world")
    assert {record["should_admit"]["admit"] for record in records} == {True, False}


def test_everything_has_a_say() -> None:
    """R-m5: at a small size too, each rule set that needs time has a say ten times."""
    found = chain_world.replayed(chain_world.made(6, 120))
    assert {name: found.said.get(name, 0) for name in CHAINED if found.said.get(name, 0) < 10} == {}


def test_the_truth_of_what_was_shown_decides() -> None:
    """Of the attempts that follow a true lesson far more are resolved than of those that follow the opposite."""
    world = chain_world.made(6, 120)

    def resolved(statement: str, step: Step) -> bool:
        return bool(world.ends(step, [statement]).after == "resolved")

    pairs = list(zip(world.steps(), world.met, strict=True))
    true = sum(resolved(one.fault.true(0), step) for step, one in pairs)
    false = sum(resolved(one.fault.opposed(), step) for step, one in pairs)
    assert true > 2 * false > 0


TABLES: dict[str, list[dict[str, Any]]] = {
    "ablation": [{"name": "blame", "verdict": "DELETE"}, {"name": "grounding", "verdict": "KEEP"}],
    "world": [{"name": "adjudication", "verdict": "HARM"}],
}
SAID = {"ablation": {"blame": {"course": "stays", "why": "R-g2."}}, "world": {"adjudication": {"course": "acted", "why": "x"}}}


def test_every_delete_is_argued() -> None:
    """The table has what is called DELETE or HARM, with its reason, and nothing else."""
    rows = argued.argued(TABLES, SAID).rows
    assert [(row[0], row[3]) for row in rows] == [("blame", "stays"), ("adjudication", "acted")]


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({**SAID, "world": {}}, "adjudication has no argument"),
        ({**SAID, "world": {**SAID["world"], "adjudicate": {}}}, "adjudicate is not in the table"),
    ],
    ids=["unargued", "about-nothing"],
)
def test_an_argument_fits_the_tables(said: dict[str, Any], problem: str) -> None:
    """A DELETE without an argument fails, and so does an argument about nothing."""
    with pytest.raises(ValueError, match=problem):
        argued.argued(TABLES, said)


def test_a_course_is_one_of_three(tmp_path: Path) -> None:
    """What is written in the file is read, or refused."""
    assert set(argued.read()) == {"ablation", "chains", "world"}
    wrong = tmp_path / "argued.yaml"
    wrong.write_text("ablation: {blame: {course: perhaps, why: because}}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="ablation: blame"):
        argued.read(wrong)
