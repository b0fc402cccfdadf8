"""The page about the tools names every lint rule as it is, shows a configuration that holds, and commands that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reflect_gate.policy.lint import CONFIG_NAME, RULES, LintRule, read_config

PAGE = Path(__file__).parents[2] / "docs" / "policy-tools.md"
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_stands_in_the_table(rule: LintRule) -> None:
    """Id, severity, doc and remedy are those of the registry."""
    assert f"| `{rule.id}` | {rule.severity} | {rule.doc} | {rule.remedy} |\n" in TEXT


def test_table_has_no_other_rule() -> None:
    """A rule that is gone leaves the page."""
    assert set(re.findall(r"^\| `([a-z-]+)` \|", TEXT, re.MULTILINE)) == {rule.id for rule in RULES}


def test_configuration_of_the_page_holds(tmp_path: Path) -> None:
    """It can be read, and says what the page says of it."""
    path = tmp_path / CONFIG_NAME
    path.write_text(TEXT.partition("```yaml\n")[2].partition("```")[0], encoding="utf-8")
    config = read_config(path)
    assert config.severities == {"missing-toggle": "off", "unread-fact": "warning"}
    assert [(one.rule, one.expires) for one in config.exceptions] == [("missing-near-miss-case", "2027-06-30")]


def test_commands_of_the_page_exist() -> None:
    """Each is a verb of `reflect-gate policy`, with the options that it has."""
    from reflect_gate.cli.policy import policy

    commands = re.findall(r"^\$ reflect-gate policy (\w+)(.*)$", TEXT, re.MULTILINE)
    assert commands
    for verb, rest in commands:
        known = {name for parameter in policy.commands[verb].params for name in parameter.opts}
        assert {word for word in rest.split() if word.startswith("-")} <= known, verb
