"""Print the curve of each numeric threshold of a bundle, and what cross-validation by task says of every other value.

usage: tuning.py [--bundle NAME] [--corpora DIR] [--jobs N] [--resamples N] [--format markdown|json]

Thresholds are the numeric settings that rules read in an evaluation (`reflect_gate.ab.sweeping`), and what `admission` needs of
evidence for the scope of one task. A value is *better* on some records where none of precision, harm and recall is worse than
with the value in force and one is better. By cross-validation each group of tasks is judged by the value that is best on the
other groups. To be proposed a value must be better in every group, and beyond noise: the 95 % interval of a paired
difference over resampled tasks lies on the good side of 0. The part that is kept apart has no say and comes last.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

if __package__:
    from .scored import Parts, ends, options, parts, put, shown
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.acceptance.scored import Parts, ends, options, parts, put, shown

from reflect_gate import load_bundle
from reflect_gate.ab.comparing import Plan
from reflect_gate.ab.removing import verdict_in
from reflect_gate.ab.sweeping import Point, Sweeper, curves, points_of
from reflect_gate.corpus.blind import fold_of
from reflect_gate.corpus.figures import Case, Contrast, contrasted, difference
from reflect_gate.errors import Source
from reflect_gate.policy.bundle import Setting
from reflect_gate.replaying import Replay
from reflect_gate.report.ab_beside import curve_sheet
from reflect_gate.report.sheets import Sheet
from reflect_gate.runtime import Runtime

__all__ = ["Swept", "document", "judged", "sheets", "swept"]

CELLS: Final = ("firm", "defects", "agreeing")
"""Columns of `evidence_needed` that a failure which stands alone can meet."""

_TABLE: Final = "evidence_needed"
_BREADTH: Final = "task"
_MOST_NEEDED: Final = 5
MEASURES: Final = ("precision", "recall", "harm")

Admitted = Sequence[bool]


class Swept(NamedTuple):
    """Some records at every point: `rows[i][j]` says whether record `i` is admitted at point `j`."""

    cases: list[Case]
    rows: list[list[bool]]


# -- points ----------------------------------------------------------------------------------------------------------------------


def _cell_name(column: str) -> str:
    return f"admission.{_TABLE}[{_BREADTH}].{column}"


def _cell(program: Any, column: str) -> tuple[int, int]:
    """Return where a cell stands: which of the program's table facts, and which place in it."""
    declared = next(index for index, one in enumerate(program.types) if one.name == _TABLE)
    fields = program.types[declared].fields
    number, breadth = program.symbols.index(_BREADTH), fields.index("breadth") + 1
    row = next(index for index, fact in enumerate(program.tables) if fact[0] == declared and fact[breadth] == number)
    return row, fields.index(column) + 1


def with_cells(bundle: Any) -> Any:
    """Return the bundle with its cells of the table among its settings, where curves look up the value in force."""
    found = {}
    for column in CELLS:
        row, place = _cell(bundle.program, column)
        found[_cell_name(column)] = Setting(bundle.program.tables[row][place], "Checks that are needed.", Source(""))
    return bundle._replace(settings={**bundle.settings, **found})


def _with_cell(bundle: Any, column: str, value: int) -> Any:
    program = bundle.program
    row, place = _cell(program, column)
    fact = program.tables[row]
    changed = (*fact[:place], value, *fact[place + 1 :])
    tables = (*program.tables[:row], changed, *program.tables[row + 1 :])
    digest = f"{bundle.digest}+{column}={value}"
    return bundle._replace(program=program._replace(tables=tables), generated="", digest=digest)


class _Judge:
    """A bundle at every point, each made ready once: those of its settings that are given, else all, and the cells."""

    def __init__(self, name: str, points: Sequence[Point] | None = None) -> None:
        bundle = load_bundle(name)._replace(engine="compiled", cross_check=False)
        self._settings, self._bundle = Sweeper(bundle, points_of(bundle) if points is None else points), bundle
        self._cells = [Runtime(_with_cell(bundle, column, value)) for column in CELLS for value in range(1, _MOST_NEEDED + 1)]
        cells = [Point(_cell_name(column), value) for column in CELLS for value in range(1, _MOST_NEEDED + 1)]
        self.points = [*self._settings.points, *cells]

    def __call__(self, request: Mapping[str, Any]) -> list[bool]:
        replay = Replay(request, self._bundle)
        return [*self._settings.see(request), *(verdict_in(replay.run(gate), request).admitted for gate in self._cells)]


@cache
def _judge(name: str) -> _Judge:
    return _Judge(name)


def _seen(name: str, request: Mapping[str, Any]) -> list[bool]:
    return _judge(name)(request)


def swept(found: Parts, name: str, jobs: int = 1) -> tuple[list[Point], Swept, Swept]:
    """Return the points, and at each of them the open part and the part that is kept apart; `jobs` processes judge."""
    requests = [one.request for part in found for one in part]
    if jobs > 1:
        with ProcessPoolExecutor(jobs) as pool:
            rows = list(pool.map(_seen, [name] * len(requests), requests, chunksize=16))
    else:
        rows = [_seen(name, request) for request in requests]
    cut = len(found.open)
    first = Swept([one.case for one in found.open], rows[:cut])
    return _judge(name).points, first, Swept([one.case for one in found.apart], rows[cut:])


