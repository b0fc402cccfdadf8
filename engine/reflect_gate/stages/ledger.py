"""Stage (b): the failure's signature and whether this failure was explained before (R-b1).

The signature is the join between the ledger's WHAT and the lesson's WHY: SHA-256 over class, message template and site, so that
the same failure in another checkout, for another user or at another line has the same signature.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..facts import Fact
from ._case import Case, Judgement, Stage
from ._record import record_signature
from ._signature import signature, site, template

__all__ = ["STAGE", "conclude", "measure", "record_signature", "signature", "site", "template"]


def measure(case: Case) -> list[Fact]:
    """Return the `signature` fact: whether an admitted lesson of the store view already explains it."""
    return [("signature", bool(case.explaining))]


def conclude(case: Case, judgement: Judgement) -> Mapping[str, Any]:
    """Return `signature, reflected_before, prior_reflection_id`, S2 §3.2."""
    del judgement
    prior = next(iter(case.explaining), None)
    return {"signature": case.signature, "reflected_before": prior is not None, "prior_reflection_id": prior}


STAGE = Stage("ledger", measure, conclude)
