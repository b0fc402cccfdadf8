"""`reflect-gate policy schema`, `new`, `doc`, `bench` and `check --confluence`: what they print, write and end with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_gate.report.html import html_page

Run = Callable[..., Any]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Policies with a folder of their own, and nothing in it."""
    (tmp_path / "rules" / "lexicons").mkdir(parents=True)
    path = tmp_path / "policies.yaml"
    path.write_text(
        "policies: 1\ndefault: ours\nrules: rules\nlexicons: rules/lexicons\nbundles:\n  ours: {doc: Ours., rulesets: []}\n",
        encoding="utf-8",
    )
    return path


def test_schema_is_printed(here: Run) -> None:
    """One kind, as JSON."""
    code, out, _ = here("policy", "schema", "rules")
    assert (code, json.loads(out)["title"]) == (0, "Rule set")


def test_schemas_are_written_beside_the_policies(here: Run, own: Path) -> None:
    """All four, where the first lines of the files point."""
    assert here("policy", "schema", "--write", "--policies", str(own)).code == 0
    assert {path.name for path in (own.parent / "schemas").iterdir()} == {
        f"{name}.schema.json" for name in ("ruleset", "lexicon", "policies", "cases")
    }


def test_shipped_schemas_are_not_overwritten(here: Run) -> None:
    """The package keeps its own."""
    code, _, err = here("policy", "schema", "--write")
    assert (code, "[policy-shipped]" in err) == (3, True)


@pytest.mark.parametrize("arguments", [(), ("rules", "--write"), ("rulez",), ("--write", "-o", "x")])
def test_schema_usage(here: Run, arguments: tuple[str, ...]) -> None:
    """A kind or `--write`, not both."""
    assert here("policy", "schema", *arguments).code == 64


def test_new_passes_test_and_lint(here: Run, own: Path) -> None:
    """The first thing an author does leads to a policy that holds."""
    assert here("policy", "new", "--ruleset", "tone", "--lexicon", "slang", "--policies", str(own)).code == 0
    assert here("policy", "new", "tone/too-long", "--policies", str(own)).code == 0
    assert here("policy", "test", str(own.parent / "rules"), "--policies", str(own)).code == 0
    code, out, _ = here("policy", "lint", str(own))
    assert (code, out.splitlines()[-1].endswith("0 errors, 0 warnings")) == (0, True), out
    assert here("policy", "fmt", "--check", str(own.parent)).code == 0


def test_new_dry_run_writes_nothing(here: Run, own: Path) -> None:
    """The diff shows the new files."""
    out = here("policy", "new", "--ruleset", "tone", "--policies", str(own), "--dry-run").out
    assert "+ruleset: tone\n" in out
    assert not (own.parent / "rules" / "tone.yaml").exists()


@pytest.mark.parametrize("arguments", [(), ("tone",), ("tone/a", "--ruleset", "tone")])
def test_new_usage(here: Run, arguments: tuple[str, ...]) -> None:
    """A rule is RULESET/RULE."""
    assert here("policy", "new", *arguments).code == 64


def test_doc_of_own_policies(here: Run, own: Path, tmp_path: Path) -> None:
    """Rules, settings and lexicons stand in the page; a change makes it stale."""
    here("policy", "new", "--ruleset", "tone", "--lexicon", "slang", "--policies", str(own))
    page = tmp_path / "rules.md"
    assert here("policy", "doc", "--policies", str(own), "-o", str(page)).code == 0
    told = page.read_text(encoding="utf-8")
    assert all(name in told for name in ("`too-many-slang`", "`tone.max_hits`", "### slang"))
    assert here("policy", "doc", "--policies", str(own), "-o", str(page), "--check").code == 0
    here("policy", "new", "tone/too-long", "--policies", str(own))
    code, _, err = here("policy", "doc", "--policies", str(own), "-o", str(page), "--check")
    assert (code, "write it again" in err) == (3, True)


def test_doc_as_html(here: Run, own: Path) -> None:
    """One file, without scripts."""
    here("policy", "new", "--ruleset", "tone", "--policies", str(own))
    out = here("policy", "doc", "--policies", str(own), "--format", "html").out
    assert out.startswith("<!doctype html>")
    assert "<code>too-many-sentences</code>" in out
    assert "<script" not in out


def test_html_shows_what_texts_hold() -> None:
    """A doc with markup is shown, not read; a bar in a cell stays one cell."""
    page = html_page("# A <b>\n\n| A | B |\n|---|---|\n| `<i>` | x \\| y |\n\n[a](b.md)\n")
    assert '<h1 id="a-b">A &lt;b&gt;</h1>' in page
    assert "<td><code>&lt;i&gt;</code></td><td>x | y</td>" in page
    assert '<a href="b.md">a</a>' in page


def test_confluence_of_own_policies(here: Run, own: Path) -> None:
    """The number of cases and rounds is said."""
    here("policy", "new", "--ruleset", "tone", "--policies", str(own))
    code, out, _ = here("policy", "check", str(own), "--confluence", "--rounds", "2")
    assert (code, out.splitlines()[-1]) == (0, "ok: 2 cases come out alike in 2 other orders of rules and facts")


def test_bench_saves_and_compares(here: Run, own: Path, tmp_path: Path) -> None:
    """The same figures are no change; a dearer rule is exit code 5."""
    here("policy", "new", "--ruleset", "tone", "--policies", str(own))
    kept = tmp_path / "costs.json"
    assert here("policy", "bench", "--policies", str(own), "--save", str(kept)).code == 0
    code, out, _ = here("policy", "bench", "--policies", str(own), "--compare", str(kept))
    assert (code, out) == (0, "no rule's cost changed\n")
    figures = json.loads(kept.read_text(encoding="utf-8"))
    figures["rules"][0]["conditions"] -= 1
    kept.write_text(json.dumps(figures), encoding="utf-8")
    code, out, err = here("policy", "bench", "--policies", str(own), "--compare", str(kept))
    assert (code, "tone/too-many-sentences" in out, "1 rules cost over 10 %" in err) == (5, True, True)


def test_bench_without_figures_to_compare(here: Run, own: Path) -> None:
    """A file that is not there is no clean comparison."""
    assert here("policy", "bench", "--policies", str(own), "--compare", "no-such.json").code == 1
