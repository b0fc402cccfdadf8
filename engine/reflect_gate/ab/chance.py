"""Gates that draw lots: at the gate's share of all records, and at its share of the records with the same evidence.

The first says what admitting so many would give without looking; the second what the evidence alone gives, so that a difference
to it is what reading the reflection added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

from ..corpus.blind import Labelled, cell_of
from ..corpus.figures import Case

__all__ = ["DRAWS", "drawn", "share_of_all", "share_of_evidence"]

DRAWS = 1_000


def share_of_all(admitted: Sequence[bool]) -> list[float]:
    """Return the chance of each record where all have the same."""
    size = len(admitted)
    return [sum(admitted) / size] * size if size else []


def share_of_evidence(records: Sequence[Labelled], admitted: Sequence[bool]) -> list[float]:
    """Return the chance of each record: the admitted share of the records with the same evidence."""
    places = [cell_of(record) for record in records]
    sizes = Counter(places)
    taken = Counter(place for place, chosen in zip(places, admitted, strict=True) if chosen)
    return [taken[place] / sizes[place] for place in places]


def drawn(cases: Sequence[Case], admitted: Sequence[bool], seed: str) -> dict[str, Any]:
    """Return what gates that admit as many at random give: the expectation, and the middle 95 % of `DRAWS` draws."""
    size, rng = sum(admitted), Random(seed)  # noqa: S311 - a draw is to be repeatable, not secret
    found: dict[str, list[float]] = {"precision": [], "harm": [], "recall": []}
    won = [case.helped() for case in cases]
    lost = [case.harmed() for case in cases]
    places, helped, total = range(len(cases)), sum(won), len(cases)
    for _ in range(DRAWS if size else 0):
        chosen = rng.sample(places, size)
        good = sum(won[place] for place in chosen)
        found["precision"].append(good / size)
        found["harm"].append(sum(lost[place] for place in chosen) / size)
        found["recall"].append(good / (helped or 1))
    expected = {"precision": helped / (total or 1), "harm": sum(lost) / (total or 1), "recall": size / (total or 1)}
    return {
        "admitted": size,
        "draws": DRAWS if size else 0,
        **{name: {"expected": round(expected[name], 4), "middle": _middle(values)} for name, values in found.items()},
    }


def _middle(values: Sequence[float]) -> list[float] | None:
    if not values:
        return None
    ordered = sorted(values)
    last = len(ordered) - 1
    return [round(ordered[round(share * last)], 4) for share in (0.025, 0.975)]
