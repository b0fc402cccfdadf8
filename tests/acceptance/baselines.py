"""Print what simpler gates reach beside a bundle, on the same records: all in one table, with paired intervals over tasks.

usage: baselines.py [--bundle NAME]... [--corpora DIR] [--resamples N] [--format markdown|json]

Whatever is fitted is fitted to other tasks: on the open part to four of five groups, for the fifth; on the part kept apart to the
whole open part. Gates with a threshold take the one that reaches the bundle's recall where they are fitted. assay-gate is of the
extra `bench`; without it its rows are left out.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

if __package__:
    from .logistic import logistic, single
    from .scored import Parts, Scored, ends, options, parts, put, rate, shown
    from .surface import both, cited, overlap, surface, text_of
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.acceptance.logistic import logistic, single
    from tests.acceptance.scored import Parts, Scored, ends, options, parts, put, rate, shown
    from tests.acceptance.surface import both, cited, overlap, surface, text_of

from reflect_gate import load_bundle
from reflect_gate.ab.chance import share_of_all, share_of_evidence
from reflect_gate.ab.comparing import Plan
from reflect_gate.ab.swapping import swapped
from reflect_gate.corpus.blind import FAMILIES, Fit, Fitted, Labelled, features, held_out
from reflect_gate.corpus.figures import Case, Contrast, difference
from reflect_gate.measure.text import terms
from reflect_gate.pipeline import evaluate
from reflect_gate.report.sheets import Sheet

__all__ = ["BUNDLES", "Seen", "assayed", "document", "passing", "sheets"]

BUNDLES: Final = ("structured", "episodic-line-level")

_REFUSED: Final = -1.0
"""Below every share: a record with this feature is admitted by no threshold."""


class Seen:
    """Some records as each kind of gate sees them; each view is made when it is first asked for, in the order of the records."""

    def __init__(self, found: Sequence[Scored]) -> None:
        self.requests = [one.request for one in found]
        self.cases = [one.case for one in found]

    @cached_property
    def evidence(self) -> list[tuple[float, ...]]:
        """What a text-blind gate sees."""
        return [features(request["record"]) for request in self.requests]

    @cached_property
    def words(self) -> list[tuple[float, ...]]:
        """The surface of the reflection."""
        return [surface(request) for request in self.requests]

    @cached_property
    def both(self) -> list[tuple[float, ...]]:
        """The surface of the reflection, how far its words stand in what it cites, and the evidence."""
        return [both(request) for request in self.requests]

    @cached_property
    def overlap(self) -> list[tuple[float, ...]]:
        """The share of the reflection's words that stand in what it cites, alone."""
        return [(overlap(request),) for request in self.requests]

    @cached_property
    def assayed(self) -> tuple[list[bool], list[tuple[float, ...]]]:
        """What assay-gate admits as it comes, and how far it calls each entailed where shared words stand for its model."""
        return assayed(self.requests)

    def admitted(self, bundle: Any) -> list[bool]:
        """What a bundle admits."""
        return [evaluate(request, bundle).status == "admitted" for request in self.requests]

    def above_the_line(self, bundle: Any) -> list[tuple[float, ...]]:
        """What a text-blind gate sees, and last whether a bundle does not call the lesson a restatement of the surface event."""
        found = ([finding["reason"] for finding in evaluate(request, bundle).findings] for request in self.requests)
        return [(*seen, float("line-level" not in reasons)) for seen, reasons in zip(self.evidence, found, strict=True)]

    def misread(self, bundle: Any, seed: int) -> list[bool]:
        """What a bundle admits of another task's reflections in the place of these."""
        made = swapped(self.requests, seed)
        return [request is not None and evaluate(request, bundle).status == "admitted" for request in made]

    def labelled(self, seen: Sequence[tuple[float, ...]]) -> list[Labelled]:
        """Return the records as a gate is fitted to them that sees `seen`."""
        return [Labelled(case.task, row, case.helped()) for case, row in zip(self.cases, seen, strict=True)]


def assayed(requests: Sequence[Mapping[str, Any]]) -> tuple[list[bool], list[tuple[float, ...]]]:
    """Return what assay-gate admits, one store for all in order, and what it calls grounded with shared words for a model.

    The model that its grounding stage is made for is a download of its own; without one the stage is skipped. In its place stands
    the share of a candidate's content terms that one sentence of the source holds.
    """
    package = importlib.import_module("assay_gate")
    plain, lexical = package.Gate(), package.Gate(nli=_shared, grounding_threshold=0.0)
    admitted: list[bool] = []
    shares: list[tuple[float, ...]] = []
    for request in requests:
        said = text_of(request["reflection"])
        source = package.Source(id=request["record"]["failure_id"], text="\n".join(cited(request)))
        admitted.append(bool(plain.add(said, source=source)))
        shares.append((float(lexical.check(said, source=source).signals.get("grounding", _REFUSED)),))
    return admitted, shares


