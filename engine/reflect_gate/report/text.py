"""A decision as text for people. Pure functions: a decision document (`decision.schema.json`) in, lines out."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from .._canonical import canonical_bytes
from ._paint import VERDICT_STYLE, Paint
from ._safe import one_line, plain

__all__ = [
    "GOOD_VERDICTS",
    "OPERATORS",
    "condition",
    "deciding",
    "decision_line",
    "decision_text",
    "finding_line",
    "line_text",
    "marked",
    "said_line",
    "shown_value",
    "summary_text",
    "verdict_of",
]

Document = Mapping[str, Any]

OPERATORS: Final = {"eq": "=", "ne": "≠", "gte": "≥", "gt": ">", "lte": "≤", "lt": "<", "in": "in"}

_COMPARE: Final[Mapping[str, Callable[[Any, Any], object]]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gte": operator.ge,
    "gt": operator.gt,
    "lte": operator.le,
    "lt": operator.lt,
}

GOOD_VERDICTS: Final = frozenset({"grounded", "corroborate", "independent", "calibrated", "admit"})
_SIGNS: Final = {"undecided": "?", "redflag": "!"}
_REPEATED: Final = frozenset({"speculative", "shallow", "too_vague"})
_JUDGING: Final = ("ground", "generalize", "calibrate", "admit", "lifecycle")


def decision_text(decision: Document, reflection: Document | None = None, paint: Paint | None = None) -> str:
    """Return the whole decision; `reflection` is the candidate, shown with its matched spans where it is given."""
    paint = paint or Paint()
    parts = [_heading(decision, paint), _identity(decision, paint)]
    if reflection is not None:
        parts.append("\n".join(_candidate(reflection, decision["spans"], paint)))
    parts.append("\n".join(_stages(decision, paint)))
    reached = [found for found in decision["findings"] if decision["stages"].get(found["stage"]) is not None]
    if reached:
        parts.append("\n".join(_findings(reached, paint)))
    if decision.get("experimental"):
        parts.append("\n".join(_looked_on(decision, paint)))
    return "\n\n".join(parts) + "\n"


def line_text(place: str, decision: Document, paint: Paint | None = None) -> str:
    """Return a decision of a batch on one line: its place, verdict, failure and the rule that decided."""
    paint = paint or Paint()
    status = decision["status"]
    word = paint(f"{status:<9}", VERDICT_STYLE[status])
    why = next(iter(deciding(decision)), None) if status != "admitted" or _flagged(decision) else None
    told = f"  {_told(why)}" if why else ""
    if "applied" in decision:
        told = f"  {decision['applied']['action']} {decision['applied']['lesson_id'] or '-'}{told}"
    return f"{place:<9}  {word}  {decision['reason'] or '-':<17}  {one_line(decision['failure_id'], 48)}{told}\n"


def summary_text(counts: Mapping[str, int], paint: Paint | None = None) -> str:
    """Return the last line of a batch, with `admitted`, `undecided`, `refused` and `invalid` counted."""
    paint = paint or Paint()
    total = sum(counts.values())
    told = ", ".join(paint(f"{count} {name}", *([VERDICT_STYLE[name]] if count else [])) for name, count in counts.items())
    return f"{total} judged: {told}\n" if not counts.get("invalid") else f"{total} read: {told}\n"


def verdict_of(stage: str, output: Document | None) -> str:
    """Return what a stage concluded, in a few words; a dash where it was not reached."""
    if output is None:
        return "-"
    if stage == "ground":
        return str(output["verdict"])
    if stage == "generalize":
        told = "generalized" if output["generalized"] else f"contradicts {output['contradicts_lesson_id'] or 'the store'}"
        return f"{told}, scope `{one_line(output['adjusted_scope'], 80)}`"
    if stage == "calibrate":
        return f"{output['calibration']}, {output['deduped']}"
    if stage == "admit":
        return "admitted" if output["admitted"] else f"not admitted: {output['rejected_reason']}"
    cap = output["confidence_cap"]
    return f"{output['action']} as {output['level']}" + (f", confidence capped ({cap})" if cap else "")


def marked(text: str, spans: Iterable[Document], paint: Paint) -> str:
    """Return `text` made safe, with the union of `spans` (character offsets `start`, `end`) marked."""
    pieces, at = [], 0
    for start, end in _union(spans, len(text)):
        pieces += [plain(text[at:start]), paint.mark(plain(text[start:end]))]
        at = end
    return "".join([*pieces, plain(text[at:])])


def condition(measured: Document, *, named: bool = True) -> str:
    """Return one measured condition: the fact's field, its value, what it was held against and the setting behind that.

    A condition that does not hold is what kept another rule from firing, where this one rests on that; it reads `not …`.
    """
    setting = f" ({measured['setting']})" if measured["setting"] else ""
    what = f"{measured['fact']}.{measured['field']}" if named else measured["field"]
    value, needed = shown_value(measured["value"]), shown_value(measured["needed"])
    if measured["op"] == "eq" and isinstance(measured["value"], bool):
        return plain(f"{what} is {value}{setting}" if holds(measured) else f"{what} is {value}, not {needed}{setting}")
    told = f"{what} {value} {OPERATORS[measured['op']]} {needed}{setting}"
    return plain(told if holds(measured) else f"not {told}")


def holds(measured: Document) -> bool:
    """Return whether a measured condition is true of its value."""
    value, needed = measured["value"], measured["needed"]
    if measured["op"] == "in":
        return value in needed
    compare = _COMPARE[measured["op"]]
    return bool(compare(value, needed))


def telling(measured: Sequence[Document]) -> list[Document]:
    """Return the conditions worth reading, each once: not those on a name, which only say which fact is meant."""
    found = list({canonical_bytes(part): part for part in measured}.values())
    return [part for part in found if not (part["op"] == "eq" and isinstance(part["value"], str))]


def finding_line(finding: Document, paint: Paint) -> str:
    """Return a finding's verdict, reason and rule on one line."""
    verdict = finding["verdict"]
    sign = "✓" if verdict in GOOD_VERDICTS else _SIGNS.get(verdict, "✗")
    styles = ["green"] if verdict in GOOD_VERDICTS else ["yellow"] if verdict in _SIGNS else ["red"]
    about = f" on {one_line(finding['about'], 60)}" if finding["about"] else ""
    rule = paint(f"{finding['ruleset']}/{finding['rule']}  {plain(finding['source'])}", "dim")
    return f"{paint(sign, *styles)} {finding['stage']}: {verdict}, {plain(finding['reason'])}{about}  {rule}"


