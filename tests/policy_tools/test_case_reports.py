"""Results of cases in every format: what failed, where, what was expected, and why it came out so."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from reflect_gate import schemas
from reflect_gate.policy.cases import CaseResult, run_cases
from reflect_gate.report.cases import cases_text, document, exit_of, github_text, sarif_document, tap_text, told
from reflect_gate.report.junit import junit_xml

WRONG = """\
  - id: good
    facts: [{lesson: {hedges: 4}}]
    expect: {verdict: too_vague, findings: [{rule: too-many, reason: hedged}]}
  - id: wrong-reason
    facts: [{lesson: {hedges: 4}}]
    expect: {verdict: too_vague, findings: [{rule: too-many, reason: tired}]}
  - id: still
    facts: [{lesson: {hedges: 4}}]
    expect: {verdict: calibrated, findings: [{rule: in-limits, reason: plain}]}
"""


@pytest.fixture
def results(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[CaseResult]:
    """One case that passes, one whose reason differs, one whose rule stayed silent."""
    monkeypatch.chdir(folder)
    path = folder / "rules" / "speed.cases.yaml"
    path.write_text(f"ruleset: speed\ncases:\n{WRONG}", encoding="utf-8")
    return run_cases([path], folder / "policies.yaml")


def test_reason_that_differs_fails(results: list[CaseResult]) -> None:
    """The verdict is right and the case fails all the same (kyverno#9804)."""
    assert [result.passed for result in results] == [True, False, False]
    assert "`too-many` (tired)" in results[1].expected
    assert "(too_vague, hedged)" in results[1].actual


def test_failure_shows_what_fired_and_what_did_not(results: list[CaseResult]) -> None:
    """The trace has the rule that fired with its place and facts, and what the silent one lacked (opa#2546, kyverno#2327)."""
    lines = told(results[2])
    assert any(line.startswith("fired     speed/too-many  speed.yaml:9:") and "hedges=4" in line for line in lines)
    assert any(line.startswith("silent    speed/in-limits") and "lesson.hedges ≤ 3" in line for line in lines)


def test_passing_case_has_no_trace(results: list[CaseResult]) -> None:
    """Traces of passing cases would bury the others (opa#5366)."""
    told_of = document(results)
    schemas.check("policy-test", told_of, "results")
    assert ["firings" in case for case in told_of["cases"]] == [False, True, True]
    assert told(results[0]) == []


def test_text_counts(results: list[CaseResult]) -> None:
    """The last line counts; each failure names its place."""
    lines = cases_text(results).splitlines()
    assert lines[-1] == "1 passed, 2 failed"
    assert sum(line.startswith("FAIL speed/") and ".cases.yaml:" in line for line in lines) == 2


def test_tap(results: list[CaseResult]) -> None:
    """The plan counts every case; a failure has a YAML block with its message and trace."""
    lines = tap_text(results).splitlines()
    assert lines[:3] == ["TAP version 14", "1..3", "ok 1 - speed/good"]
    block = lines[lines.index("not ok 2 - speed/wrong-reason") + 1 :]
    assert block[0] == "  ---"
    assert json.loads(block[1].removeprefix("  message: ")) == results[1].message
    assert "  ..." in block


def test_github_annotation_names_file_line_and_case(results: list[CaseResult]) -> None:
    """The file is relative to the checkout; line breaks and commas are escaped as workflow commands want it."""
    first = github_text(results).splitlines()[0]
    assert first.startswith(f"::error file=rules/speed.cases.yaml,line={results[1].line},title=policy case speed/wrong-reason::")
    assert "%0Aexpected  " in first


def test_sarif_has_rule_name_and_place(results: list[CaseResult]) -> None:
    """A result names its rule, which the driver lists (semgrep#3816), its file and its line."""
    (run,) = sarif_document(results)["runs"]
    first = run["results"][0]
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["name"] == first["ruleId"] == "speed/wrong-reason"
    place = first["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("rules/speed.cases.yaml", results[1].line)
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 5, "exitCodeDescription": "a case failed"}]


def test_junit_failure_holds_the_trace(results: list[CaseResult]) -> None:
    """The body of a failure is what the text shows."""
    root = ET.fromstring(junit_xml(results))  # noqa: S314 - written by the program under test
    failure = root.find("./testsuite/testcase[@name='still']/failure")
    assert failure is not None
    assert "silent    speed/in-limits" in (failure.text or "")


def test_exit_code_of_what_could_not_run() -> None:
    """A broken file outweighs a failed case, and nothing at all is no success."""
    failed, broken = CaseResult("a", "b", False, "no", "f", 1), CaseResult("a", "", False, "no", "f", 1)
    assert [exit_of([failed]), exit_of([failed, broken]), exit_of([])] == [5, 3, 3]
    assert sarif_document([broken])["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_hostile_names_stay_in_their_place() -> None:
    """What a case is called cannot break a format's lines."""
    odd = CaseResult("a", "b#1\x1b[2J", False, "50%\n::error::x", "f,1:2.yaml", 3)
    assert "\x1b" not in tap_text([odd])
    assert "b\\#1" in tap_text([odd])
    assert github_text([odd]).splitlines()[0].startswith("::error file=f%2C1%3A2.yaml,line=3,")
    assert "50%25%0A::error::x" in github_text([odd]).splitlines()[0]
