"""What each mechanism is worth: DELETE, KEEP, HARM or unexercised, with the band of noise (S2 §7.3, R-m5).

Precision, rejection, harm and recall are compared with and without it on the same records. It is kept where leaving it out makes
one of them worse by more than 5 per cent; it harms where leaving it out makes precision or harm better by more than that and by
more than noise, and nothing worse; what had a say on too few records is judged by nothing; the rest is to be deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..corpus.figures import Case, contrasted, difference
from ..corpus.score import Verdict
from .comparing import UNGROUNDED, Plan
from .removing import L_STEP, Seen, Toggle

__all__ = ["BAND", "BETTER", "LEAST", "Row", "ablation", "count", "idle", "shown"]

BAND: Final = 0.05
"""Relative change that S2 takes for noise."""

LEAST: Final = 10
"""Records on which a mechanism must have had a say to be judged."""

BETTER: Final = {"precision": 1, "rejected": 1, "harm": -1, "recall": 1}
"""The measures, and which way is better."""


class Row(NamedTuple):
    """A record: the group that it belongs to, its outcomes where both are known, and what was seen of it."""

    group: str
    case: Case | None
    seen: Seen


def ablation(rows: Sequence[Row], toggles: Sequence[Toggle], plan: Plan, least: int = LEAST) -> list[dict[str, Any]]:
    """Return a line for the step that asks a model, then one for each toggle, in order."""
    told = [_step(rows, plan, least)]
    full = [row.seen.full for row in rows]
    for toggle in toggles:
        without = [row.seen.without.get(toggle.name, (row.seen.full, False)) for row in rows]
        fired = sum(toggle.name in row.seen.fired for row in rows)
        changed = sum(other for _, other in without)
        measures = {
            name: _measured(name, rows, full, [verdict for verdict, _ in without], plan, toggle.name if changed else "")
            for name in BETTER
        }
        told.append(_line(toggle.kind, toggle.name, fired, changed, measures, _judged(fired, changed, measures, least)))
    return told


def _line(kind: str, name: str, fired: int, changed: int, measures: Mapping[str, Any], judged: tuple[str, str]) -> dict[str, Any]:
    verdict, why = judged
    inert = fired > 0 and changed == 0
    return {
        "kind": kind,
        "name": name,
        "fired": fired,
        "changed": changed,
        "inert": inert,
        "verdict": verdict,
        "why": why,
        **measures,
    }


def _measured(
    name: str, rows: Sequence[Row], full: Sequence[Verdict], without: Sequence[Verdict], plan: Plan, seeded: str
) -> dict[str, Any]:
    """Return a measure with and without, and the difference; with no name to seed by nothing has changed, nothing is drawn."""
    counted = [
        (row.group, (*count(name, row.case, other), *count(name, row.case, own)))
        for row, own, other in zip(rows, full, without, strict=True)
    ]
    sums = [sum(counts[place] for _, counts in counted) for place in range(4)]
    before = sums[2] / sums[3] if sums[3] else None
    after = sums[0] / sums[1] if sums[1] else None
    compared: Mapping[str, Any] = {
        "value": None if before is None or after is None else round(after - before, 4),
        "cluster": None,
    }
    if seeded:
        compared = contrasted(f"{seeded}:{name}", counted, difference, plan.text, plan.resamples)
    return {
        "with": None if before is None else round(before, 4),
        "without": None if after is None else round(after, 4),
        "value": compared["value"],
        "cluster": compared["cluster"],
    }


def count(name: str, case: Case | None, verdict: Verdict) -> tuple[int, int]:
    """Return what a record adds to a measure's numerator and denominator."""
    if name == "rejected":
        return int(verdict.status == "refused" and verdict.reason in UNGROUNDED), 1
    if case is None:
        return 0, 0
    if name == "recall":
        return int(case.helped() and verdict.admitted), int(case.helped())
    won = case.helped() if name == "precision" else case.harmed()
    return int(won and verdict.admitted), int(verdict.admitted)


def _worse(name: str, measure: Mapping[str, Any]) -> float:
    """Return by what share a measure gets worse without the mechanism, negative where it gets better."""
    before, after = measure["with"], measure["without"]
    if before is None or after is None or before == after:
        return 0.0 if before == after else 1.0 if after is None else 0.0
    loss = (before - after) * BETTER[name]
    return float(loss / before) if before else float(loss > 0) or -1.0


def _judged(fired: int, changed: int, measures: Mapping[str, Mapping[str, Any]], least: int) -> tuple[str, str]:
    if fired < least:
        return "unexercised", f"had a say on {fired} of the records, fewer than {least}"
    worse = [name for name in BETTER if _worse(name, measures[name]) > BAND]
    better = [name for name in ("precision", "harm") if _worse(name, measures[name]) < -BAND and shown(measures[name])]
    if worse:
        told = [name if shown(measures[name]) else f"{name} (within noise)" for name in worse]
        trades = f", though better {' and '.join(better)}" if better else ""
        return "KEEP", f"without it worse {', '.join(told)}{trades}"
    if better:
        return "HARM", f"without it better {' and '.join(better)}, beyond noise"
    return "DELETE", idle([name for name in BETTER if _worse(name, measures[name]) < -BAND], measures, changed > 0)


def idle(gained: Sequence[str], measures: Mapping[str, Mapping[str, Any]], changed: bool) -> str:
    """Return why a mechanism is to be deleted, given the measures that are better without it, which may be by chance."""
    if not gained:
        return f"no measure changes by more than {BAND:.0%}" if changed else "no decision changes without it"
    told = [name if shown(measures[name]) else f"{name} (within noise)" for name in gained]
    return f"nothing worse by more than {BAND:.0%} without it, better {', '.join(told)}"


def shown(measure: Mapping[str, Any]) -> bool:
    """Return whether a change is more than resampling gives by chance; having no rate at all without it is."""
    ends = measure["cluster"]
    return measure["without"] is None or (ends is not None and (ends[0] > 0 or ends[1] < 0))


def _step(rows: Sequence[Row], plan: Plan, least: int) -> dict[str, Any]:
    """Return the line of the step that asks a model: without it nothing is ever admitted, so that it is worth its yield."""
    nothing = [row.seen.full._replace(status="refused", reason=None) for row in rows]
    full = [row.seen.full for row in rows]
    measures = {name: _measured(name, rows, full, nothing, plan, L_STEP) for name in BETTER}
    ends = measures["recall"]["cluster"]
    kept = ends is not None and ends[1] < 0
    why = "without it nothing that helped is admitted" if kept else "what it yields is not told from nothing"
    if len(rows) < least:
        return _line("mechanism", L_STEP, len(rows), len(rows), measures, ("unexercised", f"fewer than {least} records"))
    return _line("mechanism", L_STEP, len(rows), len(rows), measures, ("KEEP" if kept else "DELETE", why))
