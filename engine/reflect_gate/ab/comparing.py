"""Two bundles on the same records: rates, paired contrasts over resampled groups, and the gates that neither may lose to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..corpus._intervals import share
from ..corpus.blind import FAMILIES, Labelled, fold_of, held_out
from ..corpus.figures import Case, Contrast, Statistic, contrasted, difference, rates, ratio
from ..corpus.score import Verdict
from ..intervals import wilson
from .cases import Subject, case_of, labelled
from .chance import drawn, share_of_all, share_of_evidence

__all__ = ["CAVEATS", "UNGROUNDED", "Plan", "section", "thin"]

UNGROUNDED: Final = frozenset({"speculative", "thin_evidence"})
"""Reasons that say the evidence does not bear the claim, or not its scope."""

CAVEATS: Final = (
    "An outcome is that of the next attempt at the same task, which also saw the feedback: help is not transfer to later tasks.",
    "Texts and outcomes are of the models that were logged; published figures of strong models will not show up with weak ones.",
    "The part kept apart by hash guards only against tuning that never looked at it; tasks that nobody has seen are the test.",
    "Whether an attempt passed is what the log says of it: by hidden tests at best, which may be lenient.",
    "What needs a store and time (outcomes of lessons, rise and fall, retrieval) is not measured by a comparison of this kind.",
)


class Plan(NamedTuple):
    """How figures are made: what is drawn is drawn by `seed`; groups are resampled `resamples` times and split into `folds`."""

    seed: int = 0
    resamples: int = 1_000
    folds: int = 5

    @property
    def text(self) -> str:
        """The seed as the generators take it."""
        return str(self.seed)


_FEW_GROUPS: Final = 10
"""Groups below which resampling them gives intervals that are too narrow."""


def thin(subjects: Sequence[Subject]) -> list[str]:
    """Return what is to be said where the first bundle admits of so few groups, or of so few kinds, that intervals mislead."""
    scored = _scored(subjects)
    taken = [case for case, admitted in zip(scored.cases, scored.a, strict=True) if admitted]
    groups, told = len({case.task for case in taken}), []
    if taken and groups < _FEW_GROUPS:
        found = wilson(sum(case.helped() for case in taken), len(taken)) or (0.0, 1.0)
        ends = f"{found[0]:.3f} to {found[1]:.3f}"
        told.append(
            f"The {len(taken)} records that a admits are of {groups} groups: intervals from resampling so few are too narrow."
            f" Wilson's, as if records were independent, gives precision {ends}."
        )
    if taken and not any(case.harmed() for case in taken):
        most = (wilson(0, len(taken)) or (0.0, 1.0))[1]
        told.append(
            f"None of the {len(taken)} records that a admits harmed: an interval from 0 to 0 says only that nothing varied;"
            f" by Wilson's, harm may be up to {most:.3f}."
        )
    return told


class _Scored(NamedTuple):
    """The subjects with both outcomes known, and what each bundle admits of them."""

    subjects: list[Subject]
    cases: list[Case]
    records: list[Labelled]
    a: list[bool]
    b: list[bool]


def _scored(subjects: Sequence[Subject]) -> _Scored:
    known = [(subject, case) for subject in subjects if (case := case_of(subject)) is not None]
    return _Scored(
        [subject for subject, _ in known],
        [case for _, case in known],
        [labelled(subject, case) for subject, case in known],
        [subject.a.admitted for subject, _ in known],
        [subject.b.admitted for subject, _ in known],
    )


def section(subjects: Sequence[Subject], names: tuple[str, str], plan: Plan) -> dict[str, Any]:
    """Return everything that is said of one set of records; `names` are the two bundles."""
    scored = _scored(subjects)
    gates = {
        arm: rates(scored.cases, name, getattr(scored, arm), seed=plan.text, resamples=plan.resamples)
        for arm, name in zip("ab", names, strict=True)
    }
    blind = _blind(scored, plan)
    return {
        "records": len(subjects),
        "scored": len(scored.cases),
        "groups": len({subject.group for subject in subjects}),
        "statuses": {arm: _statuses([getattr(subject, arm) for subject in subjects]) for arm in "ab"},
        "gates": gates,
        "blind": [
            rates(
                scored.cases,
                name,
                gate,
                f"fitted to the other {plan.folds - 1} of {plan.folds} groups of tasks",
                seed=plan.text,
                resamples=plan.resamples,
            )
            for name, gate in blind.items()
        ],
        "random": drawn(scored.cases, scored.a, f"{plan.seed}:random"),
        "compared": {**_compared(scored, blind, plan), **_rejected_difference(subjects, plan)},
        "rejected": {arm: _rejected(subjects, arm, plan) for arm in "ab"},
        "bare": {arm: _rejected([one for one in subjects if one.bare], arm, plan) for arm in "ab"},
        "swapped": _swapped(subjects, plan),
        "spending": _spending(subjects),
        "labels": _labels(subjects, plan),
        "folds": _folds(scored, plan),
    }


def _statuses(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    reasons = Counter(verdict.reason for verdict in verdicts if verdict.status == "refused" and verdict.reason)
    return {
        **{status: sum(one.status == status for one in verdicts) for status in ("admitted", "undecided", "refused")},
        "reasons": dict(sorted(reasons.items(), key=lambda one: (-one[1], one[0]))),
    }


def _blind(scored: _Scored, plan: Plan) -> dict[str, list[bool]]:
    """Return what the best text-blind gates of each family admit at the first bundle's recall, fitted to other tasks."""
    helped = sum(case.helped() for case in scored.cases)
    recall = sum(case.helped() and chosen for case, chosen in zip(scored.cases, scored.a, strict=True)) / (helped or 1)
    return {name: held_out(scored.records, recall, fit, plan.folds) for name, fit in FAMILIES.items()}


