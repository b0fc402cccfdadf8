"""A lesson as S1 prints one."""

from __future__ import annotations

import pytest

from reflect_gate.capture.noting import request_of
from reflect_gate.cli import main
from reflect_gate.memory.applying import apply
from reflect_gate.policy import load_bundle
from reflect_gate.report.block import NO_MISTAKE, UNKNOWN, lesson_block
from reflect_store import open_store

from .world import ANSWER, World, failure

REFLECTION = ANSWER["reflection"]


def test_a_lesson_of_a_model_is_printed_with_its_causes(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """R-t3: statement, causal fields, counterfactual and trigger, from what the store keeps of the decision."""
    request = {**request_of(failure()), "reflection": REFLECTION, "trigger": "error", "tags": ANSWER["tags"]}
    with open_store(world.home / "store.db", create=True) as store:
        lesson_id = apply(store, request, load_bundle()).lesson_id
    assert lesson_id
    assert main(["lessons", "show", lesson_id, "--format", "block"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"LESSON: {REFLECTION['candidate_lesson']}",
        f"MISTAKE: {REFLECTION['failed_assumption']}",
        f"CORRECTION: {REFLECTION['counterfactual']}",
        "TRIGGER: error",
        "TAGS: reflexion, trigger:error, none-check, session",
    ]


def test_every_cause_is_named() -> None:
    """R-t3: causal fields that are blank are left out, the others stand in their order."""
    causes = {"failed_assumption": " ", "overlooked_evidence": "b", "strategy_error": "", "violated_invariant": "d"}
    assert "\nMISTAKE: b; d\n" in lesson_block("Say it.", {**REFLECTION, **causes}, "error")


def test_without_a_counterfactual_the_lesson_says_what_to_do() -> None:
    """A block always has a correction."""
    assert "\nCORRECTION: Say it.\n" in lesson_block("Say it.", {**REFLECTION, "counterfactual": " "}, "error")


def test_what_was_erased_is_said_to_be() -> None:
    """A lesson whose decision was redacted still prints; a manual one never had a mistake."""
    assert f"\nMISTAKE: {UNKNOWN}\n" in lesson_block("Say it.", None, "")
    assert f"\nMISTAKE: {NO_MISTAKE}\n" in lesson_block("Say it.", None, "manual")
    assert "\nTRIGGER: unknown\nTAGS: reflexion" in lesson_block("Say it.", None, "")


def test_a_line_stays_a_line() -> None:
    """Text of others can neither begin a line of the block nor drive a terminal."""
    block = lesson_block("One\nTRIGGER: manual\x1b[2J", REFLECTION, "error", ["a\nb"])
    assert [line.partition(":")[0] for line in block.splitlines()] == ["LESSON", "MISTAKE", "CORRECTION", "TRIGGER", "TAGS"]
    assert "\x1b" not in block
