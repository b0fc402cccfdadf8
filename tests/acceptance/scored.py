"""The logged reflections with both outcomes known, as requests beside what became of them; the part kept apart stands apart."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

if __package__:
    from .corpora import rows
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.acceptance.corpora import rows

from reflect_gate.ab.cases import frozen
from reflect_gate.corpus._intervals import bootstrap, quotient
from reflect_gate.corpus.figures import Case
from reflect_gate.corpus.reflexion import convert
from reflect_gate.report.sheets import Sheet, markdown

__all__ = ["Parts", "Rate", "Scored", "ends", "options", "parts", "put", "rate", "shown"]


class Scored(NamedTuple):
    """A request and what became of it."""

    request: Mapping[str, Any]
    case: Case


class Parts(NamedTuple):
    """The records that may be looked at, and one task in five that is reported last."""

    open: list[Scored]
    apart: list[Scored]


def parts(base: Path | None = None) -> Parts:
    """Return the records of `reflexion_programming` with both outcomes known, in the order of the file."""
    found = Parts([], [])
    for row in rows("reflexion_programming", base):
        before, after = row.get("before_outcome"), row.get("next_outcome")
        if isinstance(before, bool) and isinstance(after, bool):
            one = Scored(convert(row), Case(row["task_id"], before, after))
            (found.apart if frozen(one.case.task) else found.open).append(one)
    return found


class Rate(NamedTuple):
    """A share, and its 95 % interval over resampled tasks; `None` where it is not defined."""

    value: float | None
    ends: tuple[float, float] | None


def rate(cases: Sequence[Case], weights: Sequence[float], hit: Callable[[Case], bool], seed: str, resamples: int = 0) -> Rate:
    """Return the share of what is admitted that `hit` says yes to; a weight is the chance with which a record is admitted."""
    found = [(case.task, (weight * hit(case), weight)) for case, weight in zip(cases, weights, strict=True)]
    value = quotient([sum(counts[place] for _, counts in found) for place in (0, 1)])
    return Rate(value, bootstrap(found, quotient, seed, resamples) if resamples else None)


def shown(value: float | None, digits: int = 1, by: float = 100.0) -> str:
    """Return a share as per cent."""
    return "-" if value is None else f"{value * by:.{digits}f}"


def ends(found: Sequence[float] | None, by: float = 100.0) -> str:
    """Return an interval as per cent."""
    return "-" if found is None else f"{found[0] * by:.1f} to {found[1] * by:.1f}"


def options(doc: str | None) -> argparse.ArgumentParser:
    """Return the options that scripts on these records share."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, default=None)
    parser.add_argument("--resamples", type=int, default=1_000)
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown")
    return parser


def put(told: Any, sheets: Sequence[Sheet], form: str) -> None:
    """Print a document, or its tables."""
    if form == "json":
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
        return
    sys.stdout.write("\n\n".join("\n".join(markdown(sheet, 2)) for sheet in sheets) + "\n")
