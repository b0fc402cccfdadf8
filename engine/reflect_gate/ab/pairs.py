"""Two things left out together: whether that costs another amount than leaving out each alone (S2 §7.3, pairwise on request).

The interaction of a measure is: without both, less without the one, less without the other, plus with everything. It is 0 where
two things act apart. Where both are lost together and neither alone is missed, each stands in for the other: both may be called
`DELETE` one at a time, and only one of them can go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final, NamedTuple

from ..corpus._intervals import Row as Counts
from ..corpus._intervals import bootstrap
from ..corpus.score import Verdict
from ..policy import Bundle
from ..replaying import Replay
from ..runtime import AFTERWARDS, Runtime
from .ablating import BAND, BETTER, LEAST, Row, count
from .comparing import Plan
from .kept import row_of, verdict_of
from .removing import Toggle, fired_in, reduced, toggles, verdict_in

__all__ = ["MOST", "Chosen", "Pair", "PairBench", "chosen", "interactions", "pair_looker"]

MOST: Final = 200
"""Pairs that are tried at most, those first that had a say together most often."""


class Pair(NamedTuple):
    """Names of two toggles, in the order in which toggles stand."""

    first: str
    second: str


class Chosen(NamedTuple):
    """Which pairs are tried, and how many more had a say together often enough."""

    pairs: tuple[Pair, ...]
    left_out: int


def chosen(bundle: Bundle, rows: Sequence[Row], rules: bool, most: int = MOST, least: int = LEAST) -> Chosen:
    """Return the pairs to try: all of rule sets that an evaluation asks, then rules that had a say together often enough."""
    stages = {ruleset.name: ruleset.stage for ruleset in bundle.rulesets}
    known = [toggle for toggle in toggles(bundle, rules) if stages[toggle.ruleset] not in AFTERWARDS]
    sets = [toggle.name for toggle in known if not toggle.rule]
    places = {toggle.name: place for place, toggle in enumerate(known) if toggle.rule}
    together: Counter[Pair] = Counter()
    for row in rows if rules else ():
        own = sorted((name for name in row.seen.fired if name in places), key=places.__getitem__)
        together.update(Pair(*pair) for pair in combinations(own, 2))
    often = [pair for pair, times in sorted(together.items(), key=lambda one: (-one[1], one[0])) if times >= least]
    found = [*(Pair(*pair) for pair in combinations(sets, 2)), *often]
    return Chosen(tuple(found[:most]), max(0, len(found) - most))


class PairBench:
    """A bundle without each thing and without each pair, each made ready once; the compiled engine alone infers."""

    def __init__(self, bundle: Bundle, pairs: Sequence[Pair]) -> None:
        self.bundle = bundle._replace(engine="compiled", cross_check=False)
        self._pairs = pairs
        known = {toggle.name: toggle for toggle in toggles(self.bundle, True)}
        self._toggles: Mapping[str, Toggle] = {name: known[name] for pair in pairs for name in pair}
        self._gates: dict[tuple[str, ...], Runtime] = {}

    def see(self, request: Mapping[str, Any]) -> list[list[Any]]:
        """Return the verdict on a request without each pair, in order, as plain data; raises as `evaluate` does.

        A rule that does not fire without the other changes nothing where the other is gone already, so that nothing is judged.
        """
        replay = Replay(request, self.bundle)
        alone = {name: replay.run(self._gate(name)) for name in self._toggles}
        fired = {name: frozenset(fired_in(run, self.bundle)) for name, run in alone.items()}
        said = []
        for first, second in self._pairs:
            if self._idle(first, fired[second]):
                run = alone[second]
            elif self._idle(second, fired[first]):
                run = alone[first]
            else:
                run = replay.run(self._gate(first, second))
            said.append(row_of(verdict_in(run, request)))
        return said

    def _idle(self, name: str, fired: frozenset[str]) -> bool:
        return bool(self._toggles[name].rule) and name not in fired

    def _gate(self, *names: str) -> Runtime:
        if names not in self._gates:
            bundle = self.bundle
            for name in names:
                bundle = reduced(bundle, self._toggles[name])
            self._gates[names] = Runtime(bundle)
        return self._gates[names]


def pair_looker(bundle: Bundle, pairs: Sequence[Sequence[str]]) -> Callable[[Mapping[str, Any]], list[list[Any]]]:
    """Return what says of a request what it would be without each pair."""
    return PairBench(bundle, [Pair(*pair) for pair in pairs]).see


def interactions(
    rows: Sequence[Row], pairs: Sequence[Pair], without: Sequence[Sequence[Any]], plan: Plan, least: int = LEAST
) -> list[dict[str, Any]]:
    """Return a line for each pair: each measure four times, the interaction with its interval, and what follows.

    `without` holds of each row what `PairBench.see` returned.
    """
    told = []
    for place, pair in enumerate(pairs):
        both = [_read(said[place]) for said in without]
        fired = sum(set(pair) <= row.seen.fired for row in rows)
        measures = {name: _measured(name, rows, pair, both, plan) for name in BETTER}
        verdict, why, of = _judged(fired, measures, least)
        line = {"first": pair.first, "second": pair.second, "fired": fired, "verdict": verdict, "why": why, "of": of}
        told.append({**line, **measures})
    return told


def _read(row: Any) -> Verdict:
    verdict = verdict_of(row)
    if verdict is None:
        raise TypeError(f"not a verdict: {row!r}")
    return verdict


def _measured(name: str, rows: Sequence[Row], pair: Pair, both: Sequence[Verdict], plan: Plan) -> dict[str, Any]:
    counted: list[Counts] = []
    for row, joint in zip(rows, both, strict=True):
        one, other = (row.seen.without.get(toggle, (row.seen.full, False))[0] for toggle in pair)
        counted.append(
            (row.group, [part for verdict in (row.seen.full, one, other, joint) for part in count(name, row.case, verdict)])
        )
    sums = [sum(counts[place] for _, counts in counted) for place in range(8)]
    shares = [sums[place] / sums[place + 1] if sums[place + 1] else None for place in range(0, 8, 2)]
    value = _interaction(sums)
    ends = bootstrap(counted, _interaction, f"{plan.seed}:{pair.first}+{pair.second}:{name}", plan.resamples) if value else None
    names = ("with", "without_first", "without_second", "without_both")
    return {
        **{key: None if share is None else round(share, 4) for key, share in zip(names, shares, strict=True)},
        "value": None if value is None else round(value, 4),
        "cluster": None if ends is None else [round(end, 4) for end in ends],
    }


def _interaction(sums: Sequence[float]) -> float | None:
    if not all(sums[place] for place in range(1, 8, 2)):
        return None
    full, one, other, both = (sums[place] / sums[place + 1] for place in range(0, 8, 2))
    return both - one - other + full


def _judged(fired: int, measures: Mapping[str, Mapping[str, Any]], least: int) -> tuple[str, str, list[str]]:
    """Return what follows, why, and the measures that it follows from."""
    if fired < least:
        return "unexercised", f"had a say together on {fired} of the records, fewer than {least}", []
    told = {name: _kind(name, measure) for name, measure in measures.items()}
    for verdict, why in _WHY.items():
        names = [name for name, kind in told.items() if kind == verdict]
        if names:
            return verdict, why.format(" and ".join(names)), names
    return "ADDITIVE", f"no interaction of more than {BAND:.0%} and beyond noise", []


_WHY: Final = {
    "SUBSTITUTES": "without both {} is worse than each alone explains",
    "COMPLEMENTS": "either alone costs {}, and both together less than the sum",
    "CONDITIONAL": "what one changes of {} depends on the other",
}
"""What an interaction means, in the order in which it counts; one measure is enough."""


def _kind(name: str, measure: Mapping[str, Any]) -> str:
    """Return what a measure says of a pair, empty where its interaction is small or within noise."""
    ends, before = measure["cluster"], measure["with"]
    if ends is None or ends[0] <= 0 <= ends[1] or not before:
        return ""
    one, other, both = (
        (before - measure[key]) * BETTER[name] / before for key in ("without_first", "without_second", "without_both")
    )
    more = both - one - other
    if abs(more) <= BAND:
        return ""
    if more > 0:
        return "SUBSTITUTES" if both > max(one, other, 0.0) + BAND else "CONDITIONAL"
    return "COMPLEMENTS" if min(one, other) > BAND else "CONDITIONAL"
