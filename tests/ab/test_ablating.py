"""Verdicts on mechanisms, and leaving one out."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest

from reflect_gate import Bundle, evaluate, load_bundle
from reflect_gate.ab.ablating import Row, ablation
from reflect_gate.ab.comparing import Plan
from reflect_gate.ab.removing import L_STEP, MECHANISMS, Bench, Seen, Toggle, toggles
from reflect_gate.corpus.figures import Case

from .cases import verdict

TOGGLE = Toggle("mechanism", "grounding", "")


def row(number: int, *, helped: bool, with_: bool, without: bool, fired: bool = True) -> Row:
    """Return a record of its own group: whether it helped, and whether it is admitted with and without the mechanism."""
    name = f"task-{number}"
    other = {TOGGLE.name: (verdict(without), with_ != without)}
    return Row(name, Case(name, False, helped), Seen(verdict(with_), frozenset({TOGGLE.name} if fired else ()), other))


def judged(rows: Sequence[Row], least: int = 10) -> dict[str, Any]:
    """Return the line of the mechanism."""
    return ablation(rows, [TOGGLE], Plan(resamples=100), least)[1]


def test_what_keeps_precision_up_is_kept() -> None:
    """R-m5: without it what does not help is admitted as well."""
    told = judged([row(n, helped=n % 2 == 0, with_=n % 2 == 0, without=True) for n in range(40)])
    assert told["verdict"] == "KEEP"
    assert (told["precision"]["with"], told["precision"]["without"]) == (1.0, 0.5)
    assert "precision" in told["why"]
    assert "noise" not in told["why"]


def test_what_changes_nothing_is_deleted_and_inert() -> None:
    """R-m5: it had a say, and no decision is another one."""
    told = judged([row(n, helped=n % 2 == 0, with_=n < 20, without=n < 20) for n in range(40)])
    assert (told["verdict"], told["inert"], told["changed"]) == ("DELETE", True, 0)


def test_what_lets_in_harmless_noise_is_deleted() -> None:
    """A change of at most 5 per cent of every measure is noise."""
    told = judged([row(n, helped=n % 2 == 0, with_=n > 200, without=n >= 200) for n in range(400)])
    assert (told["verdict"], told["inert"], told["changed"]) == ("DELETE", False, 1)


def test_what_gets_better_without_it_is_said_of_a_delete() -> None:
    """Recall that doubles is no reason to keep a mechanism, and `no measure changes` would be false."""
    rows = [row(n, helped=True, with_=n < 20, without=True) for n in range(40)]
    shallow = [one._replace(seen=one.seen._replace(full=one.seen.full._replace(reason="shallow"))) for one in rows]
    told = judged(shallow)
    assert (told["verdict"], told["why"]) == ("DELETE", "nothing worse by more than 5% without it, better recall")
    told = judged([row(n, helped=n > 0, with_=True, without=n > 0) for n in range(12)])
    assert (told["verdict"], told["why"]) == (
        "DELETE",
        "nothing worse by more than 5% without it, better precision (within noise), rejected (within noise)",
    )


def test_what_lets_in_what_does_not_help_harms() -> None:
    """R-m5: without it precision is better, and nothing is worse."""
    told = judged([row(n, helped=n % 2 == 0, with_=True, without=n % 2 == 0) for n in range(40)])
    assert told["verdict"] == "HARM"


def test_what_has_hardly_a_say_is_not_judged() -> None:
    """R-m5: unexercised, not DELETE."""
    rows = [row(n, helped=n % 2 == 0, with_=True, without=True, fired=n < 9) for n in range(40)]
    assert judged(rows)["verdict"] == "unexercised"
    assert judged(rows, least=9)["verdict"] == "DELETE"


def test_a_loss_within_noise_is_called_so() -> None:
    """One harm more of few is more than 5 per cent, and may be chance."""
    rows = [row(n, helped=n != 3, with_=n != 3, without=True) for n in range(12)]
    told = judged(rows)
    assert told["verdict"] == "KEEP"
    assert "precision (within noise)" in told["why"]


def test_the_step_that_asks_comes_first() -> None:
    """R-m5: without it nothing is admitted; it is kept for what it yields, and not for nothing."""
    useful = ablation([row(n, helped=True, with_=True, without=True) for n in range(20)], [], Plan(resamples=100))[0]
    useless = ablation([row(n, helped=True, with_=False, without=True) for n in range(20)], [], Plan(resamples=100))[0]
    assert (useful["name"], useful["verdict"], useless["verdict"]) == (L_STEP, "KEEP", "DELETE")


def test_every_mechanism_of_the_bundle_is_a_toggle(structured: Bundle) -> None:
    """The seven that are rule sets, in their order; each rule with `rules`."""
    names = [toggle.name for toggle in toggles(structured, rules=False)]
    assert tuple(names[: len(MECHANISMS)]) == MECHANISMS
    assert len(toggles(structured, rules=True)) == len(names) + len(structured.program.rules)


@pytest.mark.parametrize("name", ["grounding", "calibration", "admission", "blame"])
def test_leaving_a_rule_set_out_is_disabling_it(structured: Bundle, request_document: dict[str, Any], name: str) -> None:
    """The verdict without it is that of the bundle in which it is disabled."""
    bad = copy.deepcopy(request_document)
    bad["reflection"]["evidence_ids"] = ["nowhere"]
    bench, disabled = Bench(structured, rules=False), load_bundle("structured", disable=[name])
    for request in (request_document, bad):
        without, _ = bench.see(request).without[name]
        decision = evaluate(request, disabled)
        assert (without.status, without.reason) == (decision.status, decision.reason)


def test_a_rule_that_fired_is_left_out(structured: Bundle, request_document: dict[str, Any]) -> None:
    """Without the rule that admits, nothing is admitted; rules that did not fire are not tried."""
    seen = Bench(structured, rules=True).see(request_document)
    without, changed = seen.without["admission/earned"]
    assert (seen.full.status, without.status, changed) == ("admitted", "refused", True)
    assert {name for name in seen.without if "/" in name} <= seen.fired
