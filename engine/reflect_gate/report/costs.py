"""What rules cost: a table for people, a document to keep and compare with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ._paint import Paint
from ._safe import plain

__all__ = ["BENCH_SCHEMA", "changes_text", "costs_document", "costs_text"]

BENCH_SCHEMA = "urn:reflect-gate:schema:policy-bench:1"


class Cost(Protocol):
    """A rule with its place, the runs that tried it, conditions looked at, the most in one run, and firings."""

    @property
    def rule(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def runs(self) -> int: ...
    @property
    def conditions(self) -> int: ...
    @property
    def most(self) -> int: ...
    @property
    def fired(self) -> int: ...


class Change(Protocol):
    """A rule and its cost a run, in hundredths, before and after."""

    @property
    def rule(self) -> str: ...
    @property
    def before(self) -> int | None: ...
    @property
    def after(self) -> int | None: ...
    @property
    def percent(self) -> int: ...


def costs_document(costs: Sequence[Cost]) -> dict[str, Any]:
    """Return the costs as `policy-bench.schema.json` has them."""
    rules = [
        {
            "rule": cost.rule,
            "line": cost.line,
            "runs": cost.runs,
            "conditions": cost.conditions,
            "most": cost.most,
            "fired": cost.fired,
        }
        for cost in costs
    ]
    return {"schema": BENCH_SCHEMA, "conditions": sum(cost.conditions for cost in costs), "rules": rules}


def costs_text(costs: Sequence[Cost], paint: Paint) -> str:
    """Return a line a rule, the dearest first."""
    width = max((len(cost.rule) for cost in costs), default=4)
    lines = [paint(f"{'rule':<{width}}  conditions  a run   most  fired", "bold")]
    for cost in costs:
        figures = f"{cost.conditions:>10}  {_hundredths(cost.conditions * 100 // cost.runs):>5}  {cost.most:>5}  {cost.fired:>5}"
        lines.append(f"{plain(cost.rule):<{width}}  {figures}")
    lines.append(f"{len(costs)} rules, {sum(cost.conditions for cost in costs)} conditions")
    return "\n".join(lines) + "\n"


def changes_text(changes: Sequence[Change], threshold: int, paint: Paint) -> str:
    """Return a line for each rule whose cost a run changed; a growth beyond the threshold stands out."""
    if not changes:
        return "no rule's cost changed\n"
    width = max(len(change.rule) for change in changes)
    lines = []
    for change in changes:
        growth = f"{change.percent:+d} %" if change.before and change.after is not None else "new" if change.after else "gone"
        told = f"{plain(change.rule):<{width}}  {_hundredths(change.before):>7} -> {_hundredths(change.after):>7}  {growth}"
        lines.append(paint(told, "red") if change.percent > threshold else told)
    return "\n".join(lines) + "\n"


def _hundredths(number: int | None) -> str:
    return "-" if number is None else f"{number // 100}.{number % 100:02}"
