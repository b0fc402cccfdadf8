"""What authors complain about in the test runners of other policy tools, tried here (`docs/complaints.md`)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.cli import main
from reflect_gate.policy.coverage import Share, floored

from .conftest import GOOD, WriteCases

Run: TypeAlias = Callable[..., tuple[int, str]]

MIXED = (
    GOOD
    + """\
  - id: wrong
    facts: [{lesson: {hedges: 5}}]
    expect: {verdict: calibrated, findings: [{rule: in-limits, reason: plain}]}
"""
)
RIGHT_VERDICT = """\
  - id: other-reason
    facts: [{lesson: {hedges: 4}}]
    expect: {verdict: too_vague, findings: [{rule: too-many, reason: tired}]}
"""


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `policy test` on the small policy, and return its exit code and what it printed on either stream."""
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(folder / "cache"))
    monkeypatch.chdir(folder)

    def ran(*options: str) -> tuple[int, str]:
        code = main(["policy", "test", "rules", "--policies", "policies.yaml", *options])
        said = capsys.readouterr()
        return code, said.out + said.err

    return ran


@pytest.mark.parametrize("format_", ["text", "json", "junit", "tap", "github", "sarif"])
def test_1_a_failing_case_says_why_without_being_asked(run: Run, write: WriteCases, format_: str) -> None:
    """In every format: the rule that fired, the value it fired on, and the condition that kept the expected one silent."""
    write(MIXED)
    code, said = run("--format", format_)
    assert code == 5
    for told in ("speed/too-many", "speed/in-limits", "hedges"):
        assert told in said
    assert re.search(r"hedges[^\n]{1,12}5", said)
    assert re.search(r"(?:≤|\\u2264|lte)[^\n]{1,40}3|needed[^\n]{1,10}3", said)


@pytest.mark.parametrize("format_", ["text", "json", "junit", "tap", "github", "sarif"])
def test_8_a_failing_case_shows_expected_and_actual(run: Run, write: WriteCases, format_: str) -> None:
    """Both stand in every format, the findings as well as the verdict."""
    write(MIXED)
    _, said = run("--format", format_)
    assert said.count("expected") >= 1
    assert said.count("actual") >= 1
    assert "(plain)" in said
    assert "hedged" in said


def test_2_a_case_whose_reason_contradicts_fails(run: Run, write: WriteCases) -> None:
    """The verdict is the expected one, and the case fails by the reason alone."""
    write(RIGHT_VERDICT)
    code, said = run("--run", "speed/*")
    assert code == 5
    assert "0 passed, 1 failed" in said
    write(RIGHT_VERDICT.replace("tired", "hedged"))
    assert run("--run", "speed/*") == (0, "1 passed, 0 failed\n")


def test_3_an_engine_that_fails_is_no_pass(run: Run, write: WriteCases, folder: Path) -> None:
    """A case that expects nothing to be found does not pass by an error that finds nothing."""
    write(
        "  - id: nothing\n    facts: [{lesson: {cause: false}}, {hits: {lexicon: noise}}]\n"
        "    expect: {verdict: too_vague, findings: []}\n"
    )
    assert run("--run", "speed/*")[0] == 0
    policies = folder / "policies.yaml"
    policies.write_text(policies.read_text(encoding="utf-8") + "limits: {facts: 1}\n", encoding="utf-8")
    code, said = run("--run", "speed/*")
    assert code == 5
    assert "the evaluation exceeds the limit of 1 facts [engine-limit]\n0 passed, 1 failed" in said


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("{hedges: {gt: $limit}}", "{hedges: {gt: $limits}}"),
        ("{hedges: {gt: $limit}}", "{hedge: {gt: $limit}}"),
        ("{hedges: {gt: $limit}}", "{hedges: {gt: many}}"),
        ("not hits: {lexicon: noise}", "not hits: {lexicon: noises}"),
    ],
)
def test_3_an_expression_that_cannot_be_evaluated_is_no_pass(run: Run, folder: Path, good: str, bad: str) -> None:
    """What names nothing, or compares what cannot be compared, stops the run; absent is never taken for false."""
    rules = folder / "rules" / "speed.yaml"
    text = rules.read_text(encoding="utf-8")
    assert good in text
    rules.write_text(text.replace(good, bad), encoding="utf-8")
    code, said = run("--run", "speed/*")
    assert code == 5
    assert said.endswith("0 passed, 2 failed\n")
    assert re.search(r"speed\.yaml:\d+:\d+: .* \[policy-[a-z-]+\]", said), said


@given(st.integers(0, 10**9), st.integers(1, 10**9))
def test_9_only_everything_is_a_hundred(covered: int, total: int) -> None:
    """The share that is shown is never above the exact one, and 100.0 is shown for the whole alone."""
    covered = min(covered, total)
    shown = floored(Share(covered, total))
    assert Fraction(shown) <= Fraction(covered * 100, total) < Fraction(shown) + Fraction(1, 10)
    assert (shown == "100.0") == (covered == total)


def test_11_passing_cases_bring_no_trace(run: Run, write: WriteCases) -> None:
    """Of the cases in the JSON only the failing one carries firings, and a run without failures carries none."""
    write(MIXED)
    cases: list[dict[str, Any]] = json.loads(run("--format", "json")[1])["cases"]
    assert {case["id"]: "firings" in case for case in cases if case["ruleset"] == "speed"} == {
        "many": False,
        "few": False,
        "wrong": True,
    }
    write(GOOD)
    assert '"firings"' not in run("--format", "json")[1]


def test_26_what_no_case_tries_is_named(run: Run, write: WriteCases, folder: Path) -> None:
    """A rule without a case, each condition that was seen one way only, and the exit code of a threshold."""
    write(GOOD.partition("  - id: few")[0])
    code, said = run("--coverage", "--threshold", "95")
    assert code == 5
    assert "speed/in-limits: never fires  rules/speed.yaml:15:" in said
    assert "speed/too-many: never false: lesson.hedges > 3" in said
    assert (folder / "rules" / "speed.yaml").read_text(encoding="utf-8").splitlines()[14].endswith("id: in-limits")
