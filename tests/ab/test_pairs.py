"""Two things left out together, and what that says of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from reflect_gate import Bundle, evaluate, load_bundle, schemas
from reflect_gate.ab.ablating import Row
from reflect_gate.ab.comparing import Plan
from reflect_gate.ab.kept import row_of
from reflect_gate.ab.pairs import Pair, PairBench, chosen, interactions
from reflect_gate.ab.removing import Seen
from reflect_gate.corpus.figures import Case
from reflect_gate.report.ablation import ablation_text

from .cases import verdict

Run = Callable[..., Any]

ONE, OTHER = "grounding", "calibration"
BOTH = frozenset({ONE, OTHER})


def row(number: int, *, helped: bool, full: bool, one: bool, other: bool, fired: frozenset[str] = BOTH) -> Row:
    """Return a record of its own group: whether it helped, and whether it is admitted with everything, and without each."""
    name = f"task-{number}"
    without = {ONE: (verdict(one), one != full), OTHER: (verdict(other), other != full)}
    return Row(name, Case(name, False, helped), Seen(verdict(full), fired, without))


def judged(rows: Sequence[Row], both: Sequence[bool], least: int = 10) -> dict[str, Any]:
    """Return the line of the pair."""
    without = [[row_of(verdict(admitted))] for admitted in both]
    return interactions(rows, [Pair(ONE, OTHER)], without, Plan(resamples=200), least)[0]


def test_two_that_refuse_the_same_stand_in_for_each_other() -> None:
    """R-m5: neither alone is missed, both together are: one at a time each would be deleted."""
    rows = [row(n, helped=n % 2 == 0, full=n % 2 == 0, one=n % 2 == 0, other=n % 2 == 0) for n in range(40)]
    told = judged(rows, [True] * 40)
    assert told["verdict"] == "SUBSTITUTES"
    assert (told["precision"]["with"], told["precision"]["without_first"], told["precision"]["without_both"]) == (1.0, 1.0, 0.5)
    assert (told["precision"]["value"], told["recall"]["value"]) == (-0.5, 0.0)


def test_two_that_need_each_other_cost_the_same_alone() -> None:
    """Where nothing is admitted without either, recall is lost once, not twice."""
    rows = [row(n, helped=True, full=n % 2 == 0, one=False, other=False) for n in range(40)]
    told = judged(rows, [False] * 40)
    assert told["verdict"] == "COMPLEMENTS"
    assert told["recall"]["value"] == 0.5
    assert "recall" in told["why"]
    assert told["of"] == ["recall"]


def test_two_that_act_apart_are_additive() -> None:
    """What is lost without both is the sum of what is lost without each."""
    rows = [row(n, helped=True, full=True, one=n % 4 != 0, other=n % 4 != 1) for n in range(80)]
    told = judged(rows, [n % 4 > 1 for n in range(80)])
    assert (told["recall"]["without_first"], told["recall"]["without_both"], told["recall"]["value"]) == (0.75, 0.5, 0.0)
    assert told["verdict"] == "ADDITIVE"


def test_what_one_is_worth_may_depend_on_the_other() -> None:
    """Leaving out the one lets in nothing unless the other is on: the sum is not reached, and the other alone costs nothing."""
    rows = [row(n, helped=True, full=n % 2 == 0, one=True, other=n % 2 == 0) for n in range(40)]
    told = judged(rows, [n % 2 == 0 for n in range(40)])
    assert told["verdict"] == "CONDITIONAL"


def test_what_had_hardly_a_say_together_is_not_judged() -> None:
    """Each alone had a say everywhere."""
    rows = [
        row(n, helped=n % 2 == 0, full=n % 2 == 0, one=n % 2 == 0, other=n % 2 == 0, fired=BOTH if n < 9 else frozenset({ONE}))
        for n in range(40)
    ]
    assert judged(rows, [True] * 40)["verdict"] == "unexercised"
    assert judged(rows, [True] * 40, least=9)["verdict"] == "SUBSTITUTES"


@pytest.mark.parametrize("pair", [("grounding", "admission"), ("calibration", "blame"), ("grounding", "poisoning")])
def test_leaving_two_rule_sets_out_is_disabling_both(
    structured: Bundle, request_document: dict[str, Any], pair: tuple[str, str]
) -> None:
    """The verdict is that of the bundle in which both are disabled."""
    bad = copy.deepcopy(request_document)
    bad["reflection"]["evidence_ids"] = ["nowhere"]
    disabled = load_bundle("structured", disable=list(pair))
    for request in (request_document, bad):
        (said,) = PairBench(structured, [Pair(*pair)]).see(request)
        decision = evaluate(request, disabled)
        assert (said[2], said[3]) == (decision.status, decision.reason)


def test_a_pair_of_which_one_is_idle_is_not_judged_again(structured: Bundle, request_document: dict[str, Any]) -> None:
    """A rule that does not fire without the other changes nothing where the other is gone: nothing is judged anew."""
    pairs = [Pair("admission/earned", "grounding/no-citation"), Pair("grounding/no-citation", "admission/earned")]
    bench = PairBench(structured, pairs)
    said = bench.see(request_document)
    assert said[0] == said[1]
    assert (said[0][2], len(bench._gates)) == ("refused", 2)


def test_pairs_are_bounded_and_those_that_say_most_come_first(structured: Bundle) -> None:
    """All pairs of rule sets, then rules that had a say together often enough; how many are left out is told."""
    often, seldom = (
        frozenset({"grounding/grounded", "admission/earned"}),
        frozenset({"grounding/grounded", "blame/own-reasoning"}),
    )
    rows = [row(n, helped=True, full=True, one=True, other=True, fired=often | seldom if n < 10 else often) for n in range(20)]
    sets = len(chosen(structured, rows, False).pairs)
    found = chosen(structured, rows, True)
    assert set(found.pairs[sets]) == often
    assert (len(found.pairs), found.left_out) == (sets + 3, 0)
    assert chosen(structured, rows, True, most=sets + 1) == (found.pairs[: sets + 1], 2)
    assert len(chosen(structured, rows, True, least=11).pairs) == sets + 1


def ablate(run: Run, files: dict[str, str], *more: str) -> Any:
    """Leave two out at a time, with one record enough."""
    fixed = ("--resamples", "40", "--least", "1", "--format", "json")
    return run("ablate", files["requests"], "--labels", files["labels"], *fixed, *more)


def test_pairs_are_data(here: Run, files: dict[str, str]) -> None:
    """By the schema; text names what is shown and what is not."""
    document = json.loads(ablate(here, files, "--pairwise").out)
    schemas.check("ablation", document, "stdout")
    assert {"grounding", "calibration"} in [{row["first"], row["second"]} for row in document["pairs"]["rows"]]
    shown = here("ablate", files["requests"], "--labels", files["labels"], "--resamples", "40", "--pairwise").out
    assert "two left out at a time" in shown
    assert "unexercised" in shown.partition("not shown: ")[2]


def test_an_ablation_goes_on(here: Run, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With `--resume` nothing is judged again, singly or in pairs, and the bytes are the same."""
    first = ablate(here, files, "--pairwise", "--rules", "--resume", files["kept"]).out
    monkeypatch.setattr("reflect_gate.replaying.judge", None)
    again = ablate(here, files, "--pairwise", "--rules", "--resume", files["kept"])
    assert (again.code, again.out) == (0, first), again.err


def test_pairs_in_worker_processes_say_the_same(here: Run, process: Run, files: dict[str, str]) -> None:
    """The same bytes with two processes."""
    assert ablate(here, files, "--pairwise").out == ablate(process, files, "--pairwise", "--jobs", "2").out


def test_a_verdict_stands_beside_the_measures_that_it_follows_from() -> None:
    """What is beyond noise in another measure is shown without it: there the verdict may not hold."""
    document = copy.deepcopy(schemas.schema("ablation")["examples"][0])
    (pair,) = document["pairs"]["rows"]
    pair.update(verdict="COMPLEMENTS", why="either alone costs recall, and both together less than the sum", of=["recall"])
    for name in ("rejected", "recall"):
        pair[name].update(value=0.1, cluster=[0.05, 0.2])
    lines = [line.split() for line in ablation_text(document).splitlines()]
    assert {line[4]: line[2] for line in lines if line[:2] == ["grounding", "calibration"]} == {
        "rejected": "-",
        "recall": "COMPLEMENTS",
    }
