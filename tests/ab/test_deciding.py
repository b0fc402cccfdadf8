"""The decision rule, input by input."""

from __future__ import annotations

from typing import Any

import pytest

from reflect_gate.ab.comparing import Plan, section
from reflect_gate.ab.deciding import decide, shipped, targets

from .cases import subject

NAMES = ("ours", "theirs")


def good(n: int, **changed: Any) -> Any:
    """Return a record that a good gate judges well: it admits what helps, and no swapped reflection."""
    return subject(str(n), **{"helped": n % 2 == 0, "a": n % 2 == 0, "swapped": False, **changed})


def decided(*records: Any) -> dict[str, Any]:
    """Return the decision on some records."""
    return decide(section(records, NAMES, Plan(resamples=100)), NAMES)


def failing(decision: dict[str, Any]) -> list[str]:
    """Return the inputs that do not hold."""
    return [one["what"] for one in decision["inputs"] if not one["holds"]]


def test_a_good_gate_wins() -> None:
    """R-m6: every input is printed, and all hold."""
    told = decided(*[good(n) for n in range(40)])
    assert failing(told) == []
    assert (told["wins"], told["adopt"], len(told["inputs"])) == (True, "ours", 5)


def test_why_nothing_is_known_is_said() -> None:
    """A decision on nothing says so in place of a bare dash."""
    notes = {one["what"]: one["note"] for one in decided(good(1)._replace(known=None, swapped=None))["inputs"]}
    assert notes["lesson-admission precision"] == "no record has both outcomes, so that nothing is known"
    assert notes["reads the reflection"] == "nothing to swap: no record of another task failed otherwise"
    notes = {one["what"]: one["note"] for one in decided(good(1))["inputs"]}
    assert notes["lesson-admission precision"] == "a admits no record with both outcomes"


def test_equal_precision_does_not_win() -> None:
    """Strictly above: the baseline against itself stays."""
    told = decided(*[good(n, a=True) for n in range(40)])
    assert "lesson-admission precision" in failing(told)
    assert told["adopt"] == "theirs"


def test_a_gain_within_noise_does_not_win() -> None:
    """One record more is no gain."""
    assert "lesson-admission precision" in failing(decided(*[good(n, helped=n % 2 == 0, a=n != 1) for n in range(8)]))


def test_a_rubber_stamp_does_not_win() -> None:
    """What rejects almost nothing as ungrounded is not healthy, however precise."""
    assert failing(decided(*[good(n, reason="too_vague") for n in range(40)])) == ["rejected as ungrounded"]


def test_a_gate_that_rejects_everything_does_not_win() -> None:
    """An empty store has no precision."""
    told = failing(decided(*[good(n, a=False) for n in range(40)]))
    assert {"lesson-admission precision", "rejected as ungrounded", "reads the reflection"} <= set(told)


def test_a_gate_that_does_not_read_does_not_win() -> None:
    """R-m1: it admits the reflections of other tasks just as well."""
    assert failing(decided(*[good(n, swapped=n % 2 == 0) for n in range(40)])) == ["reads the reflection"]


@pytest.mark.parametrize(("name", "needed"), [("cost", 1.5), ("tokens", 1.5)])
def test_spending_is_bounded(name: str, needed: float) -> None:
    """R-m3: beyond one and a half times the baseline it does not win."""
    found = section([good(n) for n in range(40)], NAMES, Plan(resamples=100))
    found["spending"][name]["ratio"] = needed
    assert decide(found, NAMES)["wins"]
    found["spending"][name]["ratio"] = needed + 0.01
    assert failing(decide(found, NAMES)) == [name]


def test_targets_do_not_decide() -> None:
    """Recall below a half misses a target, and the gate wins all the same."""
    records = [good(n, a=n % 8 == 0) for n in range(80)]
    held = {one["what"]: one["holds"] for one in targets(section(records, NAMES, Plan(resamples=100)))}
    assert not held["recall of what helped"]
    assert held["precision by b"]
    assert decided(*records)["wins"]


def contest(a: str, b: str, adopt: str) -> dict[str, Any]:
    """Return as much of a comparison as decides what is shipped."""
    return {"arms": {"a": {"name": a}, "b": {"name": b}}, "decision": {"adopt": adopt}}


def test_what_is_shipped_is_what_is_left() -> None:
    """R-x3: the baseline unless a bundle wins, and a comparison with what did not win is passed over."""
    first, lost = contest("x", "base", "x"), contest("x", "base", "base")
    assert shipped([first, contest("y", "x", "x")], "base") == "x"
    assert shipped([first, contest("y", "x", "y")], "base") == "y"
    assert shipped([lost, contest("y", "x", "y")], "base") == "base"