# -- paired ----------------------------------------------------------------------------------------------------------------------


def _compared(scored: _Scored, blind: Mapping[str, Sequence[bool]], plan: Plan) -> dict[str, dict[str, Any]]:
    paired = Contrast(scored.cases, plan.text, plan.resamples)

    def against(what: str, other: Sequence[float], hit: Callable[[Case], bool], statistic: Statistic) -> dict[str, Any]:
        return paired(what, scored.a, other, hit, statistic)

    helped, harmed = Case.helped, Case.harmed
    even = share_of_evidence(scored.records, scored.a)
    told = {
        "precision_ratio": against("precision by b", scored.b, helped, ratio),
        "precision_difference": against("precision minus b", scored.b, helped, difference),
        "harm_ratio": against("harm by b", scored.b, harmed, ratio),
        "harm_difference": against("harm minus b", scored.b, harmed, difference),
        "above_random": against("precision minus random", share_of_all(scored.a), helped, difference),
        "above_same_evidence": against("precision minus random of the same evidence", even, helped, difference),
    }
    for name, gate in blind.items():
        told[f"above_{name}"] = against(f"precision minus text-blind {name}", gate, helped, difference)
    return {**told, **_recall_difference(scored, plan), **_within(scored, plan)}


def _recall_difference(scored: _Scored, plan: Plan) -> dict[str, dict[str, Any]]:
    rows = [(case.task, (a, 1, b, 1)) for case, a, b in zip(scored.cases, scored.a, scored.b, strict=True) if case.helped()]
    return {"recall_difference": contrasted("recall minus b", rows, difference, plan.text, plan.resamples)}


def _within(scored: _Scored, plan: Plan) -> dict[str, dict[str, Any]]:
    real = [place for place, case in enumerate(scored.cases) if not case.before]
    paired = Contrast([scored.cases[place] for place in real], plan.text, plan.resamples)
    chosen = [scored.a[place] for place in real]
    what = "precision minus base rate, within real failures"
    return {"in_real_failures": paired(what, chosen, [1] * len(real), Case.helped, difference)}


def _rejected_difference(subjects: Sequence[Subject], plan: Plan) -> dict[str, dict[str, Any]]:
    rows = [(one.group, (_ungrounded(one.a), 1, _ungrounded(one.b), 1)) for one in subjects]
    return {"rejected_difference": contrasted("rejected minus b", rows, difference, plan.text, plan.resamples)}


