"""The reporters: golden text for hand-written decisions, and text of others made harmless."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.policy.cases import CaseResult
from reflect_gate.report._paint import Paint
from reflect_gate.report._safe import json_for_terminal, one_line, plain
from reflect_gate.report.explain import explanation_text
from reflect_gate.report.junit import junit_xml
from reflect_gate.report.policy import bundle_text
from reflect_gate.report.text import condition, decision_text, holds, line_text, marked, summary_text

COVERAGE = {
    "fact": "hits",
    "field": "coverage",
    "value": 0.5,
    "op": "gte",
    "needed": 0.3,
    "setting": "calibration.virtue_level_coverage",
}

FINDING = {
    "stage": "calibrate",
    "ruleset": "calibration",
    "rule": "virtue-level",
    "verdict": "too_vague",
    "reason": "virtue-level",
    "about": "candidate_lesson",
    "source": "calibration.yaml:44:9",
    "measured": [
        COVERAGE,
        {**COVERAGE, "field": "lexicon", "value": "virtue-level", "op": "eq", "needed": "virtue-level", "setting": ""},
    ],
}

ADMISSION = {
    **FINDING,
    "stage": "admit",
    "ruleset": "admission",
    "rule": "too-vague",
    "verdict": "refuse",
    "reason": "too_vague",
    "source": "admission.yaml:92:9",
    "measured": [],
}

REFUSED: dict[str, Any] = {
    "decision_id": "d" * 32,
    "failure_id": "run-7",
    "signature": "5f70bf18a0860070" * 4,
    "status": "refused",
    "reason": "too_vague",
    "exit_code": 5,
    "bundle": {"name": "structured", "digest": "ab" * 32, "as_of": "2026-01-01", "engine": "durable", "cross_check": True},
    "stages": {
        "ground": {"grounded": True, "verdict": "grounded", "unresolved_claims": []},
        "generalize": {
            "generalized": True,
            "adjusted_scope": "lang:python",
            "contradicts_lesson_id": None,
            "counterexample_ids": [],
        },
        "calibrate": {"deduped": "new", "calibration": "too_vague", "calibrated_lesson": "", "episodic_only": False},
        "admit": {"admitted": False, "lesson_id": None, "rejected_reason": "too_vague", "unattached_candidate": False},
        "lifecycle": None,
    },
    "findings": [FINDING, ADMISSION],
    "spans": [{"target": "candidate_lesson", "lexicon": "virtue-level", "group": "carefulness", "start": 0, "end": 12}],
    "lesson": None,
    "envelope": None,
    "firings": [
        {
            "stage": "calibrate",
            "rule": "calibration/virtue-level",
            "source": "calibration.yaml:44:9",
            "facts": [{"fact": "hits", "fields": {"lexicon": "virtue-level", "n": 1, "coverage": 0.5}}],
            "measured": [COVERAGE],
            "derived": [
                {"fact": "finding", "fields": {"verdict": "too_vague", "reason": "virtue-level", "about": "candidate_lesson"}},
                {"fact": "platitude", "fields": {"target": "candidate_lesson"}},
            ],
        },
        {
            "stage": "admit",
            "rule": "admission/too-vague",
            "source": "admission.yaml:92:9",
            "facts": [{"fact": "conclusion", "fields": {"stage": "calibrate", "verdict": "too_vague"}}],
            "measured": [],
            "derived": [{"fact": "finding", "fields": {"verdict": "refuse", "reason": "too_vague", "about": "candidate_lesson"}}],
        },
    ],
}

REFUSED_TEXT = """\
refused: too_vague

  failure   run-7  signature 5f70bf18a086
  bundle    structured abababababab  as of 2026-01-01  durable, cross-checked
  decision  dddddddddddddddddddddddddddddddd

  candidate_lesson  virtue-level/carefulness
    [Be very care]ful next time.

  ground     grounded
  generalize generalized, scope `lang:python`
  calibrate  too_vague, new
  admit      not admitted: too_vague
  lifecycle  -

  ✗ calibrate: too_vague, virtue-level on candidate_lesson  calibration/virtue-level  calibration.yaml:44:9
      hits.coverage 0.5 ≥ 0.3 (calibration.virtue_level_coverage)
  ✗ admit: refuse, too_vague on candidate_lesson  admission/too-vague  admission.yaml:92:9
"""

TREE = """\
refused: too_vague
└─ admit: refuse, too_vague on candidate_lesson  by admission/too-vague  admission.yaml:92:9
   └─ conclusion(stage=calibrate, verdict=too_vague)
      └─ calibrate: too_vague, virtue-level on candidate_lesson  by calibration/virtue-level  calibration.yaml:44:9
         └─ hits(lexicon=virtue-level): coverage 0.5 ≥ 0.3 (calibration.virtue_level_coverage)

