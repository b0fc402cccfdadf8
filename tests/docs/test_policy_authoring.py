"""The guide for policy authors: its YAML is loaded, its cases run, and its errors are what the loader says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from reflect_gate import ReflectGateError, load_bundle
from reflect_gate.policy.cases import run_cases
from reflect_gate.resources import data_path

GUIDE = Path(__file__).parents[2] / "docs" / "policy-authoring.md"
_FENCE = re.compile(r"^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"# (?P<role>file|broken): (?P<path>\S+)\n")


def blocks(kind: str) -> list[str]:
    """Return the fenced blocks of a kind in the guide's order."""
    return [match["body"] for match in _FENCE.finditer(GUIDE.read_text(encoding="utf-8")) if match["kind"] == kind]


def write(folder: Path, role: str) -> list[Path]:
    """Write the YAML blocks of a role into `folder`, and return the paths."""
    written = []
    for body in blocks("yaml"):
        named = _NAMED.match(body)
        assert named, "every YAML block names its file"
        if named["role"] == role:
            path = folder / named["path"]
            path.write_text(body[named.end() :], encoding="utf-8")
            written.append(path)
    return written


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The shipped rules with the files of the guide among them."""
    shutil.copytree(data_path("rules"), tmp_path / "rules")
    assert write(tmp_path, "file")
    return tmp_path


@pytest.mark.parametrize("bundle", ["structured", "ours", "without-blame", "ahead"])
def test_bundle_of_the_guide_loads(folder: Path, bundle: str) -> None:
    """Each bundle that the guide's policies name can be loaded."""
    assert load_bundle(bundle, policies=folder, cache=False).name == bundle


def test_bundles_of_the_guide_differ_as_it_says(folder: Path) -> None:
    """`ours` adds a rule set, and `without-blame` takes one away."""
    ours, without = (load_bundle(name, policies=folder, cache=False) for name in ("ours", "without-blame"))
    assert ours.ruleset("hedging").on
    assert ours.ruleset("blame").on
    assert not without.ruleset("blame").on


def test_rules_of_the_guide_live_as_it_says(folder: Path) -> None:
    """One looks on, one is on its way out, one is known by its old name; a bundle is ahead of that."""
    ours, ahead = (load_bundle(name, policies=folder, cache=False) for name in ("ours", "ahead"))
    assert ours.trial is not None
    assert ours.trial.rules == ("brevity/winding",)
    assert [notice.message for notice in ours.notices] == ["rule `brevity/wordy-scope` is deprecated: use `brevity/wordy`"]
    assert (ahead.trial, ahead.notices) == (None, ())
    assert dict(ours.renamed) == {"brevity/too-long": "brevity/wordy"}


@pytest.mark.parametrize(("as_of", "value"), [("2027-06-30", 3), ("2027-07-01", 2)])
def test_override_of_the_guide_expires(folder: Path, as_of: str, value: int) -> None:
    """The last day still counts; from the next on the default is in force."""
    bundle = load_bundle("ours", policies=folder, as_of=as_of, cache=False)
    assert bundle.setting("blame.min_corroborations") == value


def test_lexicon_change_of_the_guide_is_applied(folder: Path) -> None:
    """The appended phrase is among the group's patterns."""
    groups = load_bundle("ours", policies=folder, cache=False).lexicons["virtue-level"].groups
    assert "boy scout rule" in next(group.patterns for group in groups if group.id == "quality")


@pytest.mark.parametrize("path", ["rules/hedging.cases.yaml", "rules/brevity.cases.yaml", "rules/lexicons/slang.yaml"])
def test_cases_of_the_guide_pass(folder: Path, path: str) -> None:
    """The cases that the guide shows pass under the policies that it shows."""
    results = run_cases([folder / path], folder / "policies.yaml")
    assert [result.message for result in results if not result.passed] == []


def test_errors_of_the_guide_are_those_of_the_loader(folder: Path) -> None:
    """The broken file gives exactly the lines that the guide prints."""
    write(folder, "broken")
    with pytest.raises(ReflectGateError) as caught:
        load_bundle("ours", policies=folder, cache=False)
    assert str(caught.value).replace(f"{folder}/", "") == blocks("text")[0].strip()


def test_commands_of_the_guide_exist() -> None:
    """Each command line of the guide is a verb of `reflect-gate policy`."""
    from reflect_gate.cli.policy import policy

    verbs = re.findall(r"^\$ reflect-gate policy (\w+)", "".join(blocks("console")), re.MULTILINE)
    assert set(verbs) == {"check", "mutate", "shadow", "show", "test"}
    assert set(verbs) <= set(policy.commands)
