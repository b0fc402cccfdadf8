"""Print what refuses the candidates that helped, and how good it would be to let in what each rule alone keeps out.

usage: refusals.py [--bundle NAME] [--corpora DIR] [--resamples N] [--format markdown|json]

A rule *speaks against* a candidate where its finding keeps it from being admitted; what admission merely repeats of an earlier
stage is not counted again. To let a rule go is to admit what nothing else speaks against. All sets of rules are tried, in one
search without the rules named by `KEPT`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

if __package__:
    from .scored import Scored, ends, options, parts, put, rate, shown
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.acceptance.scored import Scored, ends, options, parts, put, rate, shown

from reflect_gate import load_bundle
from reflect_gate.corpus.figures import Case
from reflect_gate.pipeline import evaluate
from reflect_gate.report.sheets import Sheet
from reflect_gate.report.text import GOOD_VERDICTS

__all__ = ["KEPT", "Spoken", "document", "searched", "sheets", "spoken"]

KEPT: Final = "calibration/line-level"
"""Left alone by the search: R-e1 makes refusing restatements of the surface event the default."""

PRECISION: Final = 1.8
HARM: Final = 0.3
RECALL: Final = 0.45
"""What is looked for: precision and harm by those of admitting all, and recall of what helped."""

_REPEATED: Final = frozenset(("speculative", "shallow", "too_vague"))
_NOT_AGAINST: Final = GOOD_VERDICTS | {"episodic", "redflag"}


class Spoken(NamedTuple):
    """A record, the reason that its candidate is refused for (`None` where it is not), and the rules that speak against it."""

    case: Case
    reason: str | None
    against: frozenset[str]


def spoken(found: Sequence[Scored], bundle: Any) -> list[Spoken]:
    """Return what speaks against each candidate; nothing does against what the bundle admits."""
    neutral = {ruleset.name: ruleset.neutral for ruleset in bundle.rulesets}
    made = ((one.case, evaluate(one.request, bundle)) for one in found)
    return [Spoken(case, decision.reason, frozenset(_against(decision.findings, neutral))) for case, decision in made]


def _against(findings: Sequence[Mapping[str, Any]], neutral: Mapping[str, str]) -> Iterator[str]:
    for finding in findings:
        ruleset, verdict = finding["ruleset"], finding["verdict"]
        repeated = ruleset == "admission" and finding["reason"] in _REPEATED
        if verdict != neutral[ruleset] and verdict not in _NOT_AGAINST and not repeated:
            yield f"{ruleset}/{finding['rule'].rpartition('/')[2]}"


class _Sums(NamedTuple):
    records: int
    helped: int
    harmed: int

    @property
    def precision(self) -> float:
        return self.helped / (self.records or 1)

    @property
    def harm(self) -> float:
        return self.harmed / (self.records or 1)


def _sums(cases: Sequence[Case]) -> _Sums:
    return _Sums(len(cases), sum(case.helped() for case in cases), sum(case.harmed() for case in cases))


def _told(cases: Sequence[Case], seed: str, resamples: int) -> dict[str, Any]:
    found = _sums(cases)
    share = rate(cases, [1.0] * len(cases), Case.helped, seed, resamples)
    return {**found._asdict(), "precision": share.value, "ends": share.ends}


def searched(found: Sequence[Spoken]) -> dict[str, Any]:
    """Return how many sets of rules were let go, and of them the best three ways to what is looked for.

    `reached`: the smallest set with which all three hold. `most`: the highest recall that keeps precision and harm.
    `nearest`: the highest recall of all that are as precise as asked, whatever the harm. Each is `None` where there is none.
    """
    everything, admitted = _sums([one.case for one in found]), [one.against for one in found]
    rules = sorted(set().union(*admitted) - {KEPT})
    tried = [_let_go(found, frozenset(some)) for size in range(len(rules) + 1) for some in combinations(rules, size)]
    precise = [one for one in tried if one["precision"] >= PRECISION * everything.precision]
    kept = [one for one in precise if one["harm"] <= HARM * everything.harm]
    reached = [one for one in kept if one["recall"] >= RECALL]
    return {
        "sets": len(tried),
        "without": tried[0],
        "reached": min(reached, key=lambda one: (len(one["rules"]), -one["recall"]), default=None),
        "most": max(kept, key=_by_recall, default=None),
        "nearest": max(precise, key=_by_recall, default=None),
        "line_level": _let_go(found, frozenset((KEPT,))),
        "naive": {"precision": everything.precision, "harm": everything.harm},
    }


def _by_recall(one: Mapping[str, Any]) -> tuple[float, float, int]:
    return one["recall"], one["precision"], -len(one["rules"])


def _let_go(found: Sequence[Spoken], rules: frozenset[str]) -> dict[str, Any]:
    """Return the rates where these rules no longer speak against anything."""
    taken = _sums([one.case for one in found if one.against <= rules])
    helped = sum(one.case.helped() for one in found)
    rates = {"precision": taken.precision, "harm": taken.harm, "recall": taken.helped / (helped or 1)}
    return {"rules": sorted(rules), **taken._asdict(), **rates}


def document(found: Sequence[Spoken], name: str, resamples: int) -> dict[str, Any]:
    """Return each rule with what it speaks against, alone or with others; the commonest sets; and what the search found."""
    refused = [one for one in found if one.against]
    rules = sorted(set().union(*(one.against for one in refused)))
    told = [
        {
            "rule": rule,
            "any": _told([one.case for one in refused if rule in one.against], f"any:{rule}", resamples),
            "alone": _told([one.case for one in refused if one.against == {rule}], f"alone:{rule}", resamples),
        }
        for rule in rules
    ]
    helped = Counter(one.against for one in refused if one.case.helped())
    sets = [
        {"rules": sorted(some), **_told([one.case for one in refused if one.against == some], repr(sorted(some)), resamples)}
        for some, _ in sorted(helped.items(), key=lambda one: (-one[1], sorted(one[0])))
    ]
    reasons = Counter(one.reason for one in refused if one.case.helped() and one.reason)
    return {
        "bundle": name,
        "records": len(found),
        "helped": sum(one.case.helped() for one in found),
        "refused_helped": sum(helped.values()),
        "reasons": [
            {"reason": reason, **_told([one.case for one in refused if one.reason == reason], str(reason), resamples)}
            for reason, _ in sorted(reasons.items(), key=lambda one: (-one[1], one[0]))
        ],
        "rules": sorted(told, key=lambda one: (-one["any"]["helped"], one["rule"])),
        "sets": sets,
        "search": searched(found),
    }


_SHOWN: Final = 10


def sheets(told: Mapping[str, Any]) -> list[Sheet]:
    """Return the tables: by reason, by rule, by set of rules, and the search."""
    counts = ("helped", "harmed")
    reasons = [(one["reason"], *_counts(one), *_precision(one)) for one in told["reasons"]]
    grouped = ("refused", *counts, "precision of letting in", "95 %")
    by_reason = Sheet(f"why {told['bundle']} refuses what helped", ("reason", *grouped), reasons, (1, 2, 3, 4))
    columns = ("rule", "speaks against", *counts, "alone against", *counts, "precision of letting in", "95 %")
    rows = [(one["rule"], *_counts(one["any"]), *_counts(one["alone"]), *_precision(one["alone"])) for one in told["rules"]]
    note = f"{told['refused_helped']} of {told['helped']} candidates that helped are refused, of {told['records']} in all"
    by_rule = Sheet("which rules refuse it", columns, rows, (1, 2, 3, 4, 5, 6, 7), (note,))
    sets = [(", ".join(one["rules"]), *_counts(one), *_precision(one)) for one in told["sets"][:_SHOWN]]
    together = Sheet("which rules together refuse what helped", ("rules", *grouped), sets, (1, 2, 3, 4))
    return [by_reason, by_rule, together, _searched_sheet(told["search"])]


def _counts(one: Mapping[str, Any]) -> tuple[str, ...]:
    return str(one["records"]), str(one["helped"]), str(one["harmed"])


def _precision(one: Mapping[str, Any]) -> tuple[str, str]:
    return shown(one["precision"]), ends(one["ends"])


def _searched_sheet(search: Mapping[str, Any]) -> Sheet:
    naive = search["naive"]
    wanted = f"precision at least {PRECISION:g} and harm at most {HARM:g} of admitting all"
    named = {
        "nothing let go": search["without"],
        f"all of it, recall at least {RECALL:g}": search["reached"],
        f"{wanted}: most recall": search["most"],
        "that precision, whatever the harm: most recall": search["nearest"],
        "line-level alone let go": search["line_level"],
    }
    rows = [(name, *_search_cells(one, naive)) for name, one in named.items()]
    columns = ("looked for", "rules let go", "admits", "precision by all", "harm by all", "recall")
    note = f"{search['sets']} sets of rules tried without {KEPT}, on the records that the figures are of: the best they could do"
    return Sheet("letting rules go", columns, rows, (2, 3, 4, 5), (note,))


def _search_cells(one: Mapping[str, Any] | None, naive: Mapping[str, float]) -> tuple[str, ...]:
    if one is None:
        return "no set of rules", "-", "-", "-", "-"
    by = (f"{one[name] / naive[name]:.2f}" if naive[name] else "-" for name in ("precision", "harm"))
    return ", ".join(one["rules"]) or "-", str(one["records"]), *by, shown(one["recall"])


def main() -> int:
    """Print the tables of the open part."""
    parser = options(__doc__)
    parser.add_argument("--bundle", default="structured")
    asked = parser.parse_args()
    bundle = load_bundle(asked.bundle)._replace(engine="compiled", cross_check=False)
    told = document(spoken(parts(asked.corpora).open, bundle), asked.bundle, asked.resamples)
    put(told, sheets(told), asked.format)
    return 0


if __name__ == "__main__":
    sys.exit(main())
