"""An answer to "why not" as text: what stands in the way, what was lacking, and the smallest changes that were confirmed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ._paint import VERDICT_STYLE, Paint
from ._safe import one_line, plain
from .explain import miss_text
from .text import condition, decision_line, shown_value, telling

__all__ = ["why_not_text"]

Document = Mapping[str, Any]

_CONDITIONS: Final = 6


def why_not_text(answer: Document, paint: Paint | None = None) -> str:
    """Return the answer (`why-not.schema.json`) as lines."""
    paint = paint or Paint()
    name = plain(answer["goal"]["name"])
    told = paint(decision_line(answer), "bold", VERDICT_STYLE[answer["status"]])
    if answer["reached"]:
        return f"{told}\n`{name}` is what was decided\n"
    sections = [
        f"{told}  (asked for: {name})",
        _section("in the way", [line for finding in answer["in_the_way"] for line in _finding(finding)], paint),
        _section("lacking", [plain(miss_text(miss)) for miss in answer["lacking"]], paint),
        *_search("change of facts", answer["facts"], _fact_change, paint),
        *_search("change of policy", answer["policy"], _policy_change, paint),
    ]
    if answer["facts"] is None:
        sections.append("the decision alone does not hold what was measured: give its request to find what would change it")
    return "\n\n".join(section for section in sections if section) + "\n"


def _section(title: str, lines: Sequence[str], paint: Paint) -> str:
    return "\n".join([paint(title, "bold"), *(f"  {line}" for line in lines)]) if lines else ""


def _finding(finding: Document) -> Iterator[str]:
    about = f" on {one_line(finding['about'], 60)}" if finding["about"] else ""
    rule = f"{finding['ruleset']}/{finding['rule']} ({finding['source']})"
    yield plain(f"{finding['stage']}: {finding['verdict']}, {finding['reason']}{about}  by {rule}")
    for measured in telling(finding["measured"])[:_CONDITIONS]:
        yield f"  {condition(measured)}"


def _search(title: str, found: Document | None, tell: Any, paint: Paint) -> Iterator[str]:
    if found is None:
        return
    flips = found["flips"]
    if not flips:
        why = "nothing is left to try" if found["exhausted"] else f"none found within {found['limit']} evaluations"
        yield _section(f"smallest {title}", [why], paint)
        return
    lines: list[str] = []
    for flip in flips:
        lines.append(f"{flip['size']} {'change' if flip['size'] == 1 else 'changes'}:")
        lines += [f"  {plain(tell(change))}" for change in flip["changes"]]
        if flip.get("options"):
            lines.append(paint(f"  {plain(' '.join(flip['options']))}", "dim"))
    yield _section(f"smallest {title} (each judged again)", lines, paint)


def _fields(change: Document, but: str = "") -> str:
    return ", ".join(f"{name}={one_line(shown_value(value), 40)}" for name, value in change["fields"].items() if name != but)


def _fact_change(change: Document) -> str:
    fact = change["fact"]
    if change["kind"] == "value":
        named = {name: value for name, value in change["fields"].items() if isinstance(value, str) and name != change["field"]}
        which = ", ".join(f"{name}={one_line(value, 40)}" for name, value in named.items())
        return f"{fact}.{change['field']} {shown_value(change['from'])} → {shown_value(change['to'])}  of {fact}({which})"
    if change["kind"] == "removed":
        phrases = ", ".join(f"`{one_line(phrase, 60)}`" for phrase in change["phrases"])
        return f"without {fact}({_fields(change)})" + (f": the text would not say {phrases}" if phrases else "")
    return f"with {fact}({_fields(change)})"


def _policy_change(change: Document) -> str:
    if change["kind"] == "setting":
        return f"{change['key']} {change['from']} → {change['to']}"
    if change["kind"] == "ruleset":
        return f"rule set {change['ruleset']} off"
    where = ", ".join(change["found_in"])
    return f"lexicon {change['lexicon']}/{change['group']} without `{one_line(change['pattern'], 100)}`, found in {where}"
