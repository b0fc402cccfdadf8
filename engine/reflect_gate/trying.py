"""A request judged again and again while its policies are edited: each attempt, and what it changed against the one before.

A broken file costs an attempt, and no more: its faults are told with their places, and the last decision stands on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from .errors import ReflectGateError
from .shadowing import as_documents, said

if TYPE_CHECKING:
    from .policy import Bundle

__all__ = ["TRY_SCHEMA", "Attempt", "Attempts", "difference"]

TRY_SCHEMA: Final = "urn:reflect-gate:schema:policy-try:1"
_JUDGED: Final = ("ground", "generalize", "calibrate", "admit", "lifecycle")

Document: TypeAlias = Mapping[str, Any]


class Attempt(NamedTuple):
    """One attempt.

    Attributes:
        number: its number, from 1.
        changed: the files whose change led to it.
        decision: the last decision that could be made, `None` before the first one; with its firings.
        request: what that decision was made of.
        errors: why this attempt made none; empty where `decision` is its own.
        difference: what the decision changed against the one before, `None` where there is no such pair.
    """

    number: int
    changed: Sequence[str]
    decision: Document | None
    request: Document | None
    errors: Sequence[ReflectGateError]
    difference: Document | None

    @property
    def exit_code(self) -> int | None:
        """What `evaluate` would exit with, `None` where nothing could be judged."""
        return None if self.errors or self.decision is None else int(self.decision["exit_code"])


class Attempts:
    """Makes attempts; `bundle` and `request` are read anew for each."""

    def __init__(self, bundle: Callable[[], Bundle], request: Callable[[], Document]) -> None:
        self._bundle = bundle
        self._request = request
        self._number = 0
        self._last: tuple[Document, Document] | None = None

    def make(self, changed: Sequence[str] = ()) -> Attempt:
        """Judge what the files say now."""
        from .pipeline import evaluate

        self._number += 1
        before = self._last
        try:
            bundle, request = self._bundle(), self._request()
            decision = evaluate(request, bundle, explain=True).to_json()
        except ReflectGateError as error:
            kept, asked = before or (None, None)
            return Attempt(self._number, changed, kept, asked, error.errors, None)
        self._last = decision, request
        differs = None if before is None else difference(before, self._last)
        return Attempt(self._number, changed, decision, request, (), differs)


def difference(before: tuple[Document, Document], after: tuple[Document, Document]) -> dict[str, Any]:
    """Return what differs between two decisions, each with its request, as `policy-try.schema.json` has it."""
    (first, first_request), (second, second_request) = before, after
    own, theirs = said(first["findings"]), said(second["findings"])
    was, now = _fired(first), _fired(second)
    shown, marked = _spans(first, first_request), _spans(second, second_request)
    found: dict[str, Any] = {
        "before": _outcome(first),
        "after": _outcome(second),
        "stages": _stages(first, second),
        "gone": as_documents(own - theirs),
        "added": as_documents(theirs - own),
        "silenced": sorted(was - now),
        "fired": sorted(now - was),
        "unmarked": _texts(shown - marked),
        "marked": _texts(marked - shown),
    }
    return {"same": found["before"] == found["after"] and not any(found[key] for key in list(found)[2:]), **found}


def _outcome(decision: Document) -> dict[str, Any]:
    return {"status": decision["status"], "reason": decision["reason"]}


def _stages(first: Document, second: Document) -> list[dict[str, str]]:
    """Return the stages whose output is told differently."""
    from .report.text import verdict_of

    told = ((stage, *(verdict_of(stage, one["stages"].get(stage)) for one in (first, second))) for stage in _JUDGED)
    return [{"stage": stage, "before": was, "after": now} for stage, was, now in told if was != now]


def _fired(decision: Document) -> set[str]:
    return {firing["rule"] for firing in decision.get("firings") or ()}


def _spans(decision: Document, request: Document) -> Counter[tuple[str, str, str, str]]:
    """Return what lexicons found, by the text itself: offsets move with every edit before them."""
    reflection = request["reflection"]
    return Counter(
        (span["target"], span["lexicon"], span["group"], str(reflection.get(span["target"], ""))[span["start"] : span["end"]])
        for span in decision["spans"]
    )


def _texts(found: Iterable[tuple[str, str, str, str]]) -> list[dict[str, str]]:
    return [dict(zip(("target", "lexicon", "group", "text"), entry, strict=True)) for entry in sorted(found)]
