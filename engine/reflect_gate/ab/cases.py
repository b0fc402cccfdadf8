"""What is compared: a record under two bundles, beside what is known of it; and the fifth of the tasks that is kept apart."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ..corpus.blind import Labelled
from ..corpus.figures import Case
from ..corpus.score import Outcome, Verdict, outcome_of
from ..errors import ReflectGateError, Source, did_you_mean

__all__ = ["FROZEN_ONE_IN", "Known", "Subject", "case_of", "frozen", "known_of", "labelled"]

FROZEN_ONE_IN: Final = 5


class Known(NamedTuple):
    """A line of the labels: outcomes, the group that the record belongs to, and what its one model call cost where that was kept.

    Attributes:
        cost: US dollars.
        tokens: tokens in and out together.
    """

    outcome: Outcome
    group: str
    cost: float | None
    tokens: int | None


class Subject(NamedTuple):
    """One record under both bundles.

    Attributes:
        seen: what a text-blind gate sees of it (`corpus.blind.features`).
        bare: it holds no trace at all, so that whatever is said of it is speculation.
        known: its label, `None` where there is none.
        a: what the first bundle said.
        b: what the second said.
        swapped: whether the first bundle admits another task's reflection in this one's place; `None` where there was none.
    """

    group: str
    seen: tuple[float, ...]
    bare: bool
    known: Known | None
    a: Verdict
    b: Verdict
    swapped: bool | None


def known_of(row: object, source: Source, key: str = "task") -> Known:
    """Return a line of a labels file, grouped by its value under `key`; `corpus-bad-label` where it is none."""
    outcome = outcome_of(row, source)
    fields: Mapping[str, Any] = row  # type: ignore[assignment]  # outcome_of has seen that it is an object
    group = fields.get(key)
    if not isinstance(group, str):
        near = did_you_mean(key, [name for name, value in fields.items() if isinstance(value, str) and name != "id"])
        raise _bad(key, "a text, which says what the record belongs to", group, source, near)
    return Known(outcome, group, _amount(fields, "cost", source), _whole(fields, source))


def _amount(fields: Mapping[str, Any], key: str, source: Source) -> float | None:
    value = fields.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise _bad(key, "a number of at least 0, or null", value, source)
    return float(value)


def _whole(fields: Mapping[str, Any], source: Source) -> int | None:
    value = _amount(fields, "tokens", source)
    if value is not None and value != int(value):
        raise _bad("tokens", "a whole number, or null", value, source)
    return None if value is None else int(value)


def _bad(key: str, expected: str, found: object, source: Source, more: str = "") -> ReflectGateError:
    message = f"`{key}` must be {expected}, not `{str(found)[:80]}`{more}"
    return ReflectGateError("corpus-bad-label", message, source._replace(pointer=f"/{key}"))


def frozen(group: str) -> bool:
    """Return whether a group belongs to the part that nothing is tuned on: one in `FROZEN_ONE_IN`, by hash of its name alone."""
    return hashlib.sha256(b"frozen:" + group.encode("utf-8", "surrogatepass")).digest()[0] % FROZEN_ONE_IN == 0


def case_of(subject: Subject) -> Case | None:
    """Return what is scored, `None` where an outcome is not known."""
    known = subject.known
    if known is None or known.outcome.before is None or known.outcome.after is None:
        return None
    return Case(subject.group, known.outcome.before, known.outcome.after)


def labelled(subject: Subject, case: Case) -> Labelled:
    """Return a record as a text-blind gate is fitted to it."""
    return Labelled(case.task, subject.seen, case.helped())
