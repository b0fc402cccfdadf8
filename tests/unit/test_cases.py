"""The case runner: what passes, what fails and how it says so, and that nothing which could not be run counts as passed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_gate.policy.cases import CaseResult, run_cases
from reflect_gate.resources import data_path

RULES = """\
ruleset: speed
version: 1.0.0
stage: calibrate
doc: A rule set for tests.
neutral: calibrated
settings:
  limit: {default: 3, doc: Hedges that a lesson may hold.}
rules:
  - id: too-many
    doc: The lesson holds more hedges than allowed.
    when:
      - lesson: {hedges: {gt: $limit}}
    then:
      - finding: {verdict: too_vague, reason: hedged, about: candidate_lesson}
  - id: in-limits
    doc: The lesson holds few hedges.
    when:
      - lesson: {hedges: {lte: $limit}}
    then:
      - finding: {verdict: calibrated, reason: plain, about: candidate_lesson}
"""

POLICIES = """\
policies: 1
default: ours
rules: rules
lexicons: rules/lexicons
bundles:
  ours: {doc: The rule set alone., rulesets: [speed]}
  strict:
    doc: A stricter limit.
    extends: ours
    settings:
      - {set: speed.limit, to: 1, reason: a test, owner: tests}
"""

LEXICON = """\
lexicon: noise
version: 1.0.0
doc: A lexicon for tests.
groups:
  - id: shouting
    doc: Words that shout.
    patterns: ['hurrah', 'ahoy']
    cases: {hit: [Hurrah for it], miss: [A quiet word]}
"""

GOOD = """\
  - id: many
    facts: [{lesson: {hedges: 4}}]
    expect: {verdict: too_vague, findings: [{rule: too-many, reason: hedged}], fires: [too-many], silent: [in-limits]}
