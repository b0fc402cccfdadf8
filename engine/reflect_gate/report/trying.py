"""An attempt of `policy try` as text and as `policy-try.schema.json` has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import ReflectGateError
from ..trying import TRY_SCHEMA
from ._paint import Paint
from ._safe import one_line, plain
from .explain import explanation_text
from .text import decision_line, decision_text, said_line

if TYPE_CHECKING:
    from ..trying import Attempt

__all__ = ["attempt_document", "attempt_text"]

Document: TypeAlias = Mapping[str, Any]

_NAMED = 4


def attempt_document(attempt: Attempt, told: Callable[[ReflectGateError], Document]) -> dict[str, Any]:
    """Return the attempt as data; `told` gives an error as data."""
    return {
        "schema": TRY_SCHEMA,
        "attempt": attempt.number,
        "changed": list(attempt.changed),
        "judged": not attempt.errors,
        "errors": list(map(told, attempt.errors)),
        "decision": attempt.decision,
        "difference": attempt.difference,
    }


def attempt_text(attempt: Attempt, paint: Paint | None = None) -> str:
    """Return the attempt for people: decision with its marked texts, the trace, and last what is different now."""
    paint = paint or Paint()
    parts = [_heading(attempt, paint)]
    if attempt.errors:
        parts += _kept(attempt, paint)
    elif attempt.decision is not None and attempt.request is not None:
        parts.append(decision_text(attempt.decision, attempt.request["reflection"], paint).rstrip("\n"))
        parts.append(f"{paint('why', 'bold')}\n{explanation_text(attempt.decision, (), paint).rstrip()}")
        if attempt.difference is not None:
            parts.append("\n".join(_difference(attempt.difference, paint)))
    return "\n\n".join(parts) + "\n\n"


def _heading(attempt: Attempt, paint: Paint) -> str:
    names = ", ".join(one_line(file, 120) for file in attempt.changed[:_NAMED])
    more = f" and {len(attempt.changed) - _NAMED} more" if len(attempt.changed) > _NAMED else ""
    return paint(f"── {attempt.number} ──" + (f" changed: {names}{more}" if names else ""), "bold")


def _kept(attempt: Attempt, paint: Paint) -> Iterator[str]:
    count = len(attempt.errors)
    yield paint(f"not judged: {count} {'error' if count == 1 else 'errors'}", "red")
    yield "there is no decision yet" if attempt.decision is None else f"still {plain(decision_line(attempt.decision))}"


def _difference(found: Document, paint: Paint) -> Iterator[str]:
    yield paint("against the decision before", "bold")
    if found["same"]:
        yield "  nothing differs"
        return
    if found["before"] != found["after"]:
        yield f"  {plain(decision_line(found['before']))} → {plain(decision_line(found['after']))}"
    for moved in found["stages"]:
        yield f"  {moved['stage']}: {plain(moved['before'])} → {plain(moved['after'])}"
    yield from _signed("-", "red", [said_line(one) for one in found["gone"]], paint)
    yield from _signed("+", "green", [said_line(one) for one in found["added"]], paint)
    yield from _signed("-", "red", [f"{plain(rule)} fires no more" for rule in found["silenced"]], paint)
    yield from _signed("+", "green", [f"{plain(rule)} fires" for rule in found["fired"]], paint)
    yield from _signed("-", "red", [_span(one) for one in found["unmarked"]], paint)
    yield from _signed("+", "green", [_span(one) for one in found["marked"]], paint)


def _signed(sign: str, style: str, lines: Sequence[str], paint: Paint) -> Iterator[str]:
    for line in lines:
        yield f"  {paint(sign, style)} {line}"


def _span(span: Document) -> str:
    return f"`{one_line(span['text'], 60)}` in {plain(span['target'])}  {plain(span['lexicon'])}/{plain(span['group'])}"
