"""The decision rule, with every input to it (S2 §7.4, R-m6), and the targets beyond it.

The rule asks four things; a fifth guards it: a gate that admits another task's reflection as readily as the right one has not
read it, and cannot win (R-m1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["HEALTHY", "MOST_SPENT", "RULE", "best_blind", "decide", "shipped", "targets"]

RULE: Final = (
    "a wins if its lesson-admission precision is strictly above b's, and it rejects a healthy share of candidates as ungrounded"
    " and no less than b does, and cost and tokens are at most 1.5 times b's; and it must have read the reflections"
)

HEALTHY: Final = (0.1, 0.95)
"""Least and highest share of candidates that a gate rejects which neither stamps nor blocks everything."""

MOST_SPENT: Final = 1.5

Input = dict[str, Any]


def decide(section: Mapping[str, Any], names: tuple[str, str]) -> dict[str, Any]:
    """Return each input with what is asked of it and whether it holds, whether `a` wins, and which bundle is to be used.

    `section` is what `comparing.section` returns of the records that are not kept apart.
    """
    inputs = [_key(section), _rejection(section), *_spending(section), _reading(section)]
    wins = all(one["holds"] for one in inputs)
    return {"rule": RULE, "inputs": inputs, "wins": wins, "adopt": names[0] if wins else names[1]}


def shipped(contests: Sequence[Mapping[str, Any]], baseline: str) -> str:
    """Return the bundle that a series of comparisons leaves in place, starting from `baseline`.

    Each comparison is an `ab` document whose `b` is what the ones before it left; one against another bundle is passed over.
    """
    holder = baseline
    for contest in contests:
        if contest["arms"]["b"]["name"] == holder:
            holder = contest["decision"]["adopt"]
    return holder


def _input(
    what: str, needed: str, a: float | None, b: float | None, compared: Mapping[str, Any] | None, holds: bool, note: str = ""
) -> Input:
    return {
        "what": what,
        "needed": needed,
        "a": a,
        "b": b,
        "value": None if compared is None else compared["value"],
        "cluster": None if compared is None else compared["cluster"],
        "holds": holds,
        "note": note,
    }


def _lower_above(compared: Mapping[str, Any], least: float) -> bool:
    """Return whether the value and the lower end of its interval are above `least`; without an interval nothing is shown."""
    value, ends = compared["value"], compared["cluster"]
    return value is not None and value > least and ends is not None and ends[0] > least


def _key(section: Mapping[str, Any]) -> Input:
    a, b = (section["gates"][arm]["precision"]["share"] for arm in "ab")
    compared = section["compared"]["precision_difference"]
    needed = "a above b, with the interval of the paired difference above 0"
    note = "" if section["scored"] else "no record has both outcomes, so that nothing is known"
    if section["scored"] and a is None:
        note = "a admits no record with both outcomes"
    return _input("lesson-admission precision", needed, a, b, compared, _lower_above(compared, 0.0), note)


def _rejection(section: Mapping[str, Any]) -> Input:
    a, b = (section["rejected"][arm]["share"] for arm in "ab")
    holds = a is not None and b is not None and HEALTHY[0] <= a <= HEALTHY[1] and a >= b
    needed = f"from {HEALTHY[0]:g} to {HEALTHY[1]:g}, and no less than b"
    return _input("rejected as ungrounded", needed, a, b, section["compared"]["rejected_difference"], holds)


def _spending(section: Mapping[str, Any]) -> list[Input]:
    told = []
    for name in ("cost", "tokens"):
        spent = section["spending"][name]
        needed = f"a at most {MOST_SPENT:g} times b"
        compared = {"value": spent["ratio"], "cluster": None}
        told.append(_input(name, needed, spent["mean"], spent["mean"], compared, spent["ratio"] <= MOST_SPENT, spent["note"]))
    return told


def _reading(section: Mapping[str, Any]) -> Input:
    swapped = section["swapped"]
    needed = "a admits fewer swapped reflections than own ones, with the interval of the difference above 0"
    a, b = swapped["own"]["share"], swapped["swapped"]["share"]
    note = "a: own reflections, b: those of other tasks beside the same evidence"
    if not swapped["own"]["n"]:
        note = "nothing to swap: no record of another task failed otherwise"
    return _input("reads the reflection", needed, a, b, swapped["difference"], _lower_above(swapped["difference"], 0.0), note)


def targets(section: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a gate is hoped to reach beyond the rule, and whether it does; none of these decides."""
    compared, gates = section["compared"], section["gates"]
    best = best_blind(section["blind"])
    ratio, harm = compared["precision_ratio"], compared["harm_ratio"]
    reached = ratio["value"] is not None and ratio["value"] >= 2 and _lower_above(ratio, 1.5)
    recall = gates["a"]["recall"]
    above = compared.get(f"above_{best}") if best else None
    band = section["random"]["precision"]["middle"]
    beyond = _lower_above(compared["above_random"], 0.0) and band is not None and gates["a"]["precision"]["share"] > band[1]
    return [
        _target("precision by b", "at least 2, interval above 1.5", ratio, reached),
        _target("harm by b", "at most 0.2", harm, harm["value"] is not None and harm["value"] <= 0.2),
        _target(
            "recall of what helped",
            "at least 0.5",
            {"value": recall["share"], "cluster": recall["cluster"]},
            (recall["share"] or 0.0) >= 0.5,
        ),
        _target(f"precision above text-blind {best}", "interval above 0", above, above is not None and _lower_above(above, 0.0)),
        _target("precision above random", "interval above 0, and outside the band of draws", compared["above_random"], beyond),
        _target(
            "precision above random of the same evidence",
            "interval above 0",
            compared["above_same_evidence"],
            _lower_above(compared["above_same_evidence"], 0.0),
        ),
        _target(
            "precision above the base rate within real failures",
            "interval above 0",
            compared["in_real_failures"],
            _lower_above(compared["in_real_failures"], 0.0),
        ),
    ]


def _target(what: str, needed: str, compared: Mapping[str, Any] | None, holds: bool) -> dict[str, Any]:
    found = compared or {"value": None, "cluster": None}
    return {"what": what, "needed": needed, "value": found["value"], "cluster": found["cluster"], "holds": holds}


def best_blind(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the family of the most precise text-blind gate; empty where none admits anything."""
    known = [row for row in rows if row["precision"]["share"] is not None]
    return str(max(known, key=lambda row: row["precision"]["share"])["gate"]) if known else ""
