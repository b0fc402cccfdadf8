"""Lessons, their events and what is behind them as text for people; rows of the store in, lines out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ._paint import Paint
from ._safe import one_line, plain
from .text import condition, telling

__all__ = ["candidate_line", "event_line", "flag_line", "lesson_text", "why_text"]

_WIDE = 100


def lesson_text(row: Mapping[str, Any]) -> str:
    """Return one lesson as it stands, a fact a line."""
    lesson, envelope, since = row["lesson"], row["envelope"], row["since_level"]
    counts = ", ".join(f"{lesson[f'times_{name}']} {name}" for name in ("applied", "helped", "hurt"))
    anew = ", ".join(f"{since[name]} {name}" for name in ("applied", "helped", "hurt"))
    project = ", ".join(f"{name} {one_line(str(value), 60)}" for name, value in sorted(envelope["project"].items()))
    source = lesson["derived_from"]
    rows = [
        ("lesson", row["id"]),
        ("says", one_line(lesson["statement"], 2_000)),
        ("scope", one_line(lesson["scope"], 400) or "anywhere"),
        ("level", f"{row['level']}, {row['standing']}" + (", blames outward" if envelope["red_flag"] else "")),
        ("confidence", str(lesson["confidence"])),
        ("use", f"{counts}; at this level {anew}"),
        ("learned in", project or "unknown"),
        ("failures", _some(source["failures"])),
        ("successes", _some(source["successes"])),
        ("evidence", _some(lesson["evidence"])),
        ("against", _some(lesson["counterexamples"])),
        ("signatures", _some(name[:12] for name in row["signatures"])),
        ("supersedes", lesson["supersedes"] or ""),
        ("followed by", lesson["superseded_by"] or ""),
        ("withdrawn by", _some(row["withdrawn_by"])),
        ("decision", row["decision_id"] or ""),
        ("since", row["time"]),
    ]
    return "\n".join(f"{name:<13}{value}" for name, value in rows if value)


def _some(names: Any, most: int = 8) -> str:
    """Return the first names, and how many more there are."""
    known = [one_line(str(name), 60) for name in names]
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return ", ".join(known[:most]) + more


def event_line(event: Mapping[str, Any]) -> str:
    """Return one event of a lesson's life on one line."""
    told = "its payload was redacted" if event.get("redacted") else ", ".join(_said(event))
    return f"{event['time'][:19]}Z  {event['event']}  {event['type']:<21}{'  ' + told if told else ''}"


def _said(event: Mapping[str, Any]) -> Iterator[str]:
    for field in ("level", "by", "effect", "outcome", "resolution", "failure_id", "decision_id", "candidate_id", "undoes"):
        if field in event:
            yield f"{field.removesuffix('_id')} {one_line(str(event[field]), 80)}"
    if event.get("withheld"):
        yield "withheld"
    for field in ("failures", "counterexamples"):
        if event.get(field) and "failure_id" not in event:
            yield f"{field} {_some(event[field], 3)}"
    repository = event.get("origin", {}).get("repository")
    if repository:
        yield f"in {one_line(repository, 60)}"
    if event.get("rule"):
        yield f"rule {plain(event['rule'])}"
    if event.get("reason"):
        yield one_line(event["reason"], 120)


def candidate_line(row: Mapping[str, Any]) -> str:
    """Return one candidate on one line."""
    said = one_line(row.get("statement", ""), _WIDE)
    against = f"  against {_some(row['conflicts'])}" if row["conflicts"] else ""
    state = f"  {one_line(row.get('outcome', ''), 80)}" if row["status"] != "held" else ""
    return f"{row['candidate_id']}  {row['reason']:<18} {said}{against}{state}"


def flag_line(row: Mapping[str, Any]) -> str:
    """Return one flag on one line."""
    candidate = f"  by {row['candidate_id']}" if row.get("candidate_id") else ""
    withdrawn = "  withdrawn from use" if row["withdraws"] else ""
    state = f"  {one_line(row.get('resolution', ''), 80)}" if row["status"] != "open" else ""
    rule = f"{plain(row['rule'])}: " if row["rule"] else ""
    why = f"{rule}{one_line(row['reason'], 80)}"
    return f"{row['flag_id']}  {row['kind']}  {_some(row['lesson_ids'])}{candidate}  {why}{withdrawn}{state}"


def why_text(lesson_id: str, found: Mapping[str, Any], paint: Paint) -> str:
    """Return what is behind a lesson: decision, rules, evidence, corroboration, changes."""
    lesson = found["lesson"]
    lines = [paint(lesson_id, "bold"), f"  {one_line(lesson['statement'], 2_000)}", ""]
    if found["lineage"]:
        lines += [f"goes back to  {_some(found['lineage'])}", ""]
    lines += [paint("admitted by", "bold"), *_decided(found["decision"], paint), ""]
    lines += [paint("evidence", "bold"), *_evidence(found["evidence"]), ""]
    for name in ("corroborations", "counterexamples"):
        if found[name]:
            lines += [paint(name, "bold"), *map(_spoke, found[name]), ""]
    if found["changes"]:
        lines += [paint("changes", "bold"), *[f"  {event_line(event)}" for event in found["changes"]], ""]
    return "\n".join(lines).rstrip() + "\n"


def _decided(decision: Mapping[str, Any] | None, paint: Paint) -> Iterator[str]:
    if decision is None:
        yield "  a decision that was redacted, or made elsewhere"
        return
    bundle = decision["bundle"]
    yield f"  decision {decision['decision_id']} on {one_line(decision['failure_id'], 80)}"
    yield f"  bundle {plain(bundle['name'])} {bundle['digest'][:12]} as of {bundle['as_of']}"
    for finding in decision["findings"]:
        about = f" on {one_line(finding['about'], 60)}" if finding["about"] else ""
        place = paint(f"{finding['ruleset']}/{finding['rule']}  {plain(finding['source'])}", "dim")
        yield f"  {finding['stage']}: {finding['verdict']}, {plain(finding['reason'])}{about}  {place}"
        yield from (f"      {condition(measured)}" for measured in telling(finding["measured"]))


def _evidence(items: Any) -> Iterator[str]:
    for item in items:
        shown = [
            f"{name} {item[name]}" for name in ("oracle", "exit_code", "error_class", "path") if item.get(name) not in (None, "")
        ]
        details = f" ({one_line(', '.join(shown), 120)})" if shown else ""
        yield f"  {one_line(item['id'], 60)}  {item['kind']}{details}"
        yield f"      {one_line(item['text'], 400)}"


def _spoke(entry: Mapping[str, Any]) -> str:
    failures = entry.get("counterexamples") or entry.get("failures") or [entry.get("failure_id", "")]
    where = entry.get("origin", {}).get("repository")
    return f"  {entry['time'][:19]}Z  {_some(failures, 3)}" + (f"  in {one_line(where, 60)}" if where else "")
