"""A bundle with planted faults: each is found at its line, and nothing else is; every rule of the registry is among them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reflect_gate.policy.lint import RULES, Config, Report, lint, lint_world, read_world
from reflect_gate.resources import data_path

PLANTED = Path(__file__).parent / "planted"
AS_OF = "2026-06-01"
_MARK = re.compile(r"# lint: (?P<rules>[a-z -]+)$")


def marks() -> set[tuple[str, int, str]]:
    """Return `(file, line, rule)` of every `# lint: rule …` in the planted files."""
    found = set()
    for path in sorted(PLANTED.rglob("*.yaml")):
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            match = _MARK.search(line)
            if match:
                found |= {(path.name, number, rule) for rule in match["rules"].split()}
    return found


@pytest.fixture(scope="module")
def report() -> Report:
    """What lint finds in the planted files."""
    return lint(PLANTED / "policies.yaml", AS_OF)


def test_each_fault_is_found_at_its_line_and_nothing_else(report: Report) -> None:
    """The findings are exactly the marks."""
    found = {(Path(finding.source.file).name, finding.source.line, finding.rule) for finding in report.findings}
    assert found == marks()


def test_there_are_at_least_twenty_faults() -> None:
    """The planted files are worth the name."""
    assert len(marks()) >= 20


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.severity != "off"], ids=lambda rule: rule.id)
def test_every_rule_has_a_planted_fault(rule: object) -> None:
    """A rule without a fault that it finds is not tried."""
    assert getattr(rule, "id", "") in {name for _, _, name in marks()}


def test_rules_that_are_off_find_something_when_on() -> None:
    """What is off by default works all the same."""
    config = Config({rule.id: "warning" for rule in RULES if rule.severity == "off"})
    found = {finding.rule for finding in lint_world(read_world(PLANTED / "policies.yaml", AS_OF), config).findings}
    assert found >= set(config.severities)


def test_shipped_rules_are_clean() -> None:
    """No false alarm: the shipped rules, lexicons, cases and policies have no finding."""
    assert lint(data_path("policies.yaml")).findings == ()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_is_documented(rule: object) -> None:
    """Ids are kebab-case; doc and remedy are sentences."""
    assert re.fullmatch(r"[a-z]+(?:-[a-z]+)*", getattr(rule, "id", ""))
    for text in (getattr(rule, "doc", ""), getattr(rule, "remedy", "")):
        assert text[:1].isupper()
        assert text.endswith(".")


def test_ids_are_unique() -> None:
    """The configuration names rules by them."""
    assert len({rule.id for rule in RULES}) == len(RULES)
