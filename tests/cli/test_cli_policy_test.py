"""`reflect-gate policy test`: formats, coverage and its threshold, watching."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import schemas
from reflect_gate.policy import watching
from reflect_gate.resources import data_path

Run = Callable[..., Any]

BLAME = str(data_path("rules", "blame.cases.yaml"))


@pytest.mark.parametrize(
    ("format_", "begins"),
    [("tap", "TAP version 14\n"), ("github", ""), ("sarif", '{"$schema":'), ("lcov", "TN:\nSF:"), ("junit", "<?xml ")],
)
def test_formats_of_a_passing_run(here: Run, format_: str, begins: str) -> None:
    """Every format is printed, and the exit code is that of the cases."""
    code, out, err = here("policy", "test", BLAME, "--format", format_)
    assert (code, err, out.startswith(begins)) == (0, "", True)


def test_coverage_is_printed_after_the_results(here: Run) -> None:
    """The shares, rounded down, and what is missing with its place."""
    code, out, _ = here("policy", "test", BLAME, "--coverage")
    assert code == 0
    assert "conditions both ways" in out.partition(" passed, 0 failed")[2]


def test_coverage_as_json_holds_to_its_schema(here: Run) -> None:
    """The document of the results has the coverage in it."""
    document = json.loads(here("policy", "test", BLAME, "--coverage", "--format", "json").out)
    schemas.check("policy-test", document, "stdout")
    assert [share["kind"] for share in document["coverage"]["shares"]][:2] == ["rules", "conditions"]


def test_coverage_below_the_threshold_is_5(here: Run) -> None:
    """A run of one case of many covers little."""
    code, _, err = here("policy", "test", BLAME, "--run", "blame/another-lexicon", "--threshold", "95")
    assert code == 5
    assert "coverage of rules and conditions is below 95 %" in err


def test_annotated_listing(here: Run) -> None:
    """The rule file stands in the output, line by line."""
    out = here("policy", "test", BLAME, "--annotate").out
    assert any("fired" in line and "- id: outward-blame" in line for line in out.splitlines())


@pytest.mark.parametrize(
    "arguments",
    [
        ("--threshold", "101"),
        ("--threshold", "many"),
        ("--coverage", "--format", "tap"),
        ("--annotate", "--format", "json"),
    ],
)
def test_what_does_not_go_together_is_64(here: Run, arguments: tuple[str, ...]) -> None:
    """A wrong wish is a usage error, not a run that ignores it."""
    assert here("policy", "test", BLAME, *arguments).code == 64


def test_broken_expression_is_3(here: Run) -> None:
    """`--run` with a broken expression selects nothing and says why."""
    code, _, err = here("policy", "test", BLAME, "--run", "/(/")
    assert (code, "[run-pattern]" in err) == (3, True)


def test_watch_runs_again_after_a_change(here: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once at the start, once for each change, until it is interrupted."""

    def changes(paths: Callable[[], list[Path]]) -> Iterator[list[str]]:
        assert Path(BLAME) in map(Path, paths())
        yield ["rules/blame.yaml"]
        raise KeyboardInterrupt

    monkeypatch.setattr(watching, "changes", changes)
    code, out, err = here("policy", "test", BLAME, "--watch")
    assert code == 130
    assert out.count(" passed, 0 failed") == 2
    assert "changed: rules/blame.yaml" in err


def test_watch_waits_out_a_broken_policy(here: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file that is half written is told and does not end the watch."""
    broken = tmp_path / "policies.yaml"
    broken.write_text("policies: 2\n", encoding="utf-8")

    def changes(_paths: object) -> Iterator[list[str]]:
        yield ["policies.yaml"]
        raise KeyboardInterrupt

    monkeypatch.setattr(watching, "changes", changes)
    code, _, err = here("policy", "test", "--policies", str(broken), "--watch")
    assert code == 130
    assert err.count("exit code would be 3") == 2