# -- cross-validation ------------------------------------------------------------------------------------------------------------


class _Rates(NamedTuple):
    precision: float
    recall: float
    harm: float


def _rates(cases: Sequence[Case], admitted: Admitted, places: Iterable[int]) -> _Rates | None:
    """Return the rates on the records at `places`, `None` where nothing is admitted or nothing helped."""
    own = list(places)
    taken = [cases[place] for place in own if admitted[place]]
    helped, won = sum(cases[place].helped() for place in own), sum(case.helped() for case in taken)
    if not taken or not helped:
        return None
    return _Rates(won / len(taken), won / helped, sum(case.harmed() for case in taken) / len(taken))


def _gains(now: _Rates | None, then: _Rates | None) -> tuple[float, ...] | None:
    """Return what is gained in each measure, less harm being a gain; `None` where only one of both is defined."""
    if now is None and then is None:
        return 0.0, 0.0, 0.0
    if now is None or then is None:
        return None
    return then.precision - now.precision, then.recall - now.recall, now.harm - then.harm


def _better(gains: tuple[float, ...] | None) -> bool:
    return gains is not None and min(gains) >= 0 and max(gains) > 0


def judged(setting: str, points: Sequence[Point], now: float, found: Swept, plan: Plan) -> dict[str, Any]:
    """Return what cross-validation says of one setting: its values by group, what they change, and the values to propose.

    `points` are those of the setting, and the rows of `found` hold what is admitted at each of them, in order.
    """
    gates = [[row[place] for row in found.rows] for place in range(len(points))]
    held = next(place for place, point in enumerate(points) if float(point.value) == now)
    groups = [fold_of(case.task, plan.folds) for case in found.cases]
    chosen = [
        _chosen(found.cases, gates, held, [place for place, at in enumerate(groups) if at != fold]) for fold in range(plan.folds)
    ]
    by_fold = [gates[chosen[at]][place] for place, at in enumerate(groups)]
    others = [place for place in range(len(points)) if place != held and gates[place] != gates[held]]
    values = [
        {
            "value": float(points[place].value),
            **_value(found.cases, gates[held], gates[place], groups, plan, setting),
        }
        for place in others
    ]
    return {
        "setting": setting,
        "now": now,
        "chosen": [float(points[place].value) for place in chosen],
        "held_out": _differences(found.cases, gates[held], by_fold, plan, setting),
        "values": values,
        "proposed": [one["value"] for one in values if one["better_in"] == plan.folds and one["beyond"]],
    }


def _chosen(cases: Sequence[Case], gates: Sequence[Admitted], held: int, places: Sequence[int]) -> int:
    """Return the value that is best at some records: of those better than the one in force the one that gains most in all."""
    now = _rates(cases, gates[held], places)
    gained = [(_gains(now, _rates(cases, gate, places)), place) for place, gate in enumerate(gates)]
    return max(
        ((sum(gains or ()), -abs(place - held), place) for gains, place in gained if _better(gains)), default=(0, 0, held)
    )[2]


def _value(cases: Sequence[Case], now: Admitted, then: Admitted, groups: Sequence[int], plan: Plan, seed: str) -> dict[str, Any]:
    """Return in how many groups a value is better and worse than the one in force, and which measures it betters beyond noise."""
    told = _differences(cases, now, then, plan, seed)
    folds = [[place for place, at in enumerate(groups) if at == fold] for fold in range(plan.folds)]
    gains = [_gains(_rates(cases, now, places), _rates(cases, then, places)) for places in folds]
    good = {"precision": lambda low, _: low > 0, "recall": lambda low, _: low > 0, "harm": lambda _, high: high < 0}
    bad = {"precision": good["harm"], "recall": good["harm"], "harm": good["precision"]}
    return {
        **told,
        "better_in": sum(map(_better, gains)),
        "worse_in": sum(one is None or min(one) < 0 for one in gains),
        "beyond": [name for name in MEASURES if _holds(told[name], good[name])],
        "against": [name for name in MEASURES if _holds(told[name], bad[name])],
    }


def _holds(found: Mapping[str, Any], asked: Callable[[float, float], bool]) -> bool:
    return found["cluster"] is not None and asked(*found["cluster"])


def _differences(cases: Sequence[Case], now: Admitted, then: Admitted, plan: Plan, seed: str) -> dict[str, Any]:
    """Return precision, recall and harm with other values less those with the value in force, paired over tasks."""
    every = Contrast(cases, f"{plan.seed}:{seed}", plan.resamples)
    helped = [place for place, case in enumerate(cases) if case.helped()]
    of_helped = every._replace(cases=[cases[place] for place in helped])
    chosen = ([int(gate[place]) for place in helped] for gate in (then, now))
    return {
        "precision": every("precision", then, now, Case.helped, difference),
        "recall": _recalled(of_helped, *chosen),
        "harm": every("harm", then, now, Case.harmed, difference),
    }


