"""What the gate is held against: gates that do not read the reflection, and reflections that belong to other tasks.

A text-blind gate sees the evidence alone: how far the failing checks can be trusted, what they showed, how many failed, and
whether any passed. `best_blind` searches all gates that are a union of such cells, greedily by precision, up to a recall: it is
fitted to the very records that it is scored on, which flatters it.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from reflect_gate import evaluate
from reflect_gate.corpus.reflexion import convert
from reflect_gate.measure.index import RecordIndex

__all__ = ["best_blind", "confusion", "evidence_cell", "fitted_blind", "half", "rates", "swapped_share"]

HELPED, HARMED = "fail->pass", "pass->fail"

Cell = tuple[str, str, int, bool]
"""Highest trust in a failing check, the gravest thing that one showed, failing checks up to 5, whether any check passed."""

_TRUST = ("authoritative", "repeats_example", "self_written", "none")
_GRAVITY = ("crash", "no_result", "wrong_value", "none")


def half(task: str) -> int:
    """Return 0 or 1: the half of the tasks that a task belongs to, by hash."""
    return hashlib.sha256(task.encode()).digest()[0] % 2


def evidence_cell(record: Mapping[str, Any]) -> Cell:
    """Return all that a text-blind gate sees of a record."""
    checks = RecordIndex(record).checks
    failing = [check for check in checks if check.defect != "none"]
    trust = min((_TRUST.index(check.oracle) for check in failing), default=3)
    gravity = min((_GRAVITY.index(check.defect) for check in failing), default=3)
    return _TRUST[trust], _GRAVITY[gravity], min(len(failing), 5), len(failing) < len(checks)


def rates(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return how many, how many helped, precision, harm, and precision within attempts that did fail."""
    counts = Counter(row["transition"] for row in rows)
    size, real = sum(counts.values()), counts[HELPED] + counts["fail->fail"]
    return {
        "records": size,
        "helped": counts[HELPED],
        "precision": round(counts[HELPED] / (size or 1), 3),
        "harm": round(counts[HARMED] / (size or 1), 3),
        "precision_in_real_failures": round(counts[HELPED] / (real or 1), 3),
    }


def best_blind(rows: Sequence[Mapping[str, Any]], helped: int) -> dict[str, float]:
    """Return the rates of the best text-blind gate that admits at least `helped` helpful records, or as many as there are."""
    cells, admitted = _cells(rows), list[Mapping[str, Any]]()
    for cell in _ordered(rows):
        if _helped(admitted) >= helped:
            break
        admitted += cells[cell]
    return rates(admitted)


def fitted_blind(rows: Sequence[Mapping[str, Any]], helped: int) -> dict[str, float]:
    """Return the rates of text-blind gates, each fitted to the other half, at `helped` helpful records in both together."""
    admitted: list[Mapping[str, Any]] = []
    halves = [[row for row in rows if half(row["task"]) == number] for number in (0, 1)]
    orders = [_ordered(part) for part in halves]
    for place in range(max(map(len, orders))):
        for own, order in ((0, orders[1]), (1, orders[0])):
            if place < len(order) and _helped(admitted) < helped:
                admitted += [row for row in halves[own] if row["cell"] == order[place]]
    return rates(admitted)


def _ordered(rows: Sequence[Mapping[str, Any]]) -> list[Cell]:
    """Return the cells with the highest precision first; of equal ones the larger."""
    cells = _cells(rows)
    return sorted(cells, key=lambda cell: (-_precision(cells[cell]), -len(cells[cell])))


def _cells(rows: Sequence[Mapping[str, Any]]) -> dict[Cell, list[Mapping[str, Any]]]:
    cells: dict[Cell, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        cells[row["cell"]].append(row)
    return cells


def _helped(rows: Iterable[Mapping[str, Any]]) -> int:
    return sum(row["transition"] == HELPED for row in rows)


def _precision(rows: Sequence[Mapping[str, Any]]) -> float:
    return _helped(rows) / len(rows)


def swapped_share(rows: Sequence[Mapping[str, Any]], bundle: Any, *, seed: int = 20_240_229) -> dict[str, float]:
    """Return how many reflections are admitted when each stands beside the record of another task; citations are read anew."""
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    partner = dict(zip(order, order[1:] + order[:1], strict=True))
    admitted = judged = 0
    for index, row in enumerate(rows):
        other = _of_other_task(rows, row, partner, index)
        judged += 1
        admitted += evaluate(convert({**row, "reflection_text": other["reflection_text"]}), bundle).status == "admitted"
    return {"records": judged, "admitted": admitted, "share": round(admitted / (judged or 1), 4)}


def _of_other_task(
    rows: Sequence[Mapping[str, Any]], row: Mapping[str, Any], partner: Mapping[int, int], index: int
) -> Mapping[str, Any]:
    place = partner[index]
    for _ in rows:
        if rows[place]["task_id"] != row["task_id"]:
            break
        place = partner[place]
    return rows[place]


def confusion(
    rows: Iterable[Mapping[str, Any]], label_of: Callable[[Mapping[str, Any]], str | None]
) -> dict[str, dict[str, int]]:
    """Return for each hand label how many records were admitted, or refused for which reason."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        label = label_of(row)
        if label is not None:
            table[label][row["status"] if row["status"] != "refused" else str(row["reason"])] += 1
    return {label: dict(sorted(counts.items())) for label, counts in sorted(table.items())}
