"""A small policy of its own for the tools: one rule set with two rules, one lexicon, and cases to be written by a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

__all__ = ["GOOD", "POLICIES", "RULES", "WriteCases"]

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
    doc: The lesson holds few hedges, and no word of blame.
    when:
      - lesson: {hedges: {lte: $limit}, cause: true}
      - not hits: {lexicon: noise}
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
  without: {doc: Nothing., extends: ours, disable: [speed]}
"""

LEXICON = """\
lexicon: noise
version: 1.0.0
doc: A lexicon for tests.
groups:
  - id: shouting
    doc: Words that shout.
    patterns: ['hurrah', 'ahoy']
    cases: {hit: [Hurrah and ahoy, Ahoy there], miss: [A quiet word]}
"""

GOOD = """\
  - id: many
    facts: [{lesson: {hedges: 4}}]
    expect: {verdict: too_vague, findings: [{rule: too-many, reason: hedged}], fires: [too-many], silent: [in-limits]}
  - id: few
    facts: [{lesson: {hedges: 3}}]
    expect: {verdict: calibrated, findings: [{rule: in-limits, reason: plain}], silent: [too-many]}
"""

WriteCases: TypeAlias = Callable[[str], Path]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A policies file, one rule set with two cases, and one lexicon."""
    (tmp_path / "rules" / "lexicons").mkdir(parents=True)
    (tmp_path / "policies.yaml").write_text(POLICIES, encoding="utf-8")
    (tmp_path / "rules" / "speed.yaml").write_text(RULES, encoding="utf-8")
    (tmp_path / "rules" / "speed.cases.yaml").write_text(f"ruleset: speed\ncases:\n{GOOD}", encoding="utf-8")
    (tmp_path / "rules" / "lexicons" / "noise.yaml").write_text(LEXICON, encoding="utf-8")
    return tmp_path


@pytest.fixture
def write(folder: Path) -> WriteCases:
    """Write the cases given as YAML list items and return the file."""

    def written(cases: str) -> Path:
        path = folder / "rules" / "speed.cases.yaml"
        path.write_text(f"ruleset: speed\ncases:\n{cases}", encoding="utf-8")
        return path

    return written
