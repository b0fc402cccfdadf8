"""Gates that do not read the reflection: what the evidence alone would have admitted, the fair thing to hold a gate against.

A text-blind gate sees how many checks failed and passed, how far they can be trusted, and what they showed. Three bounded
families are searched: conjunctions of at most three thresholds, and unions of cells, fine and coarse (all combinations of what
was seen, taken greedily by precision). Each is scored on the records that it was fitted to, which flatters it, and on tasks that
it was not fitted to.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

from ..measure.index import RecordIndex

__all__ = ["FAMILIES", "FOLDS", "Fitted", "Labelled", "cell_of", "features", "fold_of", "held_out", "in_sample"]

FOLDS = 5
"""Groups of tasks; each is judged by a gate that was fitted to the other four."""

CONJUNCTS = 3
THRESHOLDS = 4
"""Thresholds of a feature that are tried: quantiles of its values."""

_FIRM = ("authoritative", "repeats_example")
_PASSING_KEPT = 1


class Labelled(NamedTuple):
    """A record as a text-blind gate sees it, its task, and whether the reflection on it helped."""

    task: str
    features: tuple[float, ...]
    helped: bool


NAMES = ("failing", "passing", "failing-share", "firm", "firm-share", "crashes", "no-results", "defect-share", "user")

Gate: TypeAlias = Callable[[Labelled], bool]


class Fitted(NamedTuple):
    """A gate that was fitted, and what it asks of a record in words."""

    gate: Gate
    told: str


Fit: TypeAlias = Callable[[Sequence[Labelled], float], Fitted]


def features(record: Mapping[str, Any]) -> tuple[float, ...]:
    """Return what a text-blind gate sees of a record, in the order of `NAMES`; shares are of all or of the failing checks."""
    index = RecordIndex(record)
    failing, checks = index.failing, index.checks
    firm = sum(item.oracle in _FIRM for item in failing)
    crashes = sum(item.defect == "crash" for item in failing)
    empty = sum(item.defect == "no_result" for item in failing)
    size = len(failing) or 1
    user = sum(item.component == "user" for item in index.items.values())
    shares = (len(failing) / (len(checks) or 1), firm / size, (crashes + empty) / size)
    passing = len(checks) - len(failing)
    return len(failing), passing, shares[0], firm, shares[1], crashes, empty, shares[2], user


def fold_of(task: str, folds: int = FOLDS) -> int:
    """Return the group of a task among `folds`, by hash: it depends on nothing but the task."""
    return hashlib.sha256(task.encode("utf-8", "surrogatepass")).digest()[0] % folds


def _thresholds(records: Sequence[Labelled], feature: int) -> list[float]:
    values = sorted({record.features[feature] for record in records})
    if len(values) <= THRESHOLDS:
        return values
    return [values[round(step * (len(values) - 1) / THRESHOLDS)] for step in range(1, THRESHOLDS + 1)]


def _predicates(records: Sequence[Labelled]) -> Iterator[tuple[Fitted, int]]:
    """Yield each threshold with the set of records that pass it, as the bits of a number."""
    for feature in range(len(NAMES)):
        for threshold in _thresholds(records, feature):
            for sign in (1, -1):
                gate = _threshold(feature, threshold, sign)
                bits = sum(1 << place for place, record in enumerate(records) if gate(record))
                if bits:
                    yield Fitted(gate, f"{NAMES[feature]} {'≥' if sign > 0 else '≤'} {threshold:g}"), bits


def _threshold(feature: int, threshold: float, sign: int) -> Gate:
    return lambda record: sign * record.features[feature] >= sign * threshold


def conjunctions(records: Sequence[Labelled], recall: float) -> Fitted:
    """Return the conjunction of up to `CONJUNCTS` thresholds that is the most precise on `records` at no less than `recall`."""
    distinct: dict[int, Fitted] = {}
    for gate, bits in _predicates(records):
        distinct.setdefault(bits, gate)
    helped = sum(1 << place for place, record in enumerate(records) if record.helped)
    needed = recall * helped.bit_count()
    best: tuple[float, int, tuple[int, ...]] = (-1.0, 0, ())
    useful = [bits for bits in distinct if (bits & helped).bit_count() >= needed]
    for size in range(1, CONJUNCTS + 1):
        for chosen in combinations(useful, size):
            bits = chosen[0]
            for other in chosen[1:]:
                bits &= other
            won = (bits & helped).bit_count()
            if bits and won >= needed and (won / bits.bit_count(), won) > best[:2]:
                best = (won / bits.bit_count(), won, chosen)
    asked = [distinct[bits] for bits in best[2]]
    return Fitted(lambda record: bool(asked) and all(one.gate(record) for one in asked), " and ".join(one.told for one in asked))


Cell: TypeAlias = tuple[float, ...]


def cell_of(record: Labelled) -> Cell:
    """Return the fine cell of a record: failing checks up to 5, any passing, firm, crashed and blank ones up to 2, user."""
    failing, passing, _, firm, _, crashes, empty, _, user = record.features
    return min(failing, 5), min(passing, _PASSING_KEPT), min(firm, 2), min(crashes, 2), min(empty, 2), min(user, 1)


def coarse_of(record: Labelled) -> Cell:
    """Return the coarse cell: whether a failing check is firm, the gravest thing shown, failing up to 5, whether any passed."""
    failing, passing, _, firm, _, crashes, empty, _, _ = record.features
    gravest = 3 if crashes else 2 if empty else min(failing, 1)
    return min(firm, 1), gravest, min(failing, 5), min(passing, _PASSING_KEPT)


def _union(records: Sequence[Labelled], recall: float, cell: Callable[[Labelled], Cell]) -> Fitted:
    """Return the union of cells, the most precise first, that reaches `recall` on `records`."""
    counted: dict[Cell, list[int]] = defaultdict(lambda: [0, 0])
    for record in records:
        counted[cell(record)][0] += record.helped
        counted[cell(record)][1] += 1
    needed, won, admitted = recall * sum(record.helped for record in records), 0, set()
    for key, (helped, size) in sorted(counted.items(), key=lambda one: (-one[1][0] / one[1][1], -one[1][1], one[0])):
        if won >= needed or not size:
            break
        admitted.add(key)
        won += helped
    return Fitted(lambda record: cell(record) in admitted, f"{len(admitted)} of {len(counted)} combinations")


def cells(records: Sequence[Labelled], recall: float) -> Fitted:
    """Return the union of fine cells that reaches `recall` on `records`."""
    return _union(records, recall, cell_of)


def coarse_cells(records: Sequence[Labelled], recall: float) -> Fitted:
    """Return the union of coarse cells that reaches `recall` on `records`."""
    return _union(records, recall, coarse_of)


FAMILIES: Mapping[str, Fit] = {"conjunction": conjunctions, "cells": cells, "coarse cells": coarse_cells}
"""The families that are searched, by name."""


def in_sample(records: Sequence[Labelled], recall: float, fit: Fit) -> list[bool]:
    """Return what the gate admits that was fitted to these very records."""
    gate = fit(records, recall).gate
    return [gate(record) for record in records]


def held_out(records: Sequence[Labelled], recall: float, fit: Fit, folds: int = FOLDS) -> list[bool]:
    """Return what is admitted of each group of tasks by the gate that was fitted to the other groups."""
    places = [fold_of(record.task, folds) for record in records]
    gates = {}
    for fold in sorted(set(places)):
        others = [record for record, place in zip(records, places, strict=True) if place != fold]
        gates[fold] = fit(others, recall).gate
    return [gates[place](record) for record, place in zip(records, places, strict=True)]