"""

Run = Callable[..., list[CaseResult]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A policies file, one rule set and one lexicon."""
    (tmp_path / "rules" / "lexicons").mkdir(parents=True)
    (tmp_path / "policies.yaml").write_text(POLICIES, encoding="utf-8")
    (tmp_path / "rules" / "speed.yaml").write_text(RULES, encoding="utf-8")
    (tmp_path / "rules" / "lexicons" / "noise.yaml").write_text(LEXICON, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    """Write the cases given as YAML list items and run them."""

    def write_and_run(cases: str, pattern: str | None = None) -> list[CaseResult]:
        path = folder / "rules" / "speed.cases.yaml"
        path.write_text(f"ruleset: speed\ncases:\n{cases}", encoding="utf-8")
        return run_cases([path], folder / "policies.yaml", pattern)

    return write_and_run


def only(results: list[CaseResult]) -> CaseResult:
    """Return the one result."""
    assert len(results) == 1
    return results[0]


def case(expect: str, facts: str = "[{lesson: {hedges: 4}}]", extra: str = "") -> str:
    """Return one case as a YAML list item."""
    return f"  - id: one\n    facts: {facts}\n    expect: {expect}\n{extra}"


def test_case_that_agrees_passes_and_names_its_place(run: Run, folder: Path) -> None:
    """A passing result has no message and says where the case stands."""
    path = str(folder / "rules" / "speed.cases.yaml")
    assert run(GOOD) == [CaseResult("speed", "many", True, "", path, 3)]


def test_fields_left_out_take_the_default_of_the_vocabulary(run: Run) -> None:
    """An empty fact is a whole fact: a lesson without a word on hedges holds none."""
    findings = "[{rule: in-limits, reason: plain, verdict: calibrated, about: candidate_lesson}]"
    assert only(run(case(f"{{verdict: calibrated, findings: {findings}}}", "[{lesson: {}}]"))).passed


def test_case_may_name_the_bundle_whose_settings_it_takes(run: Run) -> None:
    """Two hedges are too many only for the stricter bundle."""
    expect = "{verdict: too_vague, findings: [{rule: too-many, reason: hedged}]}"
    assert only(run(case(expect, "[{lesson: {hedges: 2}}]", "    bundle: strict\n"))).passed


WRONG = {
    "verdict": (
        "{verdict: shallow, findings: [{rule: too-many, reason: hedged}]}",
        "verdict: expected `shallow`, got `too_vague`",
    ),
    "reason": (
        "{verdict: too_vague, findings: [{rule: too-many, reason: tired}]}",
        "findings: expected `too-many` (tired), got `too-many` (too_vague, hedged) about `candidate_lesson`",
    ),
    "about": (
        "{verdict: too_vague, findings: [{rule: too-many, reason: hedged, about: scope}]}",
        "findings: expected `too-many` (hedged) about `scope`",
    ),
    "verdict of a finding": (
        "{verdict: too_vague, findings: [{rule: too-many, reason: hedged, verdict: shallow}]}",
        "findings: expected `too-many` (shallow, hedged)",
    ),
    "missing finding": (
        "{verdict: too_vague, findings: [{rule: too-many, reason: hedged}, {rule: in-limits, reason: plain}]}",
        "findings: expected `in-limits` (plain)",
    ),
    "unexpected finding": ("{verdict: too_vague, findings: []}", "findings: did not expect `too-many` (too_vague, hedged)"),
    "silent rule": (
        "{verdict: too_vague, findings: [{rule: too-many, reason: hedged}], fires: [in-limits]}",
        "`in-limits` should have fired",
    ),
    "firing rule": (
        "{verdict: too_vague, findings: [{rule: too-many, reason: hedged}], silent: [too-many]}",
        "`too-many` should have stayed silent",
    ),
    "unknown rule": (
        "{verdict: too_vague, findings: [{rule: too-many, reason: hedged}], silent: [in-limit]}",
        "the rule set has no rule `in-limit`, did you mean `in-limits`?",
    ),
}


@pytest.mark.parametrize(("expect", "message"), WRONG.values(), ids=WRONG.keys())
def test_case_fails_when_any_part_differs(run: Run, expect: str, message: str) -> None:
    """The verdict alone is not enough, and the message holds what was expected and what was found."""
    result = only(run(case(expect)))
    assert not result.passed
    assert message in result.message


CANNOT_RUN = {
    "unknown key": (case("{verdict: too_vague, findings: []}", extra="    fact: []\n"), "no key `fact`"),
    "unknown fact": (case("{verdict: too_vague, findings: []}", "[{lessons: {}}]"), "did you mean `lesson`?"),
    "unknown field": (case("{verdict: too_vague, findings: []}", "[{lesson: {hedge: 1}}]"), "did you mean `hedges`?"),
    "wrong value": (case("{verdict: too_vague, findings: []}", "[{lesson: {hedges: many}}]"), "`many` is not a plain decimal"),
    "later fact": (case("{verdict: too_vague, findings: []}", "[{blame: {}}]"), "measured in stage `lifecycle`, after"),
    "no findings": (case("{verdict: too_vague}"), "needs the key `findings`"),
    "no expectation": ("  - {id: one, facts: []}\n", "needs the key `expect`"),
    "neither facts nor request": ("  - {id: one, expect: {verdict: x, findings: []}}\n", "either `facts` or `request`"),
    "no case": ("  []\n", "at least one case"),
    "same id twice": (GOOD + GOOD, "case `many` stands twice"),
    "unknown bundle": (case("{verdict: x, findings: []}", extra="    bundle: our\n"), "there is no bundle `our`"),
}


@pytest.mark.parametrize(("cases", "message"), CANNOT_RUN.values(), ids=CANNOT_RUN.keys())
def test_what_cannot_be_run_fails(run: Run, cases: str, message: str) -> None:
    """A fault of the file is a failed result, never a passed or a missing one."""
    results = run(cases)
    assert results
    assert not any(result.passed for result in results)
    assert message in "\n".join(result.message for result in results)


def test_broken_rule_set_fails_every_case(run: Run, folder: Path) -> None:
    """An error of the rules is the message of each case that needed them."""
    (folder / "rules" / "speed.yaml").write_text(RULES.replace("hedges: {gt", "hedge: {gt"), encoding="utf-8")
    result = only(run(GOOD))
    assert not result.passed
    assert "did you mean `hedges`?" in result.message


def test_engine_that_fails_fails_the_case(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """An evaluator's error never passes a case, even one that expects nothing."""
    from reflect_gate.errors import ReflectGateError
    from reflect_gate.runtime import Runtime

    def broken(*_: object) -> None:
        raise ReflectGateError("engine-failed", "the engine stopped")

    monkeypatch.setattr(Runtime, "encode", broken)
    result = only(run(case("{verdict: too_vague, findings: []}", "[]")))
    assert (result.passed, result.message) == (False, "the engine stopped [engine-failed]")


def test_rule_set_without_cases_fails(folder: Path) -> None:
    """A folder is walked by its rule files: one without a case file is named."""
    results = run_cases([folder / "rules"], folder / "policies.yaml")
    assert [result.message for result in results if not result.passed] == [
        "there is no `speed.cases.yaml`: a rule set needs cases"
    ]


def test_selection_without_a_case_fails(run: Run) -> None:
    """A pattern that selects nothing is an error, not an empty success."""
    assert only(run(GOOD, "speed/nothing-*")).message == "`speed/nothing-*` selects no case"


def test_pattern_selects_by_rule_set_and_id(run: Run) -> None:
    """`*` stands for anything in the id."""
    assert [result.id for result in run(GOOD + case("{verdict: x, findings: []}"), "speed/m*")] == ["many"]


def test_file_named_twice_runs_once(run: Run, folder: Path) -> None:
    """A folder and a file in it name the same cases; a rule file means the cases beside it."""
    run(GOOD)
    rules = folder / "rules"
    results = run_cases([rules / "speed.yaml", rules, rules / "speed.cases.yaml"], folder / "policies.yaml")
    assert [result.id for result in results if result.ruleset == "speed"] == ["many"]


def test_folder_of_the_policies_may_be_named(run: Run, folder: Path) -> None:
    """A policies file among the rules has no cases, and a lexicon is known by what it holds."""
    run(GOOD)
    (folder / "rules" / "lexicons").rename(folder / "words")
    policies = folder / "policies.yaml"
    policies.write_text(POLICIES.replace("rules/lexicons", "words"), encoding="utf-8")
    results = run_cases([folder], policies)
    assert {(result.ruleset, result.passed) for result in results} == {("speed", True), ("noise", True)}


def test_missing_file_fails(folder: Path) -> None:
    """A path that leads nowhere is a failed result."""
    result = only(run_cases([folder / "rules" / "gone.cases.yaml"], folder / "policies.yaml"))
    assert (result.passed, result.message) == (False, "the file cannot be read: no such file or directory")


LEXICON_CASES = {
    "hit": ("hit: [A quiet day], miss: [A quiet word]", "expected `shouting` in `A quiet day`, got nothing"),
    "miss": ("hit: [Hurrah], miss: [ahoy there]", "expected nothing in `ahoy there`, got `shouting` in `ahoy`"),
    "no hit": ("miss: [A quiet word]", "group `shouting` has no text under `hit`"),
    "no miss": ("hit: [Hurrah]", "group `shouting` has no text under `miss`"),
}


@pytest.mark.parametrize(("cases", "message"), LEXICON_CASES.values(), ids=LEXICON_CASES.keys())
def test_lexicon_case_fails(folder: Path, cases: str, message: str) -> None:
    """A text that should be found or should not, and a group without one of the two, fail."""
    path = folder / "rules" / "lexicons" / "noise.yaml"
    text = LEXICON.replace("hit: [Hurrah for it], miss: [A quiet word]", cases)
    path.write_text(text, encoding="utf-8")
    failed = [result.message for result in run_cases([path], folder / "policies.yaml") if not result.passed]
    assert failed == [message]


def test_lexicon_cases_hold_for_what_the_policies_make_of_it(folder: Path) -> None:
    """A pattern that the bundle adds is held to the texts under `miss` too."""
    changed = "    lexicons:\n      - {lexicon: noise, group: shouting, append: [quiet], reason: a test, owner: tests}\n"
    policies = POLICIES.replace("default: ours", "default: strict") + changed
    (folder / "policies.yaml").write_text(policies, encoding="utf-8")
    results = run_cases([folder / "rules" / "lexicons" / "noise.yaml"], folder / "policies.yaml")
    assert [result.id for result in results if not result.passed] == ["shouting/miss-1"]


REQUEST_EXPECT = {
    "agrees": ("status: admitted", True, ""),
    "status": ("{status: refused, reason: speculative}", False, "status: expected `refused`, got `admitted`"),
    "reason": ("{status: admitted, reason: shallow}", False, "reason: expected `shallow`, got `none`"),
}


@pytest.mark.parametrize(("expect", "passed", "message"), REQUEST_EXPECT.values(), ids=REQUEST_EXPECT.keys())
def test_request_case_runs_the_whole_pipeline(
    request_document: dict[str, Any], tmp_path: Path, expect: str, passed: bool, message: str
) -> None:
    """A request is judged by the bundle that the case names; the findings are those of the rule set."""
    inner = expect.strip("{}")
    finding = "{rule: grounded, reason: supported, about: reflection}"
    path = tmp_path / "grounding.cases.yaml"
    path.write_text(
        f"ruleset: grounding\ncases:\n  - id: whole\n    bundle: structured\n    request: {json.dumps(request_document)}\n"
        f"    expect: {{{inner}, findings: [{finding}], fires: [observed-failure], silent: [unsupported-claim]}}\n",
        encoding="utf-8",
    )
    result = only(run_cases([path], data_path("policies.yaml")))
    assert (result.passed, message in result.message) == (passed, True)


def test_shipped_rules_can_be_copied_and_run(tmp_path: Path) -> None:
    """The rules and their cases do not depend on where they stand."""
    shutil.copytree(data_path("rules"), tmp_path / "rules")
    shutil.copy(data_path("policies.yaml"), tmp_path / "policies.yaml")
    text = (tmp_path / "policies.yaml").read_text(encoding="utf-8")
    (tmp_path / "policies.yaml").write_text(f"{text}\nrules: rules\nlexicons: rules/lexicons\n", encoding="utf-8")
    results = run_cases([tmp_path / "rules" / "blame.cases.yaml"], tmp_path / "policies.yaml")
    assert results
    assert all(result.passed for result in results)
