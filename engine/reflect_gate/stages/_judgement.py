"""What the rules of one stage said."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Finding", "Judgement"]


class Finding(NamedTuple):
    """What one rule said: its stage's `verdict`, the reason code, and what it is about (an item id or a field)."""

    rule: int
    verdict: str
    reason: str
    about: str


class Judgement(NamedTuple):
    """A stage's verdict and the findings that its rules derived, in a fixed order."""

    verdict: str
    findings: tuple[Finding, ...]
