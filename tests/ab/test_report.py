"""What is shipped follows the report (R-x3)."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from reflect_gate.ab.deciding import shipped
from reflect_gate.capture.route import DEFAULT_ROUTE
from reflect_gate.resources import data_path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "ab-report.md"

# The scripts import one another by name, as they do when they are run.
sys.path.insert(0, str(ROOT / "tests" / "acceptance"))
ab_report, corpora = (importlib.import_module(name) for name in ("ab_report", "corpora"))


def reported() -> str:
    """Return the bundle that the page stands behind."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(ab_report.MARK)]
    assert len(lines) == 1
    name: str = lines[0].removeprefix(ab_report.MARK).strip("`")
    return name


@pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")
def test_the_shipped_default_is_what_the_report_decided() -> None:
    """R-x3: change the default and the report together."""
    policies: dict[str, Any] = yaml.safe_load(data_path("policies.yaml").read_text(encoding="utf-8"))
    assert policies["default"] == reported()
    assert ("introspect" if reported() == "introspect" else "15reflect") == DEFAULT_ROUTE


@pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")
def test_the_report_prints_every_input_of_the_rule() -> None:
    """R-m6: each comparison with all inputs, and the part that is kept apart last."""
    text = PAGE.read_text(encoding="utf-8")
    for name in ("lesson-admission precision", "rejected as ungrounded", "cost", "tokens", "reads the reflection"):
        assert text.count(f"\n| {name} |") == len(ab_report.CONTESTS) + len(ab_report.BESIDE)
    assert text.rindex("\n## Ablation of") < text.index("\n## Kept apart: ")
    assert "\n## " not in text[text.rindex("\n## Kept apart: ") + 1 :]


@pytest.mark.slow
@pytest.mark.corpora
@pytest.mark.skipif(not corpora.folder().is_dir(), reason="the corpora are not beside this checkout")
def test_the_corpora_still_say_so(tmp_path: Path) -> None:
    """R-x3: the comparisons made again leave the bundle that the page names."""
    files = ab_report.prepared(tmp_path, corpora.folder())["reflexion_programming"]
    more = ("--resamples", "300")
    contests = [ab_report.compared(tmp_path, files, a, b, *more) for a, b in ab_report.CONTESTS]
    assert shipped(contests, ab_report.BASELINE) == reported()
