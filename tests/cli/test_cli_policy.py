"""`reflect-gate policy`: what a bundle resolves to, whether the files hold, whether the cases pass."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import schemas
from reflect_gate.resources import data_root

Run = Callable[..., Any]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A copy of the shipped policies that a test may break; returns its policies file."""
    folder = tmp_path / "own"
    shutil.copytree(data_root() / "rules", folder / "rules")
    policies = (data_root() / "policies.yaml").read_text(encoding="utf-8")
    target = folder / "policies.yaml"
    target.write_text(policies.replace("\ndefault:", "\nrules: rules\nlexicons: rules/lexicons\ndefault:", 1), encoding="utf-8")
    return target


def change(path: Path, old: str, new: str) -> None:
    """Replace the first `old` of a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


# -- show --------------------------------------------------------------------------------------------------------------


def test_show_names_the_place_of_every_value(here: Run) -> None:
    """`--origin` gives file and line of each setting."""
    lines = here("policy", "show", "--origin").out.splitlines()
    settings = [line for line in lines if line.startswith("  grounding.")]
    assert settings
    assert all("grounding.yaml:" in line for line in settings)


def test_show_follows_the_command_line(here: Run) -> None:
    """What `--set` and `--disable` change is shown as changed by them."""
    out = here("policy", "show", "--origin", "--set", "calibration.min_words=9", "--disable", "blame").out
    assert any(line.split()[:2] == ["calibration.min_words", "9"] and "--set" in line for line in out.splitlines())
    assert any(line.split()[:2] == ["off", "blame"] and "says `admit`" in line for line in out.splitlines())


def test_show_json_has_the_digest_of_decisions(here: Run) -> None:
    """The digest shown is the one that decisions carry."""
    shown = json.loads(here("policy", "show", "--bundle", "introspect", "--format", "json").out)
    assert len(shown["digest"]) == 64
    assert [ruleset["name"] for ruleset in shown["rulesets"] if ruleset["on"]] == ["audit"]


# -- check -------------------------------------------------------------------------------------------------------------


def test_shipped_policies_hold(here: Run) -> None:
    """Every shipped bundle loads, without a warning."""
    code, out, err = here("policy", "check")
    assert (code, err) == (0, "")
    assert out.startswith("ok: ")


def test_check_takes_a_folder(here: Run, own: Path) -> None:
    """PATH may be the policies file or its folder."""
    assert here("policy", "check", str(own.parent)).code == 0


def test_check_reports_every_error_once(here: Run, own: Path) -> None:
    """Faults of several files are told at once, and a fault that several bundles share is told once, with its place."""
    change(own.parent / "rules" / "grounding.yaml", "exists: false", "exist: false")
    change(own.parent / "rules" / "blame.yaml", "external_defect: true", "external_defct: true")
    code, out, err = here("policy", "check", str(own))
    assert (code, out) == (3, "")
    assert err.count("`exist`") == err.count("`external_defct`") == 1
    assert "grounding.yaml:" in err
    assert "did you mean `exists`?" in err


def test_unused_rule_file_is_a_warning(here: Run, own: Path) -> None:
    """A rule file that no bundle names decides nothing, which is probably not meant."""
    shutil.copy(own.parent / "rules" / "blame.yaml", own.parent / "rules" / "spare.yaml")
    code, _, err = here("policy", "check", str(own))
    assert code == 0
    assert "no bundle names the rule set `spare`" in err
    assert err.startswith("warning: ")


def test_expired_override_is_a_warning(here: Run, own: Path) -> None:
    """An override past its last day is not applied, and that is said with its owner and place."""
    override = "{set: calibration.min_words, to: 9, reason: trial, owner: kim, expires: 2026-01-01}"
    change(own, "    rulesets: [grounding@1", f"    settings: [{override}]\n    rulesets: [grounding@1")
    code, _, err = here("policy", "check", str(own), "--as-of", "2026-06-01")
    assert code == 0
    assert "the override of setting `calibration.min_words` by `kim` expired on 2026-01-01" in err
    assert here("policy", "check", str(own), "--as-of", "2025-06-01").err == ""


def test_warning_as_json(here: Run, own: Path) -> None:
    """Warnings are objects where errors are."""
    shutil.copy(own.parent / "rules" / "blame.yaml", own.parent / "rules" / "spare.yaml")
    err = here("policy", "check", str(own), "--error-format", "json").err
    assert json.loads(err.splitlines()[0])["warning"]["code"] == "policy-unused-file"


def test_check_without_the_file(here: Run) -> None:
    """A policies file that is not there is never replaced by another."""
    assert here("policy", "check", "no-such-policies.yaml").code == 3


# -- test --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the runner return given results instead of running cases."""
    from reflect_gate.policy import cases

    def give(*found: tuple[str, str, bool, str]) -> None:
        made = [cases.CaseResult(ruleset, name, passed, message, "r.cases.yaml", 7) for ruleset, name, passed, message in found]
        monkeypatch.setattr(cases, "run_cases", lambda *_: made)

    return give


def test_shipped_cases_pass(here: Run) -> None:
    """Every case beside the shipped rules passes."""
    code, out, _ = here("policy", "test")
    assert (code, out.splitlines()[-1].endswith("passed, 0 failed")) == (0, True), out


def test_failed_case_is_5(here: Run, results: Callable[..., None]) -> None:
    """A failed case is told with what was expected and where it stands."""
    results(("grounding", "a", True, ""), ("grounding", "b", False, "verdict: expected `x`, got `y`"))
    code, out, _ = here("policy", "test")
    assert code == 5
    assert out == "FAIL grounding/b  r.cases.yaml:7\n     verdict: expected `x`, got `y`\n1 passed, 1 failed\n"


def test_what_could_not_run_is_3(here: Run, results: Callable[..., None]) -> None:
    """A broken case file, or none at all, is not a failed case but an invalid policy."""
    results(("grounding", "", False, "the file holds no cases"))
    assert here("policy", "test").code == 3


def test_no_case_selected_is_3(here: Run) -> None:
    """A pattern that selects nothing proves nothing."""
    code, out, _ = here("policy", "test", "--run", "nothing/at-all")
    assert code == 3
    assert "`nothing/at-all` selects no case" in out


def test_json_results(here: Run, results: Callable[..., None]) -> None:
    """The JSON form counts and lists the cases."""
    results(("grounding", "b", False, "no"))
    document = json.loads(here("policy", "test", "--format", "json").out)
    schemas.check("policy-test", document, "stdout")
    assert (document["passed"], document["failed"], document["cases"][0]["line"]) == (0, 1, 7)


def test_junit_results(here: Run, results: Callable[..., None], tmp_path: Path) -> None:
    """The JUnit form is XML that a CI system can read, written whole to `-o`."""
    results(("grounding", "a", True, ""), ("grounding", "b", False, 'got <"&> \x1b'), ("blame", "c", True, ""))
    target = tmp_path / "report.xml"
    assert here("policy", "test", "--format", "junit", "-o", str(target)).code == 5
    root = ET.fromstring(target.read_text(encoding="utf-8"))  # noqa: S314 - written by the program under test
    assert (root.get("tests"), root.get("failures")) == ("3", "1")
    assert [suite.get("name") for suite in root] == ["grounding", "blame"]
    failure = root.find("./testsuite/testcase[@name='b']/failure")
    assert failure is not None
    assert failure.get("message") == 'got <"&> \\x1b'
