"""The inference sections: 40 rules over 25 facts, and the shipped `grounding` rule set over few and many items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from .cases import CASES
from .table import Budget, Row, Section
from .timing import alternate, ratio, spread
from .workers import installed, samplers

__all__ = ["BUDGETS", "forty", "grounding"]

BUDGETS: Final = (("durable", "clipspy", 2.0), ("durable", "regorus", 1.1), ("compiled", "durable", 5.0))
"""An engine, the one that it is held against, and how many times as fast it must be."""


def _rows(times: Mapping[str, list[float]], prefix: str = "") -> list[Row]:
    yardstick = times.get("clipspy")
    return [Row(prefix + name, spread(own), ratio(yardstick, own) if yardstick else None) for name, own in times.items()]


def forty(rounds: int, seconds: float, engines: Sequence[str] = ()) -> Section:
    """Run the 40 rules; every engine agrees on 200 fact sets, findings and derivations, before a time counts."""
    with samplers("forty", engines or installed(), seconds) as (own, found):
        times = alternate(own, rounds)
    budgets = [
        Budget(f"{ours} against {other}", ratio(times[other], times[ours]), ">=", bound)
        for ours, other, bound in BUDGETS
        if ours in times and other in times
    ]
    note = f"one evaluation of 40 rules over 25 facts (200 sets, {found} findings); ratio: how many times as fast as clipspy"
    return Section("forty", note, _rows(times), budgets)


def grounding(rounds: int, seconds: float) -> Section:
    """Run the rule set `grounding`; every engine agrees on the findings of each fact set before a time counts."""
    rows: list[Row] = []
    for items in (8, 200):
        with samplers(f"grounding-{items}", installed(), seconds) as (own, _):
            rows += _rows(alternate(own, rounds), f"4 claims × {items} items, ")
    rules = len(CASES["grounding-8"]().program.rules)
    note = f"the {rules} rules of the shipped rule set; peers give findings, ours every firing; ratio: times as fast as clipspy"
    return Section("grounding", note, rows)
