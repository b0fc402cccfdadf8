"""`policy fmt`: comments kept, content kept, nothing left to do the second time."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_gate.errors import ReflectGateError
from reflect_gate.policy.formatting import WIDTH, formatted

PATH = Path("/nowhere/rules/odd.yaml")

UNTIDY = """\
# A file of mine.
ruleset: odd
version:   1.0.0      # the first
stage: calibrate
doc: "All # of it"
neutral: calibrated
rules:
- id: a
  # why there is this
  doc: It is so.
  when:
  -   lesson:   {words: {gt:   010},sentences:  1}   # a space
  # - lesson: {cause: true}
  then:
      - finding: {verdict: shallow,
                  reason: odd}



- id: b
  doc: Another.
# the end
"""

TIDY = """\
# yaml-language-server: $schema=schemas/ruleset.schema.json
# A file of mine.
ruleset: odd
version: 1.0.0 # the first
stage: calibrate
doc: "All # of it"
neutral: calibrated
rules:
  - id: a
    # why there is this
    doc: It is so.
    when:
      - lesson: {words: {gt: 010}, sentences: 1} # a space
      # - lesson: {cause: true}
    then:
      - finding: {verdict: shallow, reason: odd}

  - id: b
    doc: Another.
# the end
"""


def test_layout() -> None:
    """Indentation, spaces, empty lines and the first line are put right; comments go with what they speak of."""
    assert formatted(UNTIDY, PATH) == TIDY


def test_second_time_changes_nothing() -> None:
    """What is laid out stays as it is."""
    assert formatted(TIDY, PATH) == TIDY


@pytest.mark.parametrize("value", ["010", "no", "1.10", "1_000", "0x1F", "2027-01-01", "~", "'010'", '"no"', "1e3", "yes"])
def test_scalars_stay_as_written(value: str) -> None:
    """No scalar is taken for a number, a flag or a date and written in another way."""
    assert f"stage: {value}\n" in formatted(f"ruleset: odd\nstage:   {value}\n", PATH)


def test_flow_that_does_not_fit_becomes_a_block() -> None:
    """A mapping or list wider than `WIDTH` is written one entry a line."""
    listed = ", ".join(f"value-{number}" for number in range(20))
    laid_out = formatted(f"ruleset: odd\nrules:\n  - when: [{listed}]\n", PATH)
    assert "      - value-0\n      - value-1\n" in laid_out
    assert max(map(len, laid_out.splitlines())) <= WIDTH


def test_long_doc_is_folded() -> None:
    """A doc over several lines, or too long for one, is a folded block that says the same."""
    doc = " ".join(["word"] * 60)
    laid_out = formatted(f"ruleset: odd\ndoc: {doc}\n", PATH)
    assert yaml.safe_load(laid_out)["doc"] == doc
    assert max(map(len, laid_out.splitlines())) <= WIDTH


def test_windows_lines_become_plain() -> None:
    """Line ends are those of the shipped files."""
    assert formatted(TIDY.replace("\n", "\r\n"), PATH) == TIDY


def test_comment_that_would_be_lost_is_refused() -> None:
    """Where a comment cannot be kept, the file stays as it is."""
    with pytest.raises(ReflectGateError) as caught:
        formatted("ruleset: odd\nrules: [a, # the first\n  b]\n", PATH)
    assert caught.value.code == "policy-format"


@pytest.mark.parametrize("text", ["ruleset: [odd\n", "ruleset: odd\nruleset: odd\n", "ruleset: &x odd\n"])
def test_what_policies_refuse_is_refused(text: str) -> None:
    """Broken YAML, duplicate keys and anchors are errors with their place."""
    with pytest.raises(ReflectGateError) as caught:
        formatted(text, PATH)
    assert caught.value.source is not None
    assert caught.value.source.line


words = st.text("abc #:-'\"{}[],&*!|>%@`0123456789~é", min_size=1, max_size=12)
documents = st.dictionaries(
    words,
    st.recursive(words, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=8),
)


@settings(max_examples=60, deadline=None)
@given(document=documents, flow=st.sampled_from([False, None]))
def test_any_content_is_kept_or_refused(document: dict[str, object], flow: bool | None) -> None:
    """Whatever a file says, it says after; and a second run changes nothing."""
    text = yaml.safe_dump({"rules": [["a"]], **document, "ruleset": "odd"}, default_flow_style=flow, allow_unicode=True)
    once, refused = "", ""
    try:
        once = formatted(text, PATH)
    except ReflectGateError as error:
        refused = error.code
    if refused:
        assert refused == "policy-format"
        return
    assert yaml.load(once, yaml.BaseLoader) == yaml.load(text, yaml.BaseLoader)  # noqa: S506 - text of the test
    assert formatted(once, PATH) == once
