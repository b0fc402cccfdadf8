"""Coverage of rules by cases: what counts as seen, what is reported as missing, and that no share is rounded up."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from reflect_gate.errors import ReflectGateError, Source
from reflect_gate.policy.coverage import Condition, Coverage, Share, coverage, floored
from reflect_gate.report.coverage import annotated, coverage_document, coverage_text, lcov_text

from .conftest import GOOD, WriteCases

FULL = (
    GOOD
    + """\
  - id: no-cause
    facts: [{lesson: {cause: false}}]
    expect: {verdict: too_vague, findings: []}
  - id: noisy
    facts: [{lesson: {}}, {hits: {lexicon: noise}}]
    expect: {verdict: too_vague, findings: []}
  - id: quiet
    facts: [{lesson: {}}, {hits: {lexicon: noise}}]
    expect: {verdict: too_vague, findings: []}
"""
)


def of(folder: Path) -> Coverage:
    """Return the coverage of the folder's rules."""
    return coverage([folder / "rules"], folder / "policies.yaml")


def condition(found: Coverage, text: str) -> Condition:
    """Return the condition whose text begins so."""
    (one,) = [part for part in found.conditions.values() if part.text.startswith(text)]
    return one


def test_condition_is_seen_both_ways(folder: Path) -> None:
    """Four hedges are more than three, three are not; of the cause only one side was tried."""
    found = of(folder)
    assert condition(found, "lesson.hedges > 3").true == 1
    assert condition(found, "lesson.hedges > 3").false == 1
    assert (condition(found, "lesson.cause").true, condition(found, "lesson.cause").false) == (1, 0)


def test_what_another_condition_hides_is_not_seen_false(write: WriteCases, folder: Path) -> None:
    """A lesson with too many hedges and no cause shows nothing of the cause: it would not have passed anyway."""
    write("  - id: both\n    facts: [{lesson: {hedges: 9, cause: false}}]\n    expect: {verdict: too_vague, findings: []}\n")
    assert condition(of(folder), "lesson.cause").false == 0


def test_negated_pattern_is_a_condition(write: WriteCases, folder: Path) -> None:
    """That there is no such fact is seen true and false, and so is each test within."""
    write(FULL)
    found = of(folder)
    absent = condition(found, "no hits")
    assert (absent.true > 0, absent.false > 0) == (True, True)
    assert condition(found, "not hits.lexicon = noise").true > 0


@pytest.mark.parametrize(("hedges", "at", "beside"), [(3, 1, 0), (4, 0, 1), (5, 0, 0)])
def test_threshold_is_tried_at_and_right_beside(write: WriteCases, folder: Path, hedges: int, at: int, beside: int) -> None:
    """A case far from the threshold tries neither."""
    write(f"  - id: one\n    facts: [{{lesson: {{hedges: {hedges}}}}}]\n    expect: {{verdict: too_vague, findings: []}}\n")
    (boundary,) = [part for part in of(folder).boundaries.values() if part.rule == "too-many"]
    assert (boundary.at, boundary.beside) == (at, beside)


def test_toggle_needs_a_case_with_the_rule_set_off(write: WriteCases, folder: Path, request_document: object) -> None:
    """A case of facts has its rule set on; only a request judged by a bundle without it shows it off."""
    request = f"  - id: off\n    bundle: without\n    request: {json.dumps(request_document)}\n"
    assert of(folder).toggles["speed"].off == 0
    write(GOOD + request + "    expect: {status: refused, reason: speculative, findings: []}\n")
    assert (of(folder).toggles["speed"].on, of(folder).toggles["speed"].off) == (2, 1)


def test_pattern_of_a_lexicon_is_hit_or_named(folder: Path) -> None:
    """A pattern that no text under `hit` holds is reported with its line."""
    path = folder / "rules" / "lexicons" / "noise.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("'ahoy'", "'yo ho'"), encoding="utf-8")
    found = of(folder)
    assert [pattern.pattern for pattern in found.patterns if not pattern.found] == ["yo ho"]
    assert "noise/shouting: finds no text: yo ho" in coverage_text(found)


@pytest.mark.parametrize(
    ("covered", "total", "shown"), [(0, 0, "-"), (1, 3, "33.3"), (99_999, 100_000, "99.9"), (7, 7, "100.0"), (2, 3, "66.6")]
)
def test_share_is_never_rounded_up(covered: int, total: int, shown: str) -> None:
    """Only everything is 100 (opa#6307)."""
    assert floored(Share(covered, total)) == shown


def test_threshold_is_compared_exactly() -> None:
    """99.999 % does not pass a threshold of 100, and each of rules and conditions is held to it."""
    found = Coverage()
    for number in range(50_000):
        found.conditions["r", 0, number] = Condition("r", "r", "c", found_source(), 1, int(number > 0))
    assert found.below(Decimal(100)) == ["conditions"]
    assert found.below(Decimal("99.99")) == []


def found_source() -> Source:
    """Return a place."""
    return Source("f", 1)


def test_case_that_cannot_run_is_an_error(write: WriteCases, folder: Path) -> None:
    """Nothing is measured by half."""
    write("  - id: odd\n    facts: [{lessons: {}}]\n    expect: {verdict: too_vague, findings: []}\n")
    with pytest.raises(ReflectGateError, match="case `speed/odd`"):
        of(folder)


def test_lcov_counts_rules_lines_and_branches(folder: Path) -> None:
    """Each rule is a function, each condition a branch with two ways, and the totals are those of the records."""
    lines = lcov_text(of(folder)).splitlines()
    assert lines[1] == f"SF:{folder / 'rules' / 'speed.yaml'}"
    assert "FNDA:1,speed/too-many" in lines
    branches = [line for line in lines if line.startswith("BRDA:")]
    hit = sum(not line.endswith(",0") for line in branches)
    assert f"BRF:{len(branches)}" in lines
    assert f"BRH:{hit}" in lines
    assert 0 < hit < len(branches)


def test_annotated_listing_marks_what_lacks(folder: Path) -> None:
    """The line of a condition has its counts, and under it stands what no case showed."""
    lines = annotated(of(folder)).splitlines()
    place = next(number for number, line in enumerate(lines) if "cause: true" in line)
    assert lines[place].startswith("!")
    assert "1T 0F" in lines[place]
    assert "never false: lesson.cause = true" in lines[place + 1]
    assert any("fired 1" in line and "id: too-many" in line for line in lines)


def test_document_lists_everything(folder: Path) -> None:
    """Every rule, condition and comparison stands in it with its file and line."""
    found = of(folder)
    told = coverage_document(found)
    assert len(told["conditions"]) == len(found.conditions) > 4
    assert all(part["line"] > 0 for part in (*told["rules"], *told["conditions"], *told["boundaries"]))
