"""How good a gate is on a corpus: mutants that it detects, originals that it refuses, and what became of those it admits.

Pure functions from judged records to one document of plain data; every share has Wilson's interval over records and a bootstrap
interval over tasks. What these outcomes can prove is said in `CAVEATS`, and stands in every report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..errors import ReflectGateError, Source
from ._intervals import share
from .blind import FAMILIES, FOLDS, Labelled, held_out, in_sample
from .figures import Case, Contrast, difference, rates, ratio
from .mutate import MUTATORS, describe, name_of

__all__ = ["CAVEATS", "Outcome", "Verdict", "mutant_scores", "outcome_of", "outcome_scores", "summary", "sweep_point"]

CAVEATS = (
    "An outcome is that of the next attempt at the same task: it shows whether a retry went well, not that a lesson transfers.",
    "The next attempt also saw the feedback; the text-blind gates show how much of the precision the evidence alone explains.",
    "Whether an attempt passed is what hidden tests said of it, which may be lenient.",
    "Originals are candidates that a gate admitted, not known to be right; only labels of people tell of false refusals.",
)
"""What the figures can and cannot prove."""

_STAGE_OF = {"wider-scope": "admit"}
"""The stage that a mutator is about, where it is not grounding."""

_REASONS = 4


class Outcome(NamedTuple):
    """What is known of a record beyond its request: its task, whether the attempt before and after passed, a person's label."""

    id: str
    task: str
    before: bool | None
    after: bool | None
    label: str | None = None


class Verdict(NamedTuple):
    """What the gate said of one candidate: `against` holds `(stage, reason)` of each finding that did not let it pass."""

    id: str
    task: str
    status: str
    reason: str | None
    against: frozenset[tuple[str, str]]

    @property
    def admitted(self) -> bool:
        """Whether the candidate was admitted, red-flagged or not."""
        return self.status == "admitted"

    def refused_at(self, stage: str) -> bool:
        """Whether a finding of a stage spoke against the candidate."""
        return any(at == stage for at, _ in self.against)


def outcome_of(row: object, source: Source) -> Outcome:
    """Return a line of a labels file; `corpus-bad-label` where it is none."""
    if not isinstance(row, dict):
        raise ReflectGateError("corpus-bad-label", f"expected an object, found `{str(row)[:80]}`", source)
    for key, allowed in (("id", str), ("task", str), ("before", bool | None), ("after", bool | None), ("label", str | None)):
        if not isinstance(row.get(key), allowed):
            message = f"`{key}` must be {_ALLOWED[key]}, not `{str(row.get(key))[:80]}`"
            raise ReflectGateError("corpus-bad-label", message, source._replace(pointer=f"/{key}"))
    return Outcome(row["id"], row["task"], row.get("before"), row.get("after"), row.get("label"))


_ALLOWED = {
    **dict.fromkeys(("id", "task"), "a text"),
    **dict.fromkeys(("before", "after"), "true, false or null"),
    "label": "a text",
}


def summary(verdicts: Sequence[Verdict], invalid: int) -> dict[str, Any]:
    """Return how many were judged and how."""
    refused = Counter(verdict.reason for verdict in verdicts if verdict.status == "refused" and verdict.reason)
    return {
        "judged": len(verdicts),
        "invalid": invalid,
        "statuses": {status: sum(one.status == status for one in verdicts) for status in ("admitted", "undecided", "refused")},
        "reasons": dict(sorted(refused.items(), key=lambda one: (-one[1], one[0]))),
    }


# -- mutants ---------------------------------------------------------------------------------------------------------------------


def mutant_scores(
    mutants: Sequence[tuple[str, Verdict]], originals: Sequence[Verdict], seed: str, resamples: int
) -> dict[str, Any]:
    """Return detection for each mutator, and how many of the sources are refused.

    `mutants` are `(mutator, verdict)`, a verdict's `id` being its source. Detected is what is not admitted, of the mutants whose
    original is; `by_its_stage` is what the stage refused that the mutator is about, of the mutants whose original passed that
    stage. A mutant of a candidate that was refused all the same proves nothing, and one that is refused for another reason is not
    taken for one that was understood. An original that is not among `originals` counts as admitted.
    """
    names = [name_of(mutator) for mutator in MUTATORS]
    docs = {name_of(mutator): describe(mutator) for mutator in MUTATORS}
    known = sorted({name for name, _ in mutants}, key=lambda name: (names.index(name) if name in names else len(names), name))
    sources = {verdict.id for _, verdict in mutants}
    own = {verdict.id: verdict for verdict in originals if verdict.id in sources}
    rows = [
        {
            "mutator": name,
            "doc": docs.get(name, ""),
            **_detection(name, [one for which, one in mutants if which == name], own, seed, resamples),
        }
        for name in known
    ]
    refused = share(((verdict.task, not verdict.admitted) for verdict in own.values()), f"{seed}:originals", resamples)
    return {"mutators": rows, "originals_refused": refused.to_json(), "originals_missing": len(sources - own.keys())}


def _detection(
    name: str, found: Sequence[Verdict], originals: Mapping[str, Verdict], seed: str, resamples: int
) -> dict[str, Any]:
    stage = _STAGE_OF.get(name, "ground")
    whole = [one for one in found if one.id not in originals or originals[one.id].admitted]
    passed = [one for one in found if one.id not in originals or not originals[one.id].refused_at(stage)]
    reasons = Counter(reason for verdict in passed for at, reason in verdict.against if at == stage)
    return {
        "made": len(found),
        "detected": share(((one.task, not one.admitted) for one in whole), f"{seed}:{name}", resamples).to_json(),
        "stage": stage,
        "by_its_stage": share(((one.task, one.refused_at(stage)) for one in passed), f"{seed}:{name}:stage", resamples).to_json(),
        "reasons": dict(sorted(reasons.items(), key=lambda one: (-one[1], one[0]))[:_REASONS]),
        "escaped": sorted(one.id for one in whole if one.admitted),
    }


