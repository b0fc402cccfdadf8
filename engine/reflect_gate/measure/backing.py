"""The `backing` facts: how many cited items back a candidate, by the trust in their check and what it showed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..facts import Fact
from .index import RecordIndex

__all__ = ["backing_facts"]


def backing_facts(cited: Sequence[str], index: RecordIndex) -> list[Fact]:
    """Return one `backing` fact for each oracle, defect and `own` that a cited item has. Measure `backing` 1.1.0.

    Counts distinct ids that the record holds and that may support a cause; nothing is returned where there are none. `own` is
    false for a crash that comes from the check or its harness alone (measure `origin`).
    """
    found = (index.items[name] for name in dict.fromkeys(cited) if name in index.items)
    counts = Counter((item.oracle, item.defect, item.id not in index.foreign) for item in found if item.usable)
    return [("backing", *kind, number) for kind, number in sorted(counts.items())]
