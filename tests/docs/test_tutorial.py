"""The tutorial as a reader follows it: its files are written, its edits made, and its commands run by real processes."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
_FENCE = re.compile(
    r"^(?:<!-- (?:file|edit): (?P<file>\S+) -->\n)?```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
_DIGEST = re.compile(r"\b[0-9a-f]{12,64}\b")
SIGNS = importlib.util.find_spec("cryptography") is not None

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the commands are POSIX shell")


class Step(NamedTuple):
    """One fenced block: its kind, the line on which it begins, its text, and the file that it is or edits."""

    kind: str
    line: int
    body: str
    file: str


def steps() -> list[Step]:
    """Return the blocks of the page in its order."""
    text = PAGE.read_text(encoding="utf-8")
    return [
        Step(match["kind"], text.count("\n", 0, match.start()) + 1, match["body"], match["file"] or "")
        for match in _FENCE.finditer(text)
    ]


STEPS = steps()
COMMANDS = [step for step in STEPS if step.kind == "console"]


def edited(text: str, diff: str) -> str:
    """Return `text` after an edit: the lines of `diff` without a `+` must stand in it once, and become those without a `-`."""
    lines = diff.splitlines(keepends=True)
    before, after = ("".join(line[1:] for line in lines if line[0] != sign) for sign in "+-")
    assert text.count(before) == 1, before
    return text.replace(before, after)


def pattern(shown: str) -> str:
    """Return a pattern for the output of a block; `...` alone on a line stands for any lines, else for any part of one."""
    found = ""
    for line in shown.splitlines():
        found += r"(?:.*\n)*?" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + r"\n"
    return found


def written(step: Step, folder: Path) -> None:
    """Write the file of a block, which its folder must hold already, or make its edit."""
    assert step.file, f"line {step.line}: no file is named"
    path = folder / step.file
    assert path.is_file()
    text = step.body if step.kind == "yaml" else edited(path.read_text(encoding="utf-8"), step.body)
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """What the commands of each block print, by its line; the blocks are followed once, one after the other."""
    base = tmp_path_factory.mktemp("tutorial")
    shutil.copytree(ROOT / "docs" / "examples", base / "docs" / "examples")
    names = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(base), "LC_ALL": "C.UTF-8"}
    names |= {"REFLECT_GATE_HOME": str(base / "home"), "REFLECT_GATE_CACHE": str(base / "cache"), "PYTHONUTF8": "1"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REFLECT_GATE_")}
    found: dict[int, str] = {}
    for step in STEPS:
        if step.kind != "console":
            written(step, base / "german")
            continue
        commands = "\n".join(line[2:] for line in step.body.splitlines() if line.startswith("$ "))
        folder = base / "german" if found else base
        done = subprocess.run(
            [shutil.which("bash") or "/bin/sh", "-c", commands],
            cwd=folder,
            env=kept | names,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=120,
        )
        found[step.line] = done.stdout
    return found


@pytest.mark.parametrize("step", COMMANDS, ids=lambda step: f"line-{step.line}")
def test_commands_print_what_the_page_shows(step: Step, outputs: dict[int, str]) -> None:
    """Every line of output that the page shows, apart from digests."""
    if "team.pem" in step.body and not SIGNS:
        pytest.skip("the extra `sign` is not installed")
    shown = "".join(f"{line}\n" for line in step.body.splitlines() if not line.startswith("$ "))
    said = outputs[step.line]
    assert re.fullmatch(pattern(_DIGEST.sub("DIGEST", shown)), _DIGEST.sub("DIGEST", said)), said


def test_each_tool_of_an_author_is_shown() -> None:
    """From why-not to verify, the page goes by every verb that the way needs."""
    verbs = set(re.findall(r"^\$ reflect-gate ((?:policy )?(?:bundle )?[a-z]+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    wanted = {"evaluate", "explain", "doctor", "policy init", "policy new", "policy test", "policy mutate", "policy lint"}
    wanted |= {"policy fmt", "policy diff", "policy shadow", "policy try"} | {
        f"policy bundle {verb}" for verb in ("build", "keygen", "sign", "verify")
    }
    assert wanted <= verbs


def test_a_wrong_output_is_noticed() -> None:
    """The comparison is of whole lines: neither a missing nor an odd line passes."""
    shown = pattern("one\n...\nfour ... six\n")
    assert re.fullmatch(shown, "one\ntwo\nthree\nfour five six\n")
    assert not re.fullmatch(shown, "one\nfour five six\nseven\n")
    assert not re.fullmatch(shown, "two\nfour five six\n")
