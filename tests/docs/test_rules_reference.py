"""`docs/rules.md` is generated; this holds the committed page and its generator together."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reflect_gate.policy.reference import main, read_shipped, reference
from reflect_gate.resources import data_path

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"


def test_page_is_what_the_generator_writes() -> None:
    """Regenerate with `python -m reflect_gate.policy.reference docs/rules.md` when this fails."""
    assert PAGE.read_text(encoding="utf-8") == reference()


def test_page_names_every_rule_setting_table_and_group() -> None:
    """Nothing of the registry is left out."""
    page = reference()
    rulesets, lexicons = read_shipped()
    names = [rule.id for file in rulesets for rule in file.rules]
    names += [f"{file.name}.{name}" for file in rulesets for name in file.settings]
    names += [name for file in rulesets for name in file.tables]
    names += [group for lexicon in lexicons for group in lexicon.groups]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_page_can_be_written_to_a_file(tmp_path: Path) -> None:
    """With one argument the page is written there."""
    assert main([str(tmp_path / "rules.md")]) == 0
    assert (tmp_path / "rules.md").read_text(encoding="utf-8") == reference()


def test_page_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Without an argument the page goes to standard output."""
    assert main([]) == 0
    assert capsys.readouterr().out == reference()


def test_broken_rules_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A rule file that cannot be read gives exit code 3 and its place on standard error."""
    (tmp_path / "rules").mkdir()
    shutil.copytree(data_path("schemas"), tmp_path / "schemas")
    (tmp_path / "policies.yaml").write_text("policies: 1\n", encoding="utf-8")
    (tmp_path / "rules" / "odd.yaml").write_text("ruleset: [odd]\n", encoding="utf-8")
    monkeypatch.setenv("REFLECT_GATE_DATA", str(tmp_path))
    assert main([]) == 3
    assert "odd.yaml:1:10" in capsys.readouterr().err
