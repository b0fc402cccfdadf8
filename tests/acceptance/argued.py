"""What stays in the shipped bundle though a table says DELETE or HARM, and why: `argued.yaml` beside the verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from reflect_gate.report.sheets import Sheet

__all__ = ["COURSES", "FILE", "TITLE", "argued", "read"]

FILE: Final = Path(__file__).resolve().with_name("argued.yaml")
COURSES: Final = ("stays", "acted", "candidate for removal")
TITLE: Final = "what stays though a table says DELETE"

_OPEN: Final = f"{COURSES[-1]}: nothing measured or asked for speaks for it; it goes unless a corpus is found that it needs"

_QUESTIONED: Final = ("DELETE", "HARM")
_WHERE: Final = {"ablation": "logged corpus", "chains": "logged corpus, in time", "world": "made world"}

Rows = Sequence[Mapping[str, Any]]


def read(path: Path = FILE) -> dict[str, dict[str, dict[str, str]]]:
    """Return table → name → `course` and `why`.

    Raises:
        ValueError: a course is unknown, or a reason is empty.
    """
    found: dict[str, dict[str, dict[str, str]]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    bad = [
        f"{table}: {name}"
        for table, said in found.items()
        for name, one in said.items()
        if table not in _WHERE or one["course"] not in COURSES or not one["why"].strip()
    ]
    if bad:
        raise ValueError(f"not a table, course and reason: {', '.join(bad)}")
    return found


def argued(tables: Mapping[str, Rows], said: Mapping[str, Mapping[str, Mapping[str, str]]]) -> Sheet:
    """Return the table of arguments, in the order of the verdicts.

    Args:
        tables: the rows of `ablation`, `chains` and `world`, each with `name` and `verdict`.
        said: what `read` returns.

    Raises:
        ValueError: a verdict has no argument, or an argument names nothing that is in its table.
    """
    questioned = [(table, row) for table, rows in tables.items() for row in rows if row["verdict"] in _QUESTIONED]
    problems = [f"{row['name']} has no argument ({table})" for table, row in questioned if row["name"] not in said.get(table, {})]
    for table, names in said.items():
        known = {row["name"] for row in tables.get(table, ())}
        problems += [f"{name} is not in the table ({table})" for name in names if name not in known]
    if problems:
        raise ValueError("; ".join(problems))
    rows = [
        (row["name"], _WHERE[table], row["verdict"], said[table][row["name"]]["course"], said[table][row["name"]]["why"].strip())
        for table, row in questioned
    ]
    open_ = any(course == COURSES[-1] for _, _, _, course, _ in rows)
    return Sheet(TITLE, ("left in", "table", "verdict", "course", "why"), rows, notes=(_OPEN,) if open_ else ())
