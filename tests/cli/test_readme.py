"""The README's commands do what it shows. `.ci/run` runs the two blocks that set up an environment; the others run here."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import load_bundle, schemas

ROOT = Path(__file__).parents[2]
_MODULE = runpy.run_path(str(ROOT / "tests" / "docs" / "readme_blocks.py"))
SETTING_UP = {"run", "test"}
README = (ROOT / "README.md").read_text(encoding="utf-8")
YAML = re.findall(r"^```yaml\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
BLOCKS: list[Any] = _MODULE["blocks"](README)
USAGE = [block for block in BLOCKS if block.name not in SETTING_UP]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.json"))


def shown(line: str) -> str:
    """Return a pattern for a line of output; `...` stands for the rest of what is there, alone on a line for any lines."""
    if line == "...":
        return r"(?:.*\n)*?"
    return ".*".join(re.escape(part) for part in line.split("...")) + r"\n"


def test_the_blocks_that_ci_runs_are_there() -> None:
    """One command sets up and runs the main job, one sets up and passes the tests."""
    assert [block.name for block in BLOCKS if block.name in SETTING_UP] == ["run", "test"]
    assert all(len(block.commands) == 1 for block in BLOCKS if block.name in SETTING_UP)


@pytest.mark.skipif(os.name != "posix", reason="the blocks are POSIX shell")
@pytest.mark.parametrize("block", USAGE, ids=lambda block: f"line-{block.line}")
def test_a_block_shows_what_its_commands_print(block: Any, tmp_path: Path) -> None:
    """The commands of a block, run in a copy of what they read, print the lines that the block shows."""
    for name in ("docs", "rules"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shell = shutil.which("bash") or "/bin/sh"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {
        "PATH": path,
        "HOME": str(tmp_path),
        "REFLECT_GATE_HOME": str(tmp_path / "home"),
        "REFLECT_GATE_CACHE": str(tmp_path / "cache"),
    }
    done = subprocess.run(
        [shell, "-c", "\n".join(block.commands)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert re.fullmatch("".join(shown(line) for line in block.output), done.stdout), done.stdout + done.stderr
    assert "error:" not in done.stderr


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_a_valid_request(example: Path) -> None:
    """The requests that the README shows pass their schema."""
    schemas.check("request", json.loads(example.read_bytes()), example.name)
    assert json.loads(example.read_bytes())["record"]["traces"]


def test_the_rule_that_is_shown_is_the_shipped_one() -> None:
    """A rule in the README is a quotation of the rule file, not a copy that ages."""
    (rule,) = [text for text in YAML if text.startswith("  - id:")]
    assert rule in (ROOT / "rules" / "grounding.yaml").read_text(encoding="utf-8")


def test_the_policies_that_are_shown_load(tmp_path: Path) -> None:
    """A policy author may start from the README: the override applies until it expires."""
    (text,) = [text for text in YAML if text.startswith("policies:")]
    own = tmp_path / "policies.yaml"
    own.write_text(text, encoding="utf-8")
    before, after = (load_bundle(policies=own, as_of=day, cache=False) for day in ("2027-06-30", "2027-07-01"))
    assert str(before.setting("grounding.min_anchor_overlap")) == "0.5"
    assert after.setting("grounding.min_anchor_overlap") == load_bundle(cache=False).setting("grounding.min_anchor_overlap")
