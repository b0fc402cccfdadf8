"""What `--run PATTERN` selects."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_gate.errors import ReflectGateError
from reflect_gate.policy.cases import run_cases
from reflect_gate.policy.selecting import selection

SELECTED = {
    "whole name": ("speed/many", ["many"]),
    "glob": ("speed/*", ["many", "few"]),
    "id alone": ("f?w", ["few"]),
    "rule": ("speed/too-many", ["many", "few"]),
    "expression": ("/speed.(m|x)any$/", ["many"]),
    "expression on a rule": ("/in-lim/", ["many", "few"]),
}


@pytest.mark.parametrize(("pattern", "ids"), SELECTED.values(), ids=SELECTED.keys())
def test_pattern_selects(folder: Path, pattern: str, ids: list[str]) -> None:
    """By case or by rule, as a glob or as a regular expression."""
    results = run_cases([folder / "rules" / "speed.cases.yaml"], folder / "policies.yaml", pattern)
    assert [result.id for result in results if result.passed] == ids


def test_lexicon_case_is_selected(folder: Path) -> None:
    """The cases of lexicons have names as well."""
    results = run_cases([folder / "rules"], folder / "policies.yaml", "noise/shouting/hit-1")
    assert [(result.ruleset, result.id) for result in results] == [("noise", "shouting/hit-1")]


@pytest.mark.parametrize("pattern", ["speed/none", "/^x/", "other/*"])
def test_pattern_that_selects_nothing_fails(folder: Path, pattern: str) -> None:
    """Zero cases are never a success."""
    (result,) = run_cases([folder / "rules"], folder / "policies.yaml", pattern)
    assert (result.passed, result.id, result.message) == (False, "", f"`{pattern}` selects no case")


def test_expression_that_is_none_is_an_error() -> None:
    """A broken expression is told, not taken for a glob."""
    with pytest.raises(ReflectGateError, match="no regular expression") as caught:
        selection("/a(/")
    assert caught.value.code == "run-pattern"


def test_only_slashes_is_a_glob() -> None:
    """One slash is no expression."""
    assert selection("/").regex is None
