"""A ridge-regularised logistic model in plain Python, as a family of gates that is fitted like those of `corpus.blind`.

Columns are brought to mean 0 and deviation 1 on the records that the model is fitted to; a column that is the same everywhere
there is left out. Newton's method on the penalised likelihood; there is nothing random in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from reflect_gate.corpus.blind import Fitted, Labelled

__all__ = ["Model", "fit", "least_for", "logistic", "single"]

RIDGE = 1.0
"""Weight of the penalty on the squared coefficients of standardised columns; that of the intercept is free."""

_STEPS = 25
_ENOUGH = 1e-8
_MOST_EXPONENT = 30.0


class Column(NamedTuple):
    """A column that is used: its place, its mean and its deviation."""

    place: int
    mean: float
    deviation: float


class Model(NamedTuple):
    """A fitted model; `weights` starts with the intercept and then follows `columns`."""

    columns: tuple[Column, ...]
    weights: tuple[float, ...]

    def chance(self, features: Sequence[float]) -> float:
        """Return the chance of help that the model gives a record."""
        return _logistic(_dot(self.weights, _row(features, self.columns)))


def fit(rows: Sequence[Sequence[float]], helped: Sequence[bool], ridge: float = RIDGE) -> Model:
    """Return the model of most penalised likelihood."""
    columns = tuple(_columns(rows))
    made = [_row(row, columns) for row in rows]
    weights = [0.0] * (len(columns) + 1)
    for _ in range(_STEPS):
        step = _newton(made, helped, weights, ridge)
        weights = [weight + change for weight, change in zip(weights, step, strict=True)]
        if max(map(abs, step)) < _ENOUGH:
            break
    return Model(columns, tuple(weights))


def _columns(rows: Sequence[Sequence[float]]) -> list[Column]:
    found = []
    for place, values in enumerate(zip(*rows, strict=True)):
        mean = sum(values) / len(values)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
        if deviation > 0:
            found.append(Column(place, mean, deviation))
    return found


def _row(features: Sequence[float], columns: Sequence[Column]) -> list[float]:
    return [1.0, *((features[place] - mean) / deviation for place, mean, deviation in columns)]


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def _logistic(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-_MOST_EXPONENT, min(_MOST_EXPONENT, value))))


def _newton(rows: Sequence[Sequence[float]], helped: Sequence[bool], weights: Sequence[float], ridge: float) -> list[float]:
    """Return one step: the gradient of the penalised likelihood by its curvature."""
    size = len(weights)
    gradient = [0.0, *(-ridge * weight for weight in weights[1:])]
    curvature = [[ridge if place == other and place else 0.0 for other in range(size)] for place in range(size)]
    for row, won in zip(rows, helped, strict=True):
        chance = _logistic(_dot(weights, row))
        spread = chance * (1.0 - chance)
        for place, value in enumerate(row):
            gradient[place] += (won - chance) * value
            weighted, line = spread * value, curvature[place]
            for other in range(place + 1):
                line[other] += weighted * row[other]
    for place in range(size):
        for other in range(place):
            curvature[other][place] = curvature[place][other]
    return _solved(curvature, gradient)


def _solved(matrix: Sequence[Sequence[float]], values: Sequence[float]) -> list[float]:
    """Return the solution of a symmetric, positive definite system, by Gaussian elimination with the largest pivot."""
    size = len(values)
    lines = [[*line, value] for line, value in zip(matrix, values, strict=True)]
    for place in range(size):
        best = max(range(place, size), key=lambda one: abs(lines[one][place]))
        lines[place], lines[best] = lines[best], lines[place]
        for below in range(place + 1, size):
            factor = lines[below][place] / lines[place][place]
            lines[below] = [a - factor * b for a, b in zip(lines[below], lines[place], strict=True)]
    found = [0.0] * size
    for place in reversed(range(size)):
        known = _dot(lines[place][place + 1 : size], found[place + 1 :])
        found[place] = (lines[place][size] - known) / lines[place][place]
    return found


def least_for(chances: Sequence[float], helped: Sequence[bool], recall: float) -> float:
    """Return the highest threshold at which no less than `recall` of what helped is admitted; infinite where nothing helped."""
    won = sorted((chance for chance, hit in zip(chances, helped, strict=True) if hit), reverse=True)
    needed = math.ceil(recall * len(won) - 1e-9)
    return won[max(needed, 1) - 1] if won else math.inf


def logistic(records: Sequence[Labelled], recall: float) -> Fitted:
    """Return the gate that admits from the chance at which the model, on `records`, admits `recall` of what helped."""
    helped = [record.helped for record in records]
    model = fit([record.features for record in records], helped)
    least = least_for([model.chance(record.features) for record in records], helped, recall)
    return Fitted(lambda record: model.chance(record.features) >= least, f"{len(model.columns)} features")


def single(records: Sequence[Labelled], recall: float) -> Fitted:
    """Return the gate that asks for a least value of the one feature that records carry, at no less than `recall`.

    A record with a value below 0 is never admitted.
    """
    least = max(0.0, least_for([record.features[0] for record in records], [record.helped for record in records], recall))
    return Fitted(lambda record: record.features[0] >= least, f"at least {least:.2f}")