def deciding(decision: Document) -> list[Document]:
    """Return the findings that made the decision what it is: what refused or held back, or what earned and what capped."""
    if decision["status"] == "admitted":
        return [found for found in decision["findings"] if found["stage"] in {"admit", "lifecycle"}]
    against = [found for found in decision["findings"] if found["stage"] != "lifecycle" and found["verdict"] not in GOOD_VERDICTS]
    # An admission rule that only repeats an earlier stage's verdict says less than the finding of that stage.
    first = [found for found in against if found["stage"] != "admit"]
    thin = [found for found in against if found["stage"] == "admit" and found["reason"] not in _REPEATED]
    return [*first, *thin]


def shown_value(value: object) -> str:
    """Return a fact's value as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return "{" + ", ".join(shown_value(part) for part in value) + "}"
    return str(value)


def decision_line(decision: Document) -> str:
    """Return the status and its reason."""
    return f"{decision['status']}: {decision['reason']}" if decision["reason"] else str(decision["status"])


def _heading(decision: Document, paint: Paint) -> str:
    red_flag = paint("  red-flagged, never retrieved until evidence clears it", "yellow") if _flagged(decision) else ""
    return paint(decision_line(decision), "bold", VERDICT_STYLE[decision["status"]]) + red_flag


def _flagged(decision: Document) -> bool:
    return decision["envelope"] is not None and bool(decision["envelope"]["red_flag"])


def _identity(decision: Document, paint: Paint) -> str:
    bundle = decision["bundle"]
    engine = f"{bundle['engine']}, cross-checked" if bundle["cross_check"] else bundle["engine"]
    rows = [
        ("failure", f"{one_line(decision['failure_id'], 80)}  signature {decision['signature'][:12]}"),
        ("bundle", f"{plain(bundle['name'])} {bundle['digest'][:12]}  as of {bundle['as_of']}  {engine}"),
        ("decision", decision["decision_id"]),
    ]
    lesson = decision["lesson"]
    if lesson:
        rows.append(("lesson", f"{lesson['type']}, confidence {lesson['confidence']}, scope `{one_line(lesson['scope'], 80)}`"))
    if "applied" in decision:
        rows.append(("applied", _applied(decision["applied"])))
    return "\n".join(f"  {paint(f'{name:<9}', 'dim')} {value}" for name, value in rows)


def _applied(written: Document) -> str:
    """Return what a commit came to; `known` is what was applied before."""
    lesson = f" {written['lesson_id']}" if written["lesson_id"] else ""
    return f"{written['action']}{lesson}, {len(written['events'])} events, store at version {written['version']}"


def _candidate(reflection: Document, spans: Sequence[Document], paint: Paint) -> Iterator[str]:
    """The lesson, and each other field that a lexicon matched."""
    by_target: dict[str, list[Document]] = {}
    for span in spans:
        by_target.setdefault(span["target"], []).append(span)
    targets = ["candidate_lesson", *sorted(target for target in by_target if target != "candidate_lesson")]
    for target in targets:
        text = reflection.get(target)
        if not isinstance(text, str):
            continue
        found = by_target.get(target, [])
        names = sorted({f"{span['lexicon']}/{span['group']}" for span in found})
        yield f"  {paint(target, 'dim')}" + (f"  {paint(', '.join(names), 'yellow')}" if names else "")
        yield from (f"    {line}" for line in marked(text, found, paint).splitlines() or [""])


def _stages(decision: Document, paint: Paint) -> Iterator[str]:
    for stage in _JUDGING:
        if stage in decision["stages"]:
            yield f"  {paint(f'{stage:<11}', 'dim')}{verdict_of(stage, decision['stages'][stage])}"


def _findings(findings: Sequence[Document], paint: Paint) -> Iterator[str]:
    for finding in sorted(findings, key=lambda found: found["verdict"] in GOOD_VERDICTS):
        yield f"  {finding_line(finding, paint)}"
        for measured in telling(finding["measured"]):
            yield f"      {condition(measured)}"


def _looked_on(decision: Document, paint: Paint) -> Iterator[str]:
    """The experimental rules that fired, and what they would have changed."""
    tried = decision["experimental"]
    same = (tried["status"], tried["reason"]) == (decision["status"], decision["reason"])
    would = "would decide the same" if same else f"would decide {plain(decision_line(tried))}"
    yield f"  {paint('experimental rules', 'dim')} {would}"
    for fired in tried["fired"]:
        yield f"  {paint('~', 'yellow')} {plain(fired['rule'])} fired  {paint(plain(fired['source']), 'dim')}"
    for sign, style, key in (("-", "red", "gone"), ("+", "green", "added")):
        for found in tried[key]:
            yield f"  {paint(sign, style)} {said_line(found)}"


def said_line(finding: Document) -> str:
    """Return a finding that is told without its place and measures."""
    about = f" on {one_line(finding['about'], 60)}" if finding["about"] else ""
    rule = f"{finding['ruleset']}/{finding['rule']}"
    return plain(f"{finding['stage']}: {finding['verdict']}, {finding['reason']}{about}  {rule}")


def _told(finding: Document) -> str:
    conditions = "; ".join(condition(measured) for measured in telling(finding["measured"]))
    rule = f"{finding['ruleset']}/{finding['rule']} ({finding['source']})"
    return plain(f"{rule}: {conditions}" if conditions else rule)


def _union(spans: Iterable[Document], length: int) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted((max(0, span["start"]), min(length, span["end"])) for span in spans):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