def _recalled(of_helped: Contrast, then: Sequence[int], now: Sequence[int]) -> dict[str, Any]:
    """Return the difference of recall: every record that helped counts once, admitted or not."""
    rows = [(case.task, (a, 1, b, 1)) for case, a, b in zip(of_helped.cases, then, now, strict=True)]
    return contrasted("recall", rows, difference, of_helped.seed, of_helped.resamples)


# -- the report ------------------------------------------------------------------------------------------------------------------


def document(name: str, points: Sequence[Point], found: Swept, apart: Swept, plan: Plan) -> dict[str, Any]:
    """Return the curves and verdicts of the open part, and the curves of the part that is kept apart."""
    bundle = with_cells(load_bundle(name))
    drawn = curves(bundle, points, list(zip(found.cases, found.rows, strict=True)), plan)
    told = []
    for curve in drawn["curves"]:
        places = [place for place, point in enumerate(points) if point.setting == curve["setting"]]
        own = Swept(found.cases, [[row[place] for place in places] for row in found.rows])
        told.append(judged(curve["setting"], [points[place] for place in places], curve["value"], own, plan))
    tried = {point.setting for point in points}
    numbers = [key for key, one in bundle.settings.items() if not isinstance(one.value, bool | str)]
    return {
        "bundle": name,
        "records": {"open": len(found.cases), "apart": len(apart.cases)},
        "curves": drawn["curves"],
        "flat": drawn["flat"],
        "not_read": sorted(set(numbers) - tried),
        "settings": told,
        "apart": curves(bundle, points, list(zip(apart.cases, apart.rows, strict=True)), plan)["curves"],
    }


_RULE: Final = (
    "a group is judged by the value that is best on the other groups; differences are of all groups so judged less the value in"
    " force, per cent, over resampled tasks; a value is proposed that is better in every group and beyond noise"
)


def sheets(told: Mapping[str, Any], part: str) -> list[Sheet]:
    """Return the tables of the part `open` or `apart`."""
    if part == "apart":
        return [_apart_sheet(told)]
    rows = [_verdict_cells(one) for one in told["settings"]]
    columns = ("threshold", "now", "chosen by group", "precision", "recall", "harm", "beyond noise", "proposed")
    notes = (
        _RULE,
        f"no decision changes here with: {', '.join(told['flat']) or '-'}",
        f"read by Python, or by stages that no evaluation runs: {', '.join(told['not_read']) or '-'}",
    )
    title = f"thresholds of {told['bundle']} by cross-validation, {told['records']['open']} records"
    return [Sheet(title, columns, rows, (1,), notes), *map(curve_sheet, told["curves"])]


def _verdict_cells(one: Mapping[str, Any]) -> tuple[str, ...]:
    changed = (_change(one["held_out"][name]) for name in MEASURES)
    traded = [
        f"{value['value']:g}: {', '.join(value['beyond'])} (better in {value['better_in']} groups, worse in {value['worse_in']})"
        for value in one["values"]
        if value["beyond"]
    ]
    chosen = ", ".join(f"{value:g}" for value in one["chosen"])
    proposed = ", ".join(f"{value:g}" for value in one["proposed"]) or "none"
    return one["setting"], f"{one['now']:g}", chosen, *changed, "; ".join(traded) or "-", proposed


def _change(found: Mapping[str, Any]) -> str:
    return "-" if found["value"] is None else f"{shown(found['value'])} ({ends(found['cluster'])})"


def _apart_sheet(told: Mapping[str, Any]) -> Sheet:
    """Return the part kept apart: each setting with the value in force, and those that a group chose or that are proposed."""
    named = {one["setting"]: {one["now"], *one["chosen"], *one["proposed"]} for one in told["settings"]}
    rows = []
    for curve in told["apart"]:
        for point in curve["points"]:
            if point["value"] in named.get(curve["setting"], ()):
                shares = [shown(point[name]["share"]) for name in ("precision", "harm", "recall")]
                held = "in force" if point["value"] == curve["value"] else "chosen"
                rows.append((curve["setting"], f"{point['value']:g}", held, str(point["admitted"]), *shares))
    columns = ("threshold", "value", "", "admits", "precision", "harm", "recall")
    title = f"kept apart: thresholds of {told['bundle']}, {told['records']['apart']} records"
    note = "per cent; the value in force, and each that a group chose; thresholds that change no decision here are left out"
    return Sheet(title, columns, rows, (1, 3, 4, 5, 6), (note,))


def main() -> int:
    """Print the tables, the part that is kept apart last."""
    parser = options(__doc__)
    parser.add_argument("--bundle", default="structured")
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    told = document(asked.bundle, *swept(parts(asked.corpora), asked.bundle, asked.jobs), Plan(resamples=asked.resamples))
    put(told, [*sheets(told, "open"), *sheets(told, "apart")], asked.format)
    return 0


if __name__ == "__main__":
    sys.exit(main())