# -- beside the key measure ------------------------------------------------------------------------------------------------------


def _ungrounded(verdict: Verdict) -> bool:
    return verdict.status == "refused" and verdict.reason in UNGROUNDED


def _rejected(subjects: Sequence[Subject], arm: str, plan: Plan) -> dict[str, Any]:
    rows = ((subject.group, _ungrounded(getattr(subject, arm))) for subject in subjects)
    return share(rows, f"{plan.seed}:{arm}:rejected", plan.resamples).to_json()


def _swapped(subjects: Sequence[Subject], plan: Plan) -> dict[str, Any]:
    """Return the admitted share of own and of swapped reflections, on the records for which there is a swapped one."""
    found = [one for one in subjects if one.swapped is not None]
    own = share(((one.group, one.a.admitted) for one in found), f"{plan.seed}:own", plan.resamples)
    other = share(((one.group, bool(one.swapped)) for one in found), f"{plan.seed}:swapped", plan.resamples)
    rows = [(one.group, (one.a.admitted, 1, bool(one.swapped), 1)) for one in found]
    return {
        "own": own.to_json(),
        "swapped": other.to_json(),
        "difference": contrasted("own minus swapped", rows, difference, plan.text, plan.resamples),
    }


def _spending(subjects: Sequence[Subject]) -> dict[str, Any]:
    """Return what a candidate cost. Both bundles judge the same recorded answers, so that the ratio is 1 whatever was paid."""
    told = {}
    for name in ("cost", "tokens"):
        carried = [value for one in subjects if one.known and (value := getattr(one.known, name)) is not None]
        absent = len(subjects) - len(carried)
        note = "one recorded call a candidate for both"
        if absent:
            note += f"; {absent} of {len(subjects)} records carry no {name}"
        mean = round(sum(carried) / len(carried), 6) if carried else None
        told[name] = {"carried": len(carried), "mean": mean, "ratio": 1.0, "note": note}
    return told


def _labels(subjects: Sequence[Subject], plan: Plan) -> list[dict[str, Any]]:
    """Return the share of each label of people that either bundle admits: how far what is admitted is grounded."""
    known = [(one.known.outcome.label, one) for one in subjects if one.known and one.known.outcome.label]
    told = []
    for label in sorted({str(label) for label, _ in known}):
        found = [one for named, one in known if named == label]
        row: dict[str, Any] = {"label": label}
        for arm in "ab":
            rows = ((one.group, getattr(one, arm).admitted) for one in found)
            row[arm] = share(rows, f"{plan.seed}:{arm}:label:{label}", plan.resamples).to_json()
        told.append(row)
    return told


def _folds(scored: _Scored, plan: Plan) -> list[dict[str, Any]]:
    """Return each group of tasks apart: counts and rates without intervals, to see whether one group carries the whole."""
    places = [fold_of(case.task, plan.folds) for case in scored.cases]
    told = []
    for fold in range(plan.folds):
        own = [place for place, group in enumerate(places) if group == fold]
        cases = [scored.cases[place] for place in own]
        row: dict[str, Any] = {"fold": fold + 1, "groups": len({case.task for case in cases}), "records": len(own)}
        for arm in "ab":
            row[arm] = _plain(cases, [getattr(scored, arm)[place] for place in own])
        told.append(row)
    return told


def _plain(cases: Sequence[Case], admitted: Sequence[bool]) -> dict[str, Any]:
    taken = [case for case, chosen in zip(cases, admitted, strict=True) if chosen]
    won = sum(case.helped() for case in taken)
    return {
        "admitted": len(taken),
        "precision": _quotient(won, len(taken)),
        "harm": _quotient(sum(case.harmed() for case in taken), len(taken)),
        "recall": _quotient(won, sum(case.helped() for case in cases)),
    }


def _quotient(hits: int, n: int) -> float | None:
    return round(hits / n, 4) if n else None
