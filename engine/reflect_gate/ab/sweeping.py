"""Curves of thresholds: what a bundle admits when one numeric setting is another, and how good that is.

Swept are the numeric settings that rules read in the stages of an evaluation. One setting moves at a time, the others stay; a
request is measured once. A curve is read off the records that it is drawn on: choosing a value by it fits it to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, Final, NamedTuple, TypeAlias

from ..corpus._intervals import share
from ..corpus.figures import Case
from ..facts import Domain
from ..policy import Bundle
from ..policy.model import Program
from ..policy.wording import domain_of, patterns_of
from ..replaying import Replay
from ..runtime import AFTERWARDS, Runtime
from ..whynot.policies import Policy, allowed
from .comparing import Plan
from .removing import verdict_in

__all__ = ["Point", "Sweeper", "curves", "points_of", "sweeper"]

Number: TypeAlias = int | Decimal

_FACTORS: Final = ("0", "0.25", "0.5", "0.75", "0.9", "1", "1.1", "1.25", "1.5", "2")
_STEPS: Final = (-3, -2, -1, 0, 1, 2, 3, 5)
_CENT: Final = Decimal("0.01")


class Point(NamedTuple):
    """A setting at one value."""

    setting: str
    value: Number


def points_of(bundle: Bundle) -> list[Point]:
    """Return every value that is tried, by setting and then by value; the value in force is one of each setting's."""
    program = bundle.program
    stages = {ruleset.name: ruleset.stage for ruleset in bundle.rulesets if ruleset.on}
    domains = _domains(program)
    found = []
    for name, setting in sorted(bundle.settings.items()):
        domain, now = domains.get(name), setting.value
        stage = stages.get(name.partition(".")[0], "audit")
        if domain is None or stage in AFTERWARDS or isinstance(now, bool | str):
            continue
        found += [Point(name, value) for value in sorted(_values(now, domain)) if allowed(bundle, Policy(((name, value),)))]
    return found


def _domains(program: Program) -> dict[str, Domain]:
    """Return the domain in which rules compare each setting."""
    found: dict[str, Domain] = {}
    for rule in program.rules:
        for pattern in patterns_of(rule):
            for test in pattern.tests:
                domain = domain_of(program, pattern.type, test.position) if test.setting else None
                if domain is not None:
                    found[test.setting] = domain
    return found


def _values(now: Number, domain: Domain) -> set[Number]:
    if isinstance(now, Decimal):
        tried = {(now * Decimal(factor)).quantize(_CENT, ROUND_HALF_EVEN) for factor in _FACTORS} | {now}
        return {value for value in tried if domain.exact(value) is not None}
    return {now + step for step in _STEPS if domain.exact(now + step) is not None}


class Sweeper:
    """A bundle at each of some points, each made ready once; the compiled engine alone infers."""

    def __init__(self, bundle: Bundle, points: Sequence[Point]) -> None:
        self.bundle = bundle._replace(engine="compiled", cross_check=False)
        self.points = points
        self._gates: dict[Point, Runtime] = {}

    def see(self, request: Mapping[str, Any]) -> list[bool]:
        """Return whether a request is admitted at each point, in order; raises as `evaluate` does."""
        replay = Replay(request, self.bundle)
        return [verdict_in(replay.run(self._gate(point)), request).admitted for point in self.points]

    def _gate(self, point: Point) -> Runtime:
        if point not in self._gates:
            self._gates[point] = Runtime(Policy(((point.setting, point.value),)).apply(self.bundle, in_place=True))
        return self._gates[point]


def sweeper(bundle: Bundle, points: Sequence[tuple[str, str]]) -> Callable[[Mapping[str, Any]], list[bool]]:
    """Return what says of a request whether it is admitted at each point, which is a setting with its value as text."""
    return Sweeper(bundle, [Point(name, _read(bundle, name, said)) for name, said in points]).see


def _read(bundle: Bundle, name: str, said: str) -> Number:
    return Decimal(said) if isinstance(bundle.settings[name].value, Decimal) else int(said)


def curves(
    bundle: Bundle, points: Sequence[Point], rows: Sequence[tuple[Case | None, Sequence[bool]]], plan: Plan
) -> dict[str, Any]:
    """Return the curve of each setting that changes what is admitted, and the settings that change nothing within their values.

    Args:
        bundle: whose settings they are.
        points: what was tried, as `points_of` gives it.
        rows: of each record its outcomes, `None` where one is not known, and whether it is admitted at each point.
        plan: how intervals are drawn.
    """
    drawn, flat = [], []
    for name in dict.fromkeys(point.setting for point in points):
        places = [place for place, point in enumerate(points) if point.setting == name]
        if all(len({admitted[place] for place in places}) < 2 for _, admitted in rows):
            flat.append(name)
            continue
        drawn.append(
            {
                "setting": name,
                "value": float(_number(bundle, name)),
                "points": [_point(points[place], [(case, said[place]) for case, said in rows], plan) for place in places],
            }
        )
    return {"curves": drawn, "flat": flat}


def _number(bundle: Bundle, name: str) -> Number:
    value = bundle.settings[name].value
    return Decimal(0) if isinstance(value, bool | str) else value


def _point(point: Point, rows: Sequence[tuple[Case | None, bool]], plan: Plan) -> dict[str, Any]:
    scored = [(case, admitted) for case, admitted in rows if case is not None]
    taken = [case for case, admitted in scored if admitted]

    def told(what: str, found: Sequence[tuple[str, bool]]) -> dict[str, Any]:
        # One seed for all values, so that the band moves where the records do and not by lot.
        return share(found, f"{plan.seed}:sweep:{what}", plan.resamples).to_json()

    return {
        "value": float(point.value),
        "admitted": sum(admitted for _, admitted in rows),
        "precision": told("precision", [(case.task, case.helped()) for case in taken]),
        "harm": told("harm", [(case.task, case.harmed()) for case in taken]),
        "recall": told("recall", [(case.task, admitted) for case, admitted in scored if case.helped()]),
    }