def _shared(premise: str, hypothesis: str) -> dict[str, float]:
    own = terms(hypothesis)
    return {"entailment": len(own & terms(premise)) / (len(own) or 1), "contradiction": 0.0}


def passing(fit: Fit) -> Fit:
    """Return a family fitted to the records whose last feature is not 0, which refuses the others whatever is asked of recall."""

    def seen(record: Labelled) -> Labelled:
        return record._replace(features=record.features[:-1])

    def fitted(records: Sequence[Labelled], recall: float) -> Fitted:
        through = [seen(record) for record in records if record.features[-1]]
        helped, among = (sum(record.helped for record in some) for some in (records, through))
        gate, told = fit(through, min(1.0, recall * helped / (among or 1)))
        return Fitted(lambda record: bool(record.features[-1]) and gate(seen(record)), told)

    return fitted


Gates = dict[str, Sequence[float]]


class _Table:
    """The gates beside one bundle. `seen` is what they judge, `learnt` what they are fitted to: the same on the open part."""

    def __init__(self, name: str, seen: Seen, learnt: Seen, plan: Plan) -> None:
        self.seen, self.learnt, self.plan = seen, learnt, plan
        self.bundle = _quick(load_bundle(name))
        self.without = _quick(load_bundle(name, disable=["grounding"]))
        self.evidence_alone = _quick(load_bundle(name, disable=["grounding", "calibration"]))
        self.own = seen.admitted(self.bundle)
        fitted_to = self.own if learnt is seen else learnt.admitted(self.bundle)
        won = [case.helped() for case in learnt.cases]
        self.recall = sum(hit and chosen for hit, chosen in zip(won, fitted_to, strict=True)) / (sum(won) or 1)

    def fitted(self, fit: Fit, view: Callable[[Seen], Sequence[tuple[float, ...]]]) -> list[bool]:
        """Return what a family admits that was fitted to other tasks."""
        records = self.seen.labelled(view(self.seen))
        if self.learnt is self.seen:
            return held_out(records, self.recall, fit, self.plan.folds)
        gate = fit(self.learnt.labelled(view(self.learnt)), self.recall).gate
        return [gate(record) for record in records]

    def plainly_grounded(self, seen: Seen) -> list[tuple[float, ...]]:
        """Return the share of shared words of what passes every rule set but grounding."""
        passed = seen.admitted(self.without)
        return [row if chosen else (_REFUSED,) for row, chosen in zip(seen.overlap, passed, strict=True)]

    def above_the_line(self) -> Gates:
        """Return a text-blind gate that is spared the restatements, beside a bundle that refuses them all."""
        seen = self.seen.above_the_line(self.bundle)
        if any(chosen and not row[-1] for chosen, row in zip(self.own, seen, strict=True)):
            return {}
        gate = self.fitted(passing(FAMILIES["cells"]), lambda some: some.above_the_line(self.bundle))
        return {"text-blind cells, restatements left out": gate}

    def gates(self) -> Gates:
        """Return what each gate admits."""
        evidence = self.seen.labelled(self.seen.evidence)
        found: Gates = {
            self.bundle.name: self.own,
            "introspect: all": [1.0] * len(self.own),
            "random, as many": share_of_all(self.own),
            "random of the same evidence": share_of_evidence(evidence, self.own),
            f"{self.bundle.name}, reflections swapped": self.seen.misread(self.bundle, self.plan.seed),
            **{f"text-blind {name}": self.fitted(fit, lambda seen: seen.evidence) for name, fit in FAMILIES.items()},
            **self.above_the_line(),
            "its rules without grounding": self.seen.admitted(self.without),
            "its rules without grounding and calibration": self.seen.admitted(self.evidence_alone),
            "words in common with what is cited": self.fitted(single, lambda seen: seen.overlap),
            "words in common, in place of grounding": self.fitted(single, self.plainly_grounded),
            "logistic, evidence": self.fitted(logistic, lambda seen: seen.evidence),
            "logistic, surface of the reflection": self.fitted(logistic, lambda seen: seen.words),
            "logistic, both and words in common": self.fitted(logistic, lambda seen: seen.both),
        }
        if importlib.util.find_spec("assay_gate"):
            found["assay-gate as it comes"] = self.seen.assayed[0]
            found["assay-gate, words in common for its model"] = self.fitted(single, lambda seen: seen.assayed[1])
        return found

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each gate."""
        gates = self.gates()
        return [_row(name, self.seen.cases, gate, self.own, self.plan) for name, gate in gates.items()]


def _quick(bundle: Any) -> Any:
    return bundle._replace(engine="compiled", cross_check=False)


def _row(name: str, cases: Sequence[Case], gate: Sequence[float], own: Sequence[float], plan: Plan) -> dict[str, Any]:
    """Return the rates of a gate, and those of the bundle less its own."""
    paired = Contrast(cases, plan.text, plan.resamples)
    seed = f"{plan.seed}:{name}"
    precision = rate(cases, gate, Case.helped, seed, plan.resamples)
    helped = [float(case.helped()) for case in cases]
    real = [0.0 if case.before else weight for case, weight in zip(cases, gate, strict=True)]
    won = sum(weight * hit for weight, hit in zip(gate, helped, strict=True))
    return {
        "gate": name,
        "admitted": round(sum(gate), 1),
        "precision": precision.value,
        "precision_ends": precision.ends,
        "harm": rate(cases, gate, Case.harmed, seed).value,
        "recall": won / (sum(helped) or 1),
        "in_real_failures": rate(cases, real, Case.helped, seed).value,
        "above": paired(f"precision minus {name}", own, gate, Case.helped, difference),
        "less_harm": paired(f"harm minus {name}", own, gate, Case.harmed, difference),
    }


def document(found: Parts, names: Sequence[str], plan: Plan) -> list[dict[str, Any]]:
    """Return for each bundle its name, and the rows of the open part and of the part that is kept apart."""
    seen, apart = Seen(found.open), Seen(found.apart)
    return [
        {
            "bundle": name,
            "records": {"open": len(found.open), "apart": len(found.apart)},
            "open": _Table(name, seen, seen, plan).rows(),
            "apart": _Table(name, apart, seen, plan).rows(),
        }
        for name in names
    ]


_NOTE: Final = (
    "per cent; what is fitted is fitted to {fitted}, at no less than the bundle's recall there; in failures: precision where the"
    " attempt before did fail; the last two columns are the bundle's figure less the gate's, over resampled tasks"
)


def sheets(told: Sequence[Mapping[str, Any]], part: str) -> list[Sheet]:
    """Return a table for each bundle, of the part `open` or `apart`."""
    before, fitted = ("", "the other groups of tasks") if part == "open" else ("kept apart: ", "the whole open part")
    columns = (
        "gate",
        "admits",
        "precision",
        "95 %",
        "harm",
        "recall",
        "in failures",
        "precision, difference",
        "harm, difference",
    )
    made = []
    for one in told:
        rows = [_cells(row, place == 0) for place, row in enumerate(one[part])]
        title = f"{before}baselines beside {one['bundle']}, {one['records'][part]} records"
        made.append(Sheet(title, columns, rows, (1, 2, 4, 5, 6), (_NOTE.format(fitted=fitted), *_told_apart(one[part]))))
    return made


def _told_apart(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return than which gates the bundle is more precise beyond noise, less precise, and from which it is not told apart."""
    sides: dict[str, list[str]] = {"more precise beyond noise than": [], "not told apart from": [], "less precise than": []}
    more, neither, less = sides
    for row in rows[1:]:
        low, high = row["above"]["cluster"] or (0.0, 0.0)
        sides[more if low > 0 else less if high < 0 else neither].append(row["gate"])
    return [f"{rows[0]['gate']} is {side}: {'; '.join(gates)}" for side, gates in sides.items() if gates]


def _cells(row: Mapping[str, Any], itself: bool) -> tuple[str, ...]:
    rates = (shown(row[name]) for name in ("harm", "recall", "in_real_failures"))
    paired = ("", "") if itself else tuple(_paired(row[name]) for name in ("above", "less_harm"))
    return row["gate"], f"{row['admitted']:g}", shown(row["precision"]), ends(row["precision_ends"]), *rates, *paired


def _paired(found: Mapping[str, Any]) -> str:
    return "-" if found["value"] is None else f"{shown(found['value'])} ({ends(found['cluster'])})"


def main() -> int:
    """Print the tables, the part that is kept apart last."""
    parser = options(__doc__)
    parser.add_argument("--bundle", action="append", dest="bundles")
    asked = parser.parse_args()
    told = document(parts(asked.corpora), asked.bundles or BUNDLES, Plan(resamples=asked.resamples))
    put(told, [*sheets(told, "open"), *sheets(told, "apart")], asked.format)
    return 0


if __name__ == "__main__":
    sys.exit(main())
