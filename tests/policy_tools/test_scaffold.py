"""`policy new`: whatever it makes loads, passes its own cases and has no lint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from reflect_gate.errors import ReflectGateError
from reflect_gate.facts import load_vocabulary
from reflect_gate.policy import load_bundle
from reflect_gate.policy.cases import run_cases
from reflect_gate.policy.lint import lint
from reflect_gate.policy.scaffold import PROBES, new_lexicon, new_rule
from reflect_gate.resources import data_path

STAGES = [*load_vocabulary().stages]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Policies of an author, without a rule set."""
    (tmp_path / "rules" / "lexicons").mkdir(parents=True)
    path = tmp_path / "policies.yaml"
    path.write_text(
        "# Ours.\npolicies: 1\ndefault: ours\nrules: rules\nlexicons: rules/lexicons\nbundles:\n"
        "  ours: # the one in force\n    doc: What the team uses.\n    rulesets: []\n",
        encoding="utf-8",
    )
    return path


def write(texts: Mapping[Path, str]) -> list[Path]:
    """Write what was made and return the paths."""
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return list(texts)


def findings(own: Path) -> list[tuple[str, str]]:
    """Return what lint finds, apart from what the bare policies of these tests lack."""
    return [(found.rule, found.subject) for found in lint(own).findings if found.rule not in {"missing-header", "unused-lexicon"}]


def test_every_stage_has_a_measure_to_begin_with() -> None:
    """A stage that is added needs an entry."""
    assert set(PROBES) == set(STAGES)


@pytest.mark.parametrize("stage", STAGES)
def test_rule_set_of_each_stage(own: Path, stage: str) -> None:
    """The cases pass, lint has nothing to say, and the ablation switches the rule set off."""
    write(new_rule(own, "tone", "", stage, ""))
    results = run_cases([own.parent / "rules" / "tone.yaml"], own)
    assert [result.message for result in results if not result.passed] == []
    assert len(results) == 2
    assert findings(own) == []
    assert load_bundle("ours", policies=own, cache=False).ruleset("tone").on
    assert not load_bundle("without-tone", policies=own, cache=False).ruleset("tone").on


def test_rule_in_a_rule_set_that_is_there(own: Path) -> None:
    """A second rule joins the first with its two cases; comments of the files are kept."""
    write(new_rule(own, "tone", "first", "calibrate", ""))
    path = own.parent / "rules" / "tone.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("rules:\n", "rules:\n  # ours\n"), encoding="utf-8")
    write(new_rule(own, "tone", "second", "", ""))
    results = run_cases([path], own)
    assert (len(results), [result.message for result in results if not result.passed]) == (4, [])
    assert findings(own) == []
    assert "  # ours\n" in path.read_text(encoding="utf-8")
    assert "# the one in force\n" in own.read_text(encoding="utf-8")


def test_rule_in_a_rule_set_that_knows_no_more_measures(own: Path) -> None:
    """Where every measure to begin with is read already, the author is told, and nothing is made."""
    write(new_rule(own, "tone", "first", "lifecycle", ""))
    with pytest.raises(ReflectGateError) as caught:
        new_rule(own, "tone", "second", "", "")
    assert caught.value.code == "policy-scaffold"


def test_rule_with_a_new_lexicon(own: Path) -> None:
    """The lexicon is made with the rule that asks for it, so that neither is unused."""
    paths = write(new_rule(own, "tone", "", "", "slang"))
    results = run_cases([path for path in paths if path != own], own)
    assert [result.message for result in results if not result.passed] == []
    assert findings(own) == []


def test_lexicon_alone(own: Path) -> None:
    """Its own cases pass."""
    (path,) = write(new_lexicon(own, "slang"))
    results = run_cases([path], own)
    assert (len(results), all(result.passed for result in results)) == (2, True)


@pytest.mark.parametrize(
    ("ruleset", "rule", "stage", "lexicon", "code"),
    [
        ("Tone", "", "", "", "policy-name"),
        ("tone", "Too_Long", "", "", "policy-name"),
        ("tone", "", "calibrat", "", "policy-unknown-stage"),
        ("tone", "", "", "Bad Name", "policy-name"),
    ],
)
def test_names_are_held_to_their_shape(own: Path, ruleset: str, rule: str, stage: str, lexicon: str, code: str) -> None:
    """Nothing is made of a name that would not load."""
    with pytest.raises(ReflectGateError) as caught:
        new_rule(own, ruleset, rule, stage, lexicon)
    assert caught.value.code == code


def test_rule_that_is_there_is_not_replaced(own: Path) -> None:
    """The same name twice is an error."""
    write(new_rule(own, "tone", "first", "", ""))
    with pytest.raises(ReflectGateError, match="is there already"):
        new_rule(own, "tone", "first", "", "")


def test_shipped_policies_are_left_alone() -> None:
    """An author's rules do not go into the package."""
    with pytest.raises(ReflectGateError) as caught:
        new_lexicon(data_path("policies.yaml"), "slang")
    assert caught.value.code == "policy-shipped"


def test_policies_stay_valid_yaml(own: Path) -> None:
    """The policies file says what it said, and the new names."""
    write(new_rule(own, "tone", "", "", ""))
    bundles = yaml.safe_load(own.read_text(encoding="utf-8"))["bundles"]
    assert bundles["ours"]["rulesets"] == ["tone@1"]
    assert bundles["without-tone"]["disable"] == ["tone"]
