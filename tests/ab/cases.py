"""Subjects made by hand, for tests of what is counted."""

from __future__ import annotations

from reflect_gate.ab.cases import Known, Subject
from reflect_gate.corpus.score import Outcome, Verdict

__all__ = ["PLAIN", "subject", "verdict"]

PLAIN = (1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""One failing check that nothing vouches for, as a text-blind gate sees it."""


def verdict(admitted: bool, reason: str = "speculative") -> Verdict:
    """Return a verdict, refused for `reason` unless admitted."""
    return Verdict("id", "task", "admitted" if admitted else "refused", None if admitted else reason, frozenset())


def subject(
    group: str,
    *,
    helped: bool = False,
    harmed: bool = False,
    a: bool = True,
    b: bool = True,
    swapped: bool | None = None,
    seen: tuple[float, ...] = PLAIN,
    reason: str = "speculative",
    cost: float | None = None,
) -> Subject:
    """Return a record of a group that helped, harmed or did neither, and what both bundles said of it."""
    known = Known(Outcome(group, group, harmed, helped and not harmed), group, cost, None)
    return Subject(group, seen, False, known, verdict(a, reason), verdict(b), swapped)