nearest miss
  calibration/calibrated (calibration.yaml:120:9) would need lesson.link ≥ 0.15 (calibration.min_link); it is 0.12
"""

MISS = {
    "rule": "calibration/calibrated",
    "source": "calibration.yaml:120:9",
    "facts": [],
    "condition": {
        "fact": "lesson",
        "field": "link",
        "value": 0.12,
        "op": "gte",
        "needed": 0.15,
        "setting": "calibration.min_link",
    },
}


def test_decision_text() -> None:
    """A refusal in full: verdict, identity, the candidate with its spans, stages, findings with their values."""
    assert decision_text(REFUSED, {"candidate_lesson": "Be very careful next time."}) == REFUSED_TEXT


def test_decision_text_without_the_candidate() -> None:
    """A decision alone, as from a log, is told without the text that it does not hold."""
    assert "candidate_lesson  virtue-level/" not in decision_text(REFUSED)


def test_explanation_text() -> None:
    """The derivation as a tree, each rule with its place, and what would have been needed."""
    assert explanation_text(REFUSED, [MISS]) == TREE


def test_line_text() -> None:
    """A decision of a batch fits a line and names the rule that decided."""
    expected = (
        "line 12    refused    too_vague          run-7  calibration/virtue-level (calibration.yaml:44:9):"
        " hits.coverage 0.5 ≥ 0.3 (calibration.virtue_level_coverage)\n"
    )
    assert line_text("line 12", REFUSED) == expected


def test_colour_only_adds_sequences() -> None:
    """With colour the words are the same; marks that colour replaces are gone."""
    import re

    coloured = decision_text(REFUSED, {"candidate_lesson": "Be very careful next time."}, Paint(on=True))
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == REFUSED_TEXT.replace("[Be very care]ful", "Be very careful")


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (
            {"admitted": 1, "undecided": 0, "refused": 2, "invalid": 0},
            "3 judged: 1 admitted, 0 undecided, 2 refused, 0 invalid\n",
        ),
        ({"admitted": 1, "undecided": 0, "refused": 0, "invalid": 1}, "2 read: 1 admitted, 0 undecided, 0 refused, 1 invalid\n"),
    ],
)
def test_summary(counts: dict[str, int], text: str) -> None:
    """The summary says judged only where every entry was."""
    assert summary_text(counts) == text


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], "abcdef"),
        ([(1, 3)], "a[bc]def"),
        ([(1, 4), (2, 5)], "a[bcde]f"),
        ([(1, 3), (3, 5)], "a[bcde]f"),
        ([(4, 99), (-3, 1), (2, 2)], "[a]bcd[ef]"),
    ],
)
def test_marked(spans: list[tuple[int, int]], expected: str) -> None:
    """Spans that overlap or touch are one mark; a span outside the text marks what is inside."""
    assert marked("abcdef", [{"start": start, "end": end} for start, end in spans], Paint()) == expected


def test_marks_count_characters_before_escaping() -> None:
    """Offsets are those of the text as it was judged, not of its escaped form."""
    assert marked("a\x1bbc", [{"start": 2, "end": 3}], Paint()) == "a\\x1b[b]c"


@pytest.mark.parametrize(
    ("measured", "text"),
    [
        (COVERAGE, "hits.coverage 0.5 ≥ 0.3 (calibration.virtue_level_coverage)"),
        ({**COVERAGE, "needed": 0.6, "setting": ""}, "not hits.coverage 0.5 ≥ 0.6"),
        (
            {**COVERAGE, "value": "repo", "op": "in", "needed": ["repo", "any"], "setting": None},
            "hits.coverage repo in {repo, any}",
        ),
        ({**COVERAGE, "value": True, "op": "eq", "needed": True, "setting": ""}, "hits.coverage is yes"),
        ({**COVERAGE, "value": False, "op": "eq", "needed": True, "setting": ""}, "hits.coverage is no, not yes"),
        ({**COVERAGE, "value": "a", "op": "ne", "needed": "b", "setting": ""}, "hits.coverage a ≠ b"),
    ],
)
def test_condition(measured: dict[str, Any], text: str) -> None:
    """A condition shows the value, the operator and the threshold; one that failed says so."""
    assert condition(measured) == text


@pytest.mark.parametrize(
    ("op", "true_of"), [("lt", [1]), ("lte", [1, 2]), ("eq", [2]), ("ne", [1, 3]), ("gte", [2, 3]), ("gt", [3])]
)
def test_holds(op: str, true_of: list[int]) -> None:
    """Each operator is read as the rules read it."""
    assert [value for value in (1, 2, 3) if holds({"value": value, "op": op, "needed": 2})] == true_of


# -- hostile text ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b[2J",
        "\x1b]0;title\x07",
        "\x9b31m",
        "\r",
        "\b\b",
        "\x00",
        "\u202e",
        "\u2066",
        "\u200b",
        "\ufeff",
        "\u2028",
        "\U000e0041",
        "\ud800",
    ],
)
def test_plain_leaves_nothing_that_drives_a_terminal(hostile: str) -> None:
    """Controls, bidirectional and invisible characters come out as escapes of printable ASCII."""
    shown = plain(f"a{hostile}b")
    assert shown.isascii()
    assert shown.isprintable()
    assert "\\" in shown


def test_plain_keeps_what_people_write() -> None:
    """Line breaks, tabs, accents, other scripts, emoji and non-breaking spaces are text."""
    text = "naïve\tπ ≥ 3\n日本語 🚀\u00a0ok"
    assert plain(text) == text


@given(st.text())
def test_plain_is_always_printable(text: str) -> None:
    """No text at all comes out with a character of the dangerous categories."""
    assert not [
        char for char in plain(text) if char not in "\n\t" and unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    ]


@given(st.text())
def test_json_for_terminal_is_the_same_value(text: str) -> None:
    """What is escaped for a terminal reads back as the same document, and holds nothing raw that is dangerous."""
    document = json.dumps({"text": text}, ensure_ascii=False)
    try:
        data = document.encode()
    except UnicodeEncodeError:
        return
    shown = json_for_terminal(data).decode()
    assert json.loads(shown) == {"text": text}
    assert plain(shown) == shown


def test_one_line_is_short_and_flat() -> None:
    """Ids and reasons of others cannot break the layout."""
    assert one_line("a\n b\tc", 10) == "a b c"
    assert one_line("x" * 300, 10) == "xxxxxxxxx…"


# -- other forms ----------------------------------------------------------------------------------------------------------


def test_junit() -> None:
    """A suite a rule set, a case a case; nothing of the run's time or machine."""
    results = [
        CaseResult("grounding", "a", True, "", "g.cases.yaml", 3),
        CaseResult("grounding", "b", False, 'got "x"\n<y>', "g.cases.yaml", 9),
    ]
    expected = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="reflect-gate policy test" tests="2" failures="1" errors="0" skipped="0">
  <testsuite name="grounding" tests="2" failures="1" errors="0" skipped="0">
    <testcase classname="grounding" name="a" file="g.cases.yaml" line="3" />
    <testcase classname="grounding" name="b" file="g.cases.yaml" line="9">
      <failure message="got &quot;x&quot;&#10;&lt;y&gt;" />
    </testcase>
  </testsuite>
