"""The page of complaints names all of them, each with tests that exist, and leaves out no test that was written for one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = re.findall(
    r"^\| (\d+) \| (.+) \| (.+) \| (.+) \|$", (ROOT / "docs" / "complaints.md").read_text(encoding="utf-8"), re.MULTILINE
)
NAMED = [(int(row[0]), test) for row in ROWS for test in re.findall(r"`(tests/[^`]+)`", row[3])]


def functions(file: Path) -> set[str]:
    """Return the names of the test functions of a file."""
    return {node.name for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}


def test_every_complaint_has_a_row_with_a_report_and_a_test() -> None:
    """One to 27, in order."""
    assert [int(number) for number, *_ in ROWS] == list(range(1, 28))
    assert all("](https://github.com/" in complaint for _, complaint, *_ in ROWS)
    assert {number for number, _ in NAMED} == set(range(1, 28))


@pytest.mark.parametrize(("number", "name"), NAMED, ids=lambda value: str(value).rpartition("::")[2])
def test_a_test_that_is_named_exists(number: int, name: str) -> None:
    """A test that is renamed or gone leaves the page; one that is numbered stands in the row of its number."""
    file, _, function = name.partition("::")
    assert function in functions(ROOT / file)
    said = re.match(r"test_(\d+)_", function)
    assert said is None or int(said[1]) == number


def test_no_numbered_test_is_left_out() -> None:
    """What was written for a complaint stands beside it."""
    files = sorted(Path(__file__).parent.glob("test_complaints_*.py"))
    written = {
        f"{file.relative_to(ROOT).as_posix()}::{name}" for file in files for name in functions(file) if re.match(r"test_\d", name)
    }
    assert written
    assert written <= {name for _, name in NAMED}
