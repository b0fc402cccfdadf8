"""A rule set with a rule of each maturity, for the tests of how rules live."""

from __future__ import annotations

from pathlib import Path

from reflect_gate import Bundle, load_bundle

__all__ = ["CASES", "DRAFT", "RULES", "load", "names"]

RULES = """\
ruleset: speed
version: 1.1.0
stage: calibrate
doc: A rule set for tests.
neutral: calibrated
settings:
  limit: {default: 3, doc: Hedges that a lesson may hold.}
derive:
  loud: {target: target}
rules:
  - id: too-many
    doc: The lesson holds more hedges than allowed.
    maturity: deprecated
    replaced_by: in-limits
    when:
      - lesson: {hedges: {gt: $limit}}
    then:
      - finding: {verdict: too_vague, reason: hedged, about: candidate_lesson}
  - id: in-limits
    doc: The lesson holds few hedges, and nothing of it is loud.
    renamed_from: [few, sober]
    when:
      - lesson: {hedges: {lte: $limit}}
      - not loud: {}
    then:
      - finding: {verdict: calibrated, reason: plain, about: candidate_lesson}
  - id: shouting
    doc: A field of the lesson shouts.
    maturity: experimental
    since: 1.1.0
    renamed_from: [noisy]
    when:
      - hits as h: {lexicon: noise}
    then:
      - loud: {target: $h.target}
"""
"""Two rules decide; the third derives what one of them reads, and looks on."""

CASES = """\
ruleset: speed
cases:
  - id: many
    facts: [{lesson: {hedges: 4}}]
    expect: {verdict: too_vague, findings: [{rule: too-many, reason: hedged}], silent: [in-limits]}
  - id: loud
    facts: [{lesson: {hedges: 3}}, {hits: {lexicon: noise, target: candidate_lesson, n: 1}}]
    expect: {verdict: calibrated, findings: [{rule: in-limits, reason: plain}], silent: [too-many]}
  - id: loud-tried
    facts: [{lesson: {hedges: 3}}, {hits: {lexicon: noise, target: candidate_lesson, n: 1}}]
    expect: {verdict: too_vague, findings: [], fires: [noisy], silent: [few]}
  - id: quiet
    facts: [{lesson: {hedges: 3}}]
    expect: {verdict: calibrated, findings: [{rule: in-limits, reason: plain}], silent: [shouting]}
"""
"""The same facts twice: as the gate decides, and as it would with the rule that looks on, which is called by an old name."""

DRAFT = """\
ruleset: draft
version: 1.0.0
stage: calibrate
doc: A rule that is tried.
neutral: calibrated
rules:
  - id: no-lesson
    doc: Every lesson is too vague.
    maturity: experimental
    when:
      - lesson: {}
    then:
      - finding: {verdict: too_vague, reason: tried, about: candidate_lesson}
"""
"""A rule set whose one rule would refuse everything, and looks on."""


def names(bundle: Bundle) -> list[str]:
    """Return the rules that decide, without their rule set."""
    return sorted(rule.id for rule in bundle.program.rules)


def load(folder: Path, name: str | None = None, **options: object) -> Bundle:
    """Return a bundle of the folder, built anew."""
    return load_bundle(name, policies=folder, cache=False, **options)  # type: ignore[arg-type]
