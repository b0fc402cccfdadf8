"""The lexicons on logged reflections: how often they speak, and that they speak of what readers labelled so.

The bounds are wide on purpose: they catch a pattern that runs wild or a group that goes silent, not a change of wording.
"""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any

import pytest

from reflect_gate.measure.lexicon import LexiconSet
from reflect_gate.policy import load_bundle

CORPORA = Path(os.environ.get("REFLECT_GATE_CORPORA") or Path(__file__).parents[3] / "shared" / "corpora")

pytestmark = [
    pytest.mark.corpora,
    pytest.mark.skipif(not (CORPORA / "hand_labels.jsonl").is_file(), reason="the corpora are not here"),
]


@functools.cache
def lexicons() -> LexiconSet:
    """Return the shipped lexicons."""
    return LexiconSet(load_bundle("structured", cache=False).lexicons)


def rows(name: str) -> list[dict[str, Any]]:
    """Return the records of one file."""
    return [json.loads(line) for line in (CORPORA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def found(text: str) -> set[str]:
    """Return the lexicons that speak of a text."""
    return {hit.lexicon for hit in lexicons().hits({"candidate_lesson": text})}


def share(name: str, lexicon: str, **fields: str) -> float:
    """Return the share of a file's reflections in which a lexicon is found; `fields` select records."""
    texts = [row["reflection_text"] for row in rows(name) if all(row.get(key) == value for key, value in fields.items())]
    return sum(lexicon in found(text) for text in texts) / len(texts)


BOUNDS = [
    # About one in thirty blames the tests where the code under test is the asked one, most where it is another function.
    ("reflexion_programming", "outward-blame", 0.025, 0.055),
    ("lats_programming", "outward-blame", 0.2, 0.6),
    ("reflexion_alfworld", "outward-blame", 0.0, 0.01),
    ("who_and_when", "outward-blame", 0.0, 0.01),
    # Truncated code restated as a syntax error is frequent here, and impossible where nothing is programmed.
    ("reflexion_programming", "line-level", 0.05, 0.2),
    ("reflexion_hotpot", "line-level", 0.0, 0.01),
    ("renze_mcqa", "line-level", 0.0, 0.01),
    # Advice is virtue-level by its genre; what people wrote about failures is not.
    ("reflexion_programming", "virtue-level", 0.0, 0.05),
    ("who_and_when", "virtue-level", 0.0, 0.06),
    ("lessons_md", "virtue-level", 0.0, 0.04),
    ("reflexion_programming", "hedges", 0.02, 0.15),
]


@pytest.mark.parametrize(("name", "lexicon", "low", "high"), BOUNDS, ids=[f"{name}-{lexicon}" for name, lexicon, *_ in BOUNDS])
def test_share_of_reflections(name: str, lexicon: str, low: float, high: float) -> None:
    """A lexicon speaks about as often as the corpus gives reason to."""
    assert low <= share(name, lexicon) <= high


def test_advice_is_mostly_virtue_level() -> None:
    """Of reflections that were asked for as advice, most that say anything name a virtue."""
    texts = [row["reflection_text"] for row in rows("renze_mcqa") if row["strategy"] == "advice"]
    said = [text for text in texts if len(text.split()) > 5]
    assert sum("virtue-level" in found(text) for text in said) / len(said) > 0.6


@functools.cache
def labelled(label: str) -> list[tuple[str, str]]:
    """Return the reason and the text of every programming reflection that readers labelled so."""
    texts = {row["id"]: row["reflection_text"] for row in rows("reflexion_programming")}
    return [(row["reason"], texts[row["id"]]) for row in rows("hand_labels") if row["primary"] == label and row["id"] in texts]


def test_restated_syntax_errors_are_line_level() -> None:
    """What readers called a restatement of a syntax error is found."""
    texts = [text for reason, text in labelled("a") if "syntax" in reason]
    assert texts
    assert all("line-level" in found(text) for text in texts)


def test_blame_that_readers_saw_is_found() -> None:
    """What readers called outward blame is found."""
    texts = [text for _, text in labelled("c")]
    assert texts
    assert all("outward-blame" in found(text) for text in texts)


@pytest.mark.parametrize("lexicon", ["line-level", "virtue-level", "outward-blame"])
def test_calibrated_reflections_are_left_alone(lexicon: str) -> None:
    """What readers called calibrated is not flagged."""
    texts = [text for _, text in labelled("e")]
    assert texts
    assert [text for text in texts if lexicon in found(text)] == []