</testsuites>
"""
    assert junit_xml(results) == expected


DESCRIBED: dict[str, Any] = {
    "name": "strict",
    "doc": "Ours.",
    "digest": "cd" * 32,
    "as_of": "2026-01-01",
    "policies": "policies.yaml",
    "engine": "compiled",
    "cross_check": False,
    "rulesets": [
        {
            "name": "blame",
            "version": "1.0.0",
            "stage": "lifecycle",
            "on": False,
            "neutral": "admit",
            "origin": "policies.yaml:9:3",
        },
        {
            "name": "grounding",
            "version": "1.2.0",
            "stage": "ground",
            "on": True,
            "neutral": "grounded",
            "origin": "policies.yaml:8:3",
        },
    ],
    "settings": [
        {
            "key": "grounding.min",
            "value": "0.6",
            "origin": "policies.yaml:12:5",
            "reason": "noisy repo",
            "owner": "kim",
            "expires": "2027-01-01",
        }
    ],
    "lexicons": [{"name": "hedges", "version": "1.0.0", "groups": [{"id": "modal", "patterns": ["may", "might"]}]}],
    "rules": [
        {"name": "grounding/a", "decides": True},
        {"name": "grounding/b", "decides": True},
        {"name": "grounding/c", "decides": False},
    ],
    "changes": [
        {
            "kind": "setting",
            "target": "grounding.max",
            "applied": False,
            "origin": "policies.yaml:13:5",
            "reason": "trial",
            "owner": "lee",
            "expires": "2025-01-01",
        }
    ],
}

DESCRIBED_TEXT = """\
strict cdcdcdcdcdcd  as of 2026-01-01  compiled
  Ours.
  policies.yaml

rule sets
  off blame 1.0.0  lifecycle, says `admit`  policies.yaml:9:3
  on  grounding 1.2.0  ground, 2 rules, looking on: c  policies.yaml:8:3

settings
  grounding.min  0.6  policies.yaml:12:5 (reason noisy repo, owner kim, expires 2027-01-01)

lexicons
  hedges 1.0.0  modal (2)

changes
  expired, not applied: setting grounding.max  policies.yaml:13:5 (reason trial, owner lee, expires 2025-01-01)
"""


def test_bundle_text() -> None:
    """A bundle with one rule set off, an override and an expired change, with the place of each."""
    assert bundle_text(DESCRIBED, origin=True) == DESCRIBED_TEXT
