"""One candidate of a corpus as text, so that a person can judge a verdict in seconds. Pure: a document in, lines out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ._paint import Paint
from ._safe import one_line, plain
from ._table import table
from .explain import miss_text
from .text import decision_text, marked

__all__ = ["show_text"]

Document = Mapping[str, Any]

_WIDTH = 110
_TOLD_APART = frozenset(("field", "item", "kind", "usable", "anchors", "anchor_overlap", "terms", "term_overlap"))
"""Fields of the fact `support` that have columns of their own; every other measure gets one by its name."""


def show_text(shown: Document, paint: Paint | None = None) -> str:
    """Return the decision with its spans, each claim beside what it cites, the items, the rules that fired, what was nearest."""
    paint = paint or Paint()
    decision = shown["decision"]
    parts = [decision_text(decision, shown["reflection"], paint).rstrip()]
    parts += ["\n".join(_claim(claim, decision["spans"], paint)) for claim in shown["claims"]]
    parts += ["\n".join(_items(shown["items"], paint)), "\n".join(_fired(shown["fired"], paint))]
    if shown["nearest_misses"]:
        misses = (f"  {plain(miss_text(miss))}" for miss in shown["nearest_misses"])
        parts.append("\n".join([paint("nearest miss", "bold"), *misses]))
    return "\n\n".join(parts) + "\n"


def _claim(claim: Document, spans: Sequence[Document], paint: Paint) -> Iterator[str]:
    """The claim, what it names, and a line for each cited item."""
    found = [span for span in spans if span["target"] == claim["field"]]
    named, unfound = (claim["measured"].get(name, 0) for name in ("anchors", "unfound"))
    yield paint(claim["field"], "bold") + f"  {named} named, {unfound} of them nowhere in the record"
    yield from (f"  {line}" for line in marked(claim["text"], found, paint).splitlines())
    measures = [name for name in next(iter(claim["support"]), {}) if name not in _TOLD_APART]
    rows = [
        (
            one_line(one["item"], 32),
            one["kind"] if one["usable"] else f"{one['kind']} (no cause)",
            f"{one['anchors']} ({one['anchor_overlap'] * 100:.0f} %)",
            f"{one['terms']} ({one['term_overlap'] * 100:.0f} %)",
            *(_measure(one[name]) for name in measures),
        )
        for one in claim["support"]
    ]
    if rows:
        yield from table(("item", "kind", "anchors", "terms", *measures), rows, paint)
    else:
        yield "  cites nothing that the record holds"


def _measure(value: object) -> str:
    return "-" if value in {"none", "unknown", False} else "yes" if value is True else plain(str(value))


def _items(items: Sequence[Document], paint: Paint) -> Iterator[str]:
    """The items, cited ones first and marked, each on a line."""
    yield paint("record", "bold") + "  * cited"
    for item in sorted(items, key=lambda one: (not one["cited"], one["measured"]["seq"])):
        measured = item["measured"]
        what = measured["kind"] if measured["defect"] == "none" else f"{measured['kind']}: {measured['defect']}"
        head = f"{'*' if item['cited'] else ' '} {measured['seq']:>3}  {one_line(item['item'], 32):<12}  {what:<24}"
        yield f"  {head if item['cited'] else paint(head, 'dim')}  {one_line(item['text'], _WIDTH)}"


def _fired(fired: Sequence[Document], paint: Paint) -> Iterator[str]:
    yield paint("rules that fired", "bold")
    for one in fired:
        times = f" ×{one['n']}" if one["n"] > 1 else ""
        yield f"  {one['stage']:<11}{plain(one['rule'])}{times}  {paint(plain(one['source']), 'dim')}"
