"""`reflect-gate policy lint` and `fmt`: exit codes, formats, what they write and what they leave alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import schemas

Run = Callable[..., Any]
PLANTED = Path(__file__).parents[1] / "policy_tools" / "planted"
AS_OF = "--as-of=2026-06-01"


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A copy of the files with planted faults."""
    return Path(shutil.copytree(PLANTED, tmp_path / "planted"))


def test_shipped_policies_are_clean(here: Run) -> None:
    """No finding is exit code 0."""
    code, out, err = here("policy", "lint")
    assert (code, err) == (0, "")
    assert out.endswith("0 errors, 0 warnings\n")


def test_text_ends_each_line_in_the_id(here: Run, planted: Path) -> None:
    """An error is exit code 3; the line names place, severity, message, and the id and subject that the configuration takes."""
    code, out, _ = here("policy", "lint", str(planted), AS_OF)
    assert code == 3
    line = next(line for line in out.splitlines() if "unused-table" in line)
    assert line.endswith("rules/caution.yaml:28:3: error: no rule reads table `spare` [unused-table: caution/spare]")


def test_warnings_alone_are_0(here: Run, planted: Path) -> None:
    """Only errors decide the exit code."""
    errors = {line.rpartition("[")[2].partition(":")[0] for line in here("policy", "lint", str(planted), AS_OF).out.splitlines()}
    (planted / ".reflect-gate-lint.yaml").write_text(
        "rules:\n" + "".join(f"  {name}: warning\n" for name in sorted(errors) if "-" in name), encoding="utf-8"
    )
    assert here("policy", "lint", str(planted), AS_OF).code == 0


def test_json_holds_to_its_schema(here: Run, planted: Path) -> None:
    """Every finding stands in it with its place."""
    document = json.loads(here("policy", "lint", str(planted), AS_OF, "--format", "json").out)
    schemas.check("policy-lint", document, "stdout")
    assert document["errors"] + document["warnings"] == len(document["findings"]) > 20


def test_github_annotations(here: Run, planted: Path) -> None:
    """Each finding is an annotation of its severity at its line."""
    out = here("policy", "lint", str(planted), AS_OF, "--format", "github").out
    assert "line=28,title=policy lint unused-table::no rule reads table `spare`" in out


def test_fix_repairs_and_reports_the_rest(here: Run, planted: Path) -> None:
    """What is repaired is written and no longer told; a dry run writes nothing."""
    before = (planted / "rules" / "caution.yaml").read_bytes()
    dry = here("policy", "lint", str(planted), AS_OF, "--fix", "--dry-run")
    assert "-      - lesson as l: {words" in dry.out
    assert (planted / "rules" / "caution.yaml").read_bytes() == before
    code, out, err = here("policy", "lint", str(planted), AS_OF, "--fix")
    assert (code, "repaired in" in err) == (3, True)
    assert "unused-alias" not in out
    assert b"lesson as l" not in (planted / "rules" / "caution.yaml").read_bytes()


# -- fmt ---------------------------------------------------------------------------------------------------------------


def test_shipped_files_are_laid_out(here: Run) -> None:
    """The shipped policies are as `fmt` writes them."""
    code, out, err = here("policy", "fmt", "--check")
    assert (code, out) == (0, "")
    assert err.startswith("0 of ")


def test_check_and_diff_write_nothing(here: Run, planted: Path) -> None:
    """`--check` names the file, `--diff` shows the change; both end with 3."""
    path = planted / "rules" / "forgotten.yaml"
    before = path.read_bytes()
    checked, shown = here("policy", "fmt", "--check", str(planted)), here("policy", "fmt", "--diff", str(planted))
    assert (checked.code, checked.out) == (3, f"{path}\n")
    assert (shown.code, "+# yaml-language-server: $schema=../schemas/ruleset.schema.json" in shown.out) == (3, True)
    assert path.read_bytes() == before


def test_fmt_writes_and_is_done(here: Run, planted: Path) -> None:
    """A second run has nothing to do."""
    assert here("policy", "fmt", str(planted)).code == 0
    assert here("policy", "fmt", "--check", str(planted)).code == 0


def test_no_file_is_written_where_one_is_broken(here: Run, planted: Path) -> None:
    """All or nothing: the error is told with its place."""
    path = planted / "rules" / "forgotten.yaml"
    before = path.read_bytes()
    (planted / "rules" / "stale.yaml").write_text("ruleset: [stale\n", encoding="utf-8")
    code, _, err = here("policy", "fmt", str(planted))
    assert (code, "stale.yaml:" in err) == (3, True)
    assert path.read_bytes() == before


def test_file_that_is_no_policy(here: Run, tmp_path: Path) -> None:
    """A file that is named must be a policy file."""
    path = tmp_path / "other.yaml"
    path.write_text("a: 1\n", encoding="utf-8")
    assert here("policy", "fmt", str(path)).code == 3
