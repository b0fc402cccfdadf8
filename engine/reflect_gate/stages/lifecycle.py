"""Stage (g): the level of an admitted lesson and the red flag on outward blame (R-g2).

Every lesson is born episodic; promotion, demotion and retirement run on a store's outcome statistics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..facts import Fact
from ..measure._pattern import Pattern
from ._case import Case, Judgement, Stage
from ._record import items

__all__ = ["STAGE", "conclude", "measure"]

_FOREIGN = Pattern(
    r"(?:^|[/\\])(?:site-packages|dist-packages|node_modules|vendor|third_party|\.cargo|pkg/mod|usr/(?:lib|include))[/\\]"
)


def _external(case: Case) -> bool:
    cited = set(case.reflection["evidence_ids"])
    return any(
        item["id"] in cited
        and item.get("oracle") == "authoritative"
        and case.index.defects[item["id"]] != "none"
        and _FOREIGN.search(str(item.get("path", ""))) is not None
        for item in items(case.record)
    )


def measure(case: Case) -> list[Fact]:
    """Return the `blame` fact: what could clear a candidate that blames outward."""
    return [("blame", case.precedents.corroborating, _external(case))]


def conclude(case: Case, judgement: Judgement) -> Mapping[str, Any]:
    """Return `level, action, superseded_by, red_flag_class, confidence_cap`, S2 §3.7."""
    del case
    flagged = judgement.verdict == "redflag"
    return {
        "level": "episodic",
        "action": "redflag" if flagged else "admit",
        "superseded_by": None,
        "red_flag_class": flagged,
        "confidence_cap": "lowest" if flagged else None,
    }


STAGE = Stage("lifecycle", measure, conclude)