# -- outcomes --------------------------------------------------------------------------------------------------------------------


def outcome_scores(
    verdicts: Sequence[Verdict],
    outcomes: Mapping[str, Outcome],
    seen: Mapping[str, tuple[float, ...]],
    seed: str,
    resamples: int,
) -> dict[str, Any]:
    """Return precision, harm and recall beside naive and beside text-blind gates of the same recall, and labels by verdict.

    `seen` holds what a text-blind gate sees of each record (`blind.features`).
    """
    kept = [verdict for verdict in verdicts if verdict.id in outcomes and verdict.id in seen]
    pairs = [(verdict, outcomes[verdict.id]) for verdict in kept]
    complete = [(verdict, one) for verdict, one in pairs if one.before is not None and one.after is not None]
    cases = [Case(one.task, bool(one.before), bool(one.after)) for _, one in complete]
    blind = [Labelled(one.task, seen[verdict.id], case.helped()) for (verdict, one), case in zip(complete, cases, strict=True)]
    rate = partial(rates, cases, seed=seed, resamples=resamples)
    gate = [verdict.admitted for verdict, _ in complete]
    helped = sum(case.helped() for case in cases)
    recall = sum(case.helped() and chosen for case, chosen in zip(cases, gate, strict=True)) / (helped or 1)
    rows = [rate("naive", [True] * len(cases)), rate("gate", gate)]
    others = {}
    for name, fit in FAMILIES.items():
        others[name] = held_out(blind, recall, fit)
        rows.append(rate(f"text-blind {name}, other tasks", others[name], f"fitted to {FOLDS - 1} of {FOLDS} groups of tasks"))
        rows.append(rate(f"text-blind {name}, same records", in_sample(blind, recall, fit), fit(blind, recall).told))
    return {
        "records": len(cases),
        "unlabelled": len(verdicts) - len(cases),
        "rows": rows,
        "compared": _compared(cases, gate, others, seed, resamples),
        "labels": _labels(pairs, seed, resamples),
    }


def _compared(
    cases: Sequence[Case], gate: Sequence[bool], others: Mapping[str, Sequence[bool]], seed: str, resamples: int
) -> list[dict[str, Any]]:
    """Return how the gate stands to each other: the difference of precision, over resampled tasks, and the ratios to naive."""
    naive = [True] * len(cases)
    paired = Contrast(cases, seed, resamples)
    told = [
        paired("precision by naive", gate, naive, Case.helped, ratio),
        paired("harm by naive", gate, naive, Case.harmed, ratio),
    ]
    for name, other in others.items():
        told.append(paired(f"precision minus text-blind {name}, other tasks", gate, other, Case.helped, difference))
    real = [case for case in cases if not case.before]
    chosen = [admitted for case, admitted in zip(cases, gate, strict=True) if not case.before]
    within = Contrast(real, seed, resamples)
    what = "precision minus base rate, within real failures"
    return [*told, within(what, chosen, [True] * len(real), Case.helped, difference)]


def _labels(pairs: Sequence[tuple[Verdict, Outcome]], seed: str, resamples: int) -> list[dict[str, Any]]:
    """Return the admitted share of each label that people gave, and why the others were refused."""
    told = []
    for label in sorted({outcome.label for _, outcome in pairs if outcome.label is not None}):
        found = [(verdict, outcome) for verdict, outcome in pairs if outcome.label == label]
        admitted = ((outcome.task, verdict.admitted) for verdict, outcome in found)
        reasons = Counter(verdict.reason or verdict.status for verdict, _ in found if not verdict.admitted)
        told.append(
            {
                "label": label,
                "admitted": share(admitted, f"{seed}:label:{label}", resamples).to_json(),
                "refused": dict(sorted(reasons.items(), key=lambda one: (-one[1], one[0]))),
            }
        )
    return told


def sweep_point(
    value: str, verdicts: Sequence[Verdict], outcomes: Mapping[str, Outcome], mutants: Sequence[Verdict]
) -> dict[str, Any]:
    """Return one point of a threshold curve: counts without intervals, for a table of several settings.

    Mutants of all kinds are counted together, those of originals that this setting admits.
    """
    known = [(verdict, one) for verdict in verdicts if (one := outcomes.get(verdict.id)) and None not in (one.before, one.after)]
    taken = [one for verdict, one in known if verdict.admitted]
    helped = [one for _, one in known if one.after and not one.before]
    won = sum(bool(one.after and not one.before) for one in taken)
    sources = {verdict.id for verdict in mutants}
    own = {verdict.id: verdict for verdict in verdicts if verdict.id in sources}
    whole = [one for one in mutants if one.id not in own or own[one.id].admitted]
    return {
        "value": value,
        "admitted": sum(verdict.admitted for verdict in verdicts),
        "precision": _quotient(won, len(taken)),
        "harm": _quotient(sum(bool(one.before and not one.after) for one in taken), len(taken)),
        "recall": _quotient(won, len(helped)),
        "mutants_detected": _quotient(sum(not verdict.admitted for verdict in whole), len(whole)),
        "originals_refused": _quotient(sum(not verdict.admitted for verdict in own.values()), len(own)),
    }


def _quotient(hits: int, n: int) -> float | None:
    return round(hits / n, 4) if n else None
