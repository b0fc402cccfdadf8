"""Lint: what it may not say, its configuration, its repairs."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

import reflect_gate
from reflect_gate.errors import ReflectGateError
from reflect_gate.policy.lint import RULES, Config, lint, lint_world, read_config, read_world, repair
from reflect_gate.policy.lint.samples import samples
from reflect_gate.policy.lint.unused import MEASURED_LEXICONS

Findings: TypeAlias = list[tuple[str, str]]
LintRules: TypeAlias = Callable[[str], Findings]

HEAD = """\
ruleset: speed
version: 1.0.0
stage: calibrate
doc: A rule set for tests.
neutral: calibrated
"""


@pytest.fixture
def found(folder: Path) -> LintRules:
    """Return what lint finds, as `(rule, subject)`, of the rule set `speed` with this body; upkeep is left out."""

    def run(body: str) -> Findings:
        (folder / "rules" / "speed.yaml").write_text(HEAD + body, encoding="utf-8")
        upkeep = {rule.id: "off" for rule in RULES if rule.id.startswith("missing-")}
        report = lint_world(read_world(folder), Config(upkeep))  # type: ignore[arg-type]
        return [(finding.rule, finding.subject.partition("/")[2] or finding.subject) for finding in report.findings]

    return run


def rule(name: str, when: str, then: str = "{finding: {verdict: shallow, reason: odd, about: candidate_lesson}}") -> str:
    """Return a rule as YAML."""
    return f"  - {{id: {name}, doc: A rule for tests., when: [{when}], then: [{then}]}}\n"


NOISE = rule("noisy", "hits: {lexicon: noise}", "{finding: {verdict: shallow, reason: noisy, about: scope}}")


@pytest.mark.parametrize(
    "when",
    [
        "lesson: {words: {gt: 5, lt: 6}}",
        "lesson: {words: {gt: 9, lt: 4}}",
        "lesson: {language: {ne: english, in: [english]}}",
        "lesson: {cause: {ne: true, in: [true]}}",
        "{lesson: {cause: true}}, {not lesson: {}}",
        "{lesson: {words: {gt: 9}}}, {not lesson: {words: {gt: 4}}}",
        "{claim as c: {}}, {claim as d: {field: $c.field}}, {not support: {field: $d.field}}, {support: {field: $c.field}}",
        "conclusion: {stage: generalize, verdict: contradict}",
    ],
)
def test_rule_that_cannot_fire(found: LintRules, when: str) -> None:
    """Tests that exclude each other, an absence of what is needed, a verdict that no rule says."""
    assert ("unreachable-rule", "odd") in found("rules:\n" + rule("odd", when if when.startswith("{") else f"{{{when}}}") + NOISE)


@pytest.mark.parametrize(
    "when",
    [
        "{lesson: {words: {gt: 5, lt: 7}}}",
        "{lesson: {words: {gt: 9}}}, {not lesson: {words: {gt: 12}}}",
        "{claim as c: {}}, {not support: {field: $c.field, usable: true}}",
        "{conclusion: {stage: ground, verdict: speculative}}",
        "{lesson: {words: {gt: 9}}}, {lesson: {words: {lt: 4}}}",
    ],
)
def test_rule_that_can_fire_is_left_alone(found: LintRules, when: str) -> None:
    """A narrow rule, or one of two facts of a type, is no fault."""
    assert found("rules:\n" + rule("odd", when) + NOISE) == []


def test_rules_that_wait_for_each_other(found: LintRules) -> None:
    """Complaint 27: a rule that waits for what is never derived is told, where it would stay silent for good."""
    body = "derive:\n  seen: {target: target}\nrules:\n"
    first = rule("first", "{seen as s: {}}", "{seen: {target: $s.target}}")
    assert ("unreachable-rule", "first") in found(body + first + NOISE)


def test_table_without_such_a_row(found: LintRules) -> None:
    """A rule that asks a table for what it does not hold cannot fire."""
    table = "tables:\n  kinds: {doc: Kinds of fields., columns: {target: target}, rows: [{target: scope}]}\nrules:\n"
    assert found(table + rule("odd", "{kinds: {target: counterfactual}}") + NOISE) == [("unreachable-rule", "odd")]


def test_setting_is_not_taken_for_its_value(found: LintRules) -> None:
    """What holds only while a setting has its default is not said."""
    settings = "settings:\n  few: {default: 3, doc: How many are few., minimum: 1, maximum: 90}\nrules:\n"
    one = rule("one", "{lesson: {words: {lt: $few}}}")
    two = rule("two", "{lesson: {words: {lt: 2, gt: $few}}}", "{finding: {verdict: shallow, reason: two, about: scope}}")
    assert found(settings + one + two + NOISE) == []


def test_shadow_by_a_weaker_comparison(found: LintRules) -> None:
    """Complaint 17: a rule with a higher threshold and the same finding never changes a decision, and that is told."""
    body = "rules:\n" + rule("wide", "{lesson: {words: {gt: 20}}}") + rule("narrow", "{lesson: {words: {gte: 30}}}") + NOISE
    assert found(body) == [("shadowed-rule", "narrow")]


def test_shadow_under_joins(found: LintRules) -> None:
    """Patterns are matched in whatever order they stand, through their joins."""
    then = "{finding: {verdict: shallow, reason: odd, about: $c.field}}"
    wide = rule("wide", "{support as s: {usable: true}}, {claim as c: {field: $s.field}}", then)
    narrow = rule("narrow", "{claim as c: {populated: true}}, {support: {field: $c.field, usable: true}}", then)
    assert found("rules:\n" + wide + narrow + NOISE) == [("shadowed-rule", "narrow")]


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("{lesson: {words: {gt: 20}, cause: true}}", "{lesson: {words: {gt: 30}}}"),
        ("{lesson: {words: {gt: 20}}}, {not hits: {lexicon: noise}}", "{lesson: {words: {gt: 30}}}"),
        (
            "{lesson: {words: {gt: 20}}}, {not hits: {lexicon: noise}}",
            "{lesson: {words: {gt: 30}}}, {not hits: {lexicon: noise, n: {gt: 3}}}",
        ),
        ("{claim as c: {}}, {support: {field: $c.field}}", "{claim: {populated: true}}, {support: {usable: true}}"),
    ],
)
def test_rules_that_do_not_shadow(found: LintRules, wide: str, narrow: str) -> None:
    """A condition more, an absence more or a join more keeps the other rule alive."""
    assert found("rules:\n" + rule("wide", wide) + rule("narrow", narrow) + NOISE) == []


def test_milder_verdict_of_a_narrower_rule(found: LintRules) -> None:
    """A finding that another one always outvotes changes nothing."""
    mild = rule("mild", "{lesson: {words: {gt: 30}}}", "{finding: {verdict: episodic, reason: mild, about: scope}}")
    assert found("rules:\n" + rule("severe", "{lesson: {words: {gt: 20}}}") + mild + NOISE) == [("shadowed-rule", "mild")]


def test_two_verdicts_of_one_rule(found: LintRules) -> None:
    """One rule that says two things of the same is told."""
    then = "{finding: {verdict: shallow, reason: a, about: scope}}, {finding: {verdict: episodic, reason: b, about: scope}}"
    assert found("rules:\n" + rule("torn", "{lesson: {cause: true}}", then) + NOISE) == [("contradictory-findings", "torn")]


def test_threshold_beyond_what_the_measure_comes_to(found: LintRules) -> None:
    """Hits are facts only where there is one, so that fewer than one is never."""
    body = "rules:\n" + rule("odd", "{hits: {lexicon: noise, n: {lt: 1}}}")
    assert found(body) == [("unreachable-threshold", "odd")]


def test_lexicons_that_measures_read() -> None:
    """The list of lexicons that Python names is the one that the stages compare with."""
    source = Path(reflect_gate.__file__).parent / "stages"
    named = set()
    for path in source.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "lexicon":
                named |= {part.value for part in node.comparators if isinstance(part, ast.Constant)}
    assert named == MEASURED_LEXICONS


@pytest.mark.parametrize(
    ("pattern", "texts", "whole"),
    [
        ("a(?:b|c)?", {"a", "ab", "ac"}, True),
        ("[ab]{2}", {"aa", "ab", "ba", "bb"}, True),
        (r"\bso\b \+", {"so +"}, True),
        ("x+", {"x", "xx"}, False),
        (r"a\w", {"aa"}, False),
        ("[^a]", {"x"}, False),
        (r"\x{e9}", {"é"}, True),
        (r"\pL", set(), False),
    ],
)
def test_samples_of_patterns(pattern: str, texts: set[str], whole: bool) -> None:
    """Texts made of a pattern, and whether they are all of them."""
    made = samples(pattern)
    assert (set(made.texts), made.whole) == (texts, whole)


# -- configuration -----------------------------------------------------------------------------------------------------


def write_config(folder: Path, text: str) -> Path:
    """Write the lint configuration beside the policies."""
    path = folder / ".reflect-gate-lint.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_printed_id_is_taken_by_the_configuration(folder: Path) -> None:
    """Complaint 20: the names in the output are those of the configuration, every one of them."""
    path = write_config(folder, "rules:\n" + "".join(f"  {rule.id}: off\n" for rule in RULES))
    assert set(read_config(path).severities) == {rule.id for rule in RULES}
    assert lint(folder).findings == ()


def test_unknown_ids_and_severities_are_errors_with_their_place(folder: Path) -> None:
    """Complaint 4: what is misspelt is told by name and line, with the nearest one."""
    path = write_config(folder, "rules:\n  unused-tabel: off\n  unused-table: of\n  # so far\nexceptions: []\n")
    with pytest.raises(ReflectGateError) as caught:
        read_config(path)
    told = [(error.code, error.source.line if error.source else 0) for error in caught.value.errors]
    assert told == [("lint-unknown-rule", 2), ("lint-severity", 3)]
    assert "did you mean `unused-table`?" in str(caught.value)


def test_severity_is_that_of_the_configuration(folder: Path) -> None:
    """What is a warning by default may be an error, and decides the exit code then."""
    assert lint(folder).errors == lint_world(read_world(folder), Config()).errors
    write_config(folder, "rules:\n  missing-header: error\n")
    assert {finding.severity for finding in lint(folder).findings if finding.rule == "missing-header"} == {"error"}


def test_exception_needs_a_reason(folder: Path) -> None:
    """Complaints 5 and 15: an exception without a reason is refused."""
    path = write_config(folder, "exceptions:\n  - {rule: missing-header, at: speed.yaml}\n")
    with pytest.raises(ReflectGateError, match="needs the key `reason`"):
        read_config(path)


@pytest.mark.parametrize(("as_of", "excepted"), [("2026-06-30", True), ("2026-07-01", False)])
def test_exception_expires(folder: Path, as_of: str, excepted: bool) -> None:
    """Complaint 5: an exception past its day is not applied, and is told itself."""
    write_config(
        folder, "exceptions:\n  - {rule: missing-header, at: speed.yaml, reason: later, owner: kim, expires: 2026-06-30}\n"
    )
    found = {(finding.rule, finding.subject) for finding in lint(folder, as_of).findings}
    assert (("missing-header", "speed.yaml") not in found) is excepted
    assert (("idle-exception", "speed.yaml") in found) is not excepted


def test_exception_that_excepts_nothing_is_told(folder: Path) -> None:
    """Complaint 25: a switch without effect is no silent one."""
    write_config(folder, "exceptions:\n  - {rule: unused-table, at: speed/none, reason: there was one}\n")
    assert ("idle-exception", "speed/none") in {(finding.rule, finding.subject) for finding in lint(folder).findings}


def test_broken_policy_is_an_error_and_no_clean_lint(folder: Path) -> None:
    """Complaint 6: what does not load is told as such, not passed over."""
    path = folder / "rules" / "speed.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("cause: true", "cuase: true"), encoding="utf-8")
    with pytest.raises(ReflectGateError, match="did you mean `cause`"):
        lint(folder)


def test_misindented_rule_is_told_with_its_place(folder: Path) -> None:
    """Complaint 19: a key at the wrong depth is an error with its line."""
    path = folder / "rules" / "speed.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("    then:", "  then:", 1), encoding="utf-8")
    with pytest.raises(ReflectGateError) as caught:
        lint(folder)
    assert all(error.source is not None and error.source.line for error in caught.value.errors)


# -- repairs -----------------------------------------------------------------------------------------------------------


def test_repairs_change_nothing_that_decides(folder: Path) -> None:
    """Unused names and missing first lines are repaired; the meaning is the same, and nothing is left to repair."""
    path = folder / "rules" / "speed.yaml"
    path.write_text(
        path.read_text(encoding="utf-8").replace("- lesson: {hedges: {gt", "- lesson as l: {hedges: {gt"), encoding="utf-8"
    )
    world = read_world(folder)
    mended = repair(world, lint_world(world, Config()))
    after = read_world(folder, instead=mended.texts)
    assert after.meaning == world.meaning
    assert mended.findings == 5
    assert [finding for finding in lint_world(after, Config()).findings if finding.edit] == []


def test_character_in_a_pattern_is_not_removed(folder: Path) -> None:
    """A repair that would change what a pattern finds is left to the author, and the others are made all the same."""
    path = folder / "rules" / "lexicons" / "noise.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("'hurrah'", "'hur\u200brah'"), encoding="utf-8")
    world = read_world(folder)
    mended = repair(world, lint_world(world, Config()))
    assert "hur\u200brah" in mended.texts[str(path)]
    assert mended.texts[str(path)].startswith("# yaml-language-server")


# -- the command -------------------------------------------------------------------------------------------------------


def test_sarif_names_the_rule_and_the_place(folder: Path) -> None:
    """Complaints 7, 14 and 16: id, line and column of the rule stand in machine output."""
    from reflect_gate.report.lint import sarif_document

    report = lint(folder)
    run = json.loads(json.dumps(sarif_document(report, {rule.id: (rule.doc, rule.remedy) for rule in RULES})))["runs"][0]
    known = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    for result in run["results"]:
        assert known[result["ruleId"]]["help"]["text"]
        assert result["locations"][0]["physicalLocation"]["region"]["startLine"] >= 1
    assert run["results"]
