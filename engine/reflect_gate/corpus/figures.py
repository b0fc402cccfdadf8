"""Rates of a gate on records whose outcomes are known, and paired contrasts of two gates on the same records.

A gate is what it admits of each record, in order: a flag, or for a gate that draws, the chance with which it admits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from ._intervals import bootstrap, share

__all__ = ["Case", "Contrast", "Statistic", "contrasted", "difference", "rates", "ratio"]

Statistic: TypeAlias = Callable[[Sequence[float]], "float | None"]
"""Of the four sums (own hits, own admitted, other hits, other admitted)."""


class Case(NamedTuple):
    """A record with both outcomes known: its task, and whether the attempt before and the one after passed."""

    task: str
    before: bool
    after: bool

    def helped(self) -> bool:
        """The attempt before failed, the one after passed."""
        return self.after and not self.before

    def harmed(self) -> bool:
        """The attempt before passed, the one after failed."""
        return self.before and not self.after


def rates(
    cases: Sequence[Case], name: str, admitted: Sequence[bool], asks: str = "", *, seed: str, resamples: int
) -> dict[str, Any]:
    """Return the rates of one gate: precision and harm of what it admits, recall of what helped, and within real failures."""
    taken = [case for case, chosen in zip(cases, admitted, strict=True) if chosen]
    both = list(zip(cases, admitted, strict=True))

    def told(what: str, rows: Iterable[tuple[str, bool]]) -> dict[str, Any]:
        return share(rows, f"{seed}:{name}:{what}", resamples).to_json()

    return {
        "gate": name,
        "asks": asks,
        "admitted": told("admitted", ((case.task, chosen) for case, chosen in both)),
        "precision": told("precision", ((case.task, case.helped()) for case in taken)),
        "harm": told("harm", ((case.task, case.harmed()) for case in taken)),
        "recall": told("recall", ((case.task, chosen) for case, chosen in both if case.helped())),
        "in_real_failures": told("real", ((case.task, case.helped()) for case in taken if not case.before)),
    }


class Contrast(NamedTuple):
    """Compares two gates on the same cases; whole tasks are resampled, so that both gates see the same draw."""

    cases: Sequence[Case]
    seed: str
    resamples: int

    def __call__(
        self,
        what: str,
        gate: Sequence[float],
        other: Sequence[float],
        hit: Callable[[Case], bool],
        statistic: Statistic,
    ) -> dict[str, Any]:
        """Return the statistic and its interval over tasks; both `None` where it is not defined."""
        rows = []
        for case, mine, theirs in zip(self.cases, gate, other, strict=True):
            won = hit(case)
            rows.append((case.task, (mine * won, mine, theirs * won, theirs)))
        return contrasted(what, rows, statistic, self.seed, self.resamples)


def contrasted(
    what: str, rows: Sequence[tuple[str, Sequence[float]]], statistic: Statistic, seed: str, resamples: int
) -> dict[str, Any]:
    """Return a statistic of four summed columns, with its interval over resampled tasks."""
    value = statistic([sum(counts[place] for _, counts in rows) for place in range(4)])
    interval = bootstrap(rows, statistic, f"{seed}:{what}", resamples)
    return {
        "what": what,
        "value": None if value is None else round(value, 4),
        "cluster": None if interval is None else [round(end, 4) for end in interval],
    }


def ratio(counts: Sequence[float]) -> float | None:
    """Return the one rate by the other."""
    hits, size, other_hits, other_size = counts
    return (hits / size) / (other_hits / other_size) if size and other_hits else None


def difference(counts: Sequence[float]) -> float | None:
    """Return the one rate less the other."""
    hits, size, other_hits, other_size = counts
    return hits / size - other_hits / other_size if size and other_size else None
