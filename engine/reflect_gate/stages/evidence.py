"""Stage (a): deterministic assembly of the evidentiary record, and its facts (R-a1).

`assemble` makes the record of a failure termination; `measure` states what the record holds. No model narrates either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..facts import Fact
from ._case import Case, Judgement, Stage
from ._record import assemble, complete, items

__all__ = ["STAGE", "assemble", "conclude", "measure"]


def measure(case: Case) -> list[Fact]:
    """Return one `record` fact and one `item` fact for each citable item."""
    record = case.record
    found = items(record)
    observed = sum(1 for item in found if item["component"] in {11, 12})
    facts: list[Fact] = [("record", record["outcome"] or "escalated", complete(record), observed, len(found))]
    defects = case.index.defects
    facts += [
        (
            "item",
            item["id"],
            item["kind"],
            str(item["component"]),
            item["seq"],
            str(item.get("oracle", "none")),
            defects[item["id"]],
        )
        for item in found
    ]
    return facts


def conclude(case: Case, judgement: Judgement) -> Mapping[str, Any]:
    """Return the record itself, S2 §3.1."""
    del judgement
    return case.record


STAGE = Stage("evidence", measure, conclude)
