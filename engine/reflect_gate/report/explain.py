"""Why a decision came out as it did, as a tree: verdict ← finding ← rule ← bound facts ← what derived them.

Built from the decision alone (`evaluate --explain` keeps its firings): an auditor needs neither the request nor the bundle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from ._paint import VERDICT_STYLE, Paint
from ._safe import one_line, plain
from .text import OPERATORS, condition, decision_line, holds, shown_value, telling

__all__ = ["EXPLANATION_SCHEMA", "Node", "explanation", "explanation_document", "explanation_text", "fact_text", "miss_text"]

EXPLANATION_SCHEMA = "urn:reflect-gate:schema:explanation:1"

Document: TypeAlias = Mapping[str, Any]
_Key: TypeAlias = tuple[str, tuple[tuple[str, object], ...]]

_DEPTH = 32
_SIBLINGS = 4
"""How deep the tree goes, and how many derivations of one fact it shows; what is left out is counted."""


class Node(NamedTuple):
    """One step of a derivation: `kind` is verdict, finding, rule, fact or note; `source` is a rule's place, else empty."""

    kind: str
    text: str
    source: str
    children: tuple[Node, ...]


def explanation(decision: Document) -> Node:
    """Return the derivation of a decision that holds its firings; what was not derived (a rule set that is off) is a note."""
    return _Tree(decision).root()


def explanation_text(decision: Document, misses: Sequence[Document] = (), paint: Paint | None = None) -> str:
    """Return the derivation as an indented tree; `misses` are the rules that would have let it pass, and what each lacked."""
    paint = paint or Paint()
    root = explanation(decision)
    lines = [paint(root.text, "bold", VERDICT_STYLE[decision["status"]]), *_drawn(root.children, "", paint)]
    if misses:
        lines += ["", paint("nearest miss", "bold"), *(f"  {plain(miss_text(miss))}" for miss in misses)]
    return "\n".join(lines) + "\n"


def explanation_document(decision: Document, misses: Sequence[Document] = ()) -> dict[str, Any]:
    """Return the derivation as data."""
    return {
        "schema": EXPLANATION_SCHEMA,
        "decision_id": decision["decision_id"],
        "status": decision["status"],
        "reason": decision["reason"],
        "derivation": _as_data(explanation(decision)),
        "nearest_misses": list(misses),
    }


def _as_data(node: Node) -> dict[str, Any]:
    return {"kind": node.kind, "text": node.text, "source": node.source, "children": [_as_data(child) for child in node.children]}


def _drawn(nodes: Sequence[Node], indent: str, paint: Paint) -> Iterator[str]:
    for index, node in enumerate(nodes):
        last = index == len(nodes) - 1
        place = f"  {paint(plain(node.source), 'dim')}" if node.source else ""
        text = plain(node.text)
        yield f"{indent}{'└─ ' if last else '├─ '}{paint(text, 'dim') if node.kind == 'note' else text}{place}"
        yield from _drawn(node.children, indent + ("   " if last else "│  "), paint)


class _Tree:
    """The firings of one decision by what they derived."""

    def __init__(self, decision: Document) -> None:
        self.decision = decision
        self.by_fact: dict[_Key, list[Document]] = {}
        for firing in decision.get("firings", ()):
            for fact in firing["derived"]:
                self.by_fact.setdefault(_key(fact), []).append(firing)
        self.shown: set[_Key] = set()

    def root(self) -> Node:
        stages = ["admit"] + (["lifecycle"] if self.decision["status"] == "admitted" else [])
        verdicts = {"admitted": "admit", "undecided": "undecided", "refused": "refuse"}
        children = [
            *self.stage("admit", verdicts[self.decision["status"]], 0),
            *(node for stage in stages[1:] for node in self.stage(stage, None, 0)),
        ]
        return Node("verdict", decision_line(self.decision), "", tuple(children))

    def stage(self, stage: str, verdict: str | None, depth: int) -> list[Node]:
        """Return the findings of `stage` that said `verdict` (or anything)."""
        found = [
            finding
            for finding in self.decision["findings"]
            if finding["stage"] == stage and (verdict is None or finding["verdict"] == verdict)
        ]
        if not found:
            return [Node("note", "no rule said so: it is what the stage says by default, or with its rule set off", "", ())]
        return [self.finding(finding, depth) for finding in found]

    def finding(self, finding: Document, depth: int) -> Node:
        about = f" on {one_line(finding['about'], 60)}" if finding["about"] else ""
        text = f"{finding['stage']}: {finding['verdict']}, {finding['reason']}{about}  by {finding['ruleset']}/{finding['rule']}"
        fields = {"verdict": finding["verdict"], "reason": finding["reason"], "about": finding["about"]}
        rule = f"{finding['ruleset']}/{finding['rule']}"
        key = _key({"fact": "finding", "fields": fields})
        firings = [firing for firing in self.by_fact.get(key, ()) if _rule(firing) == rule]
        children = self.bound(firings, finding["measured"], depth + 1)
        return Node("finding", text, finding["source"], tuple(children))

    def bound(self, firings: Sequence[Document], measured: Sequence[Document], depth: int) -> list[Node]:
        """Return the facts that `firings` matched, each with what derived it, and the conditions that kept other rules silent."""
        if depth > _DEPTH:
            return [Node("note", "… deeper derivations are left out", "", ())]
        facts = {_key(fact): fact for firing in firings[:_SIBLINGS] for fact in firing["facts"]}
        nodes = [self.fact(fact, measured, depth) for fact in facts.values()]
        absent = telling([part for part in measured if not holds(part)])
        nodes += [Node("fact", condition(part), "", ()) for part in absent]
        if len(firings) > _SIBLINGS:
            nodes.append(Node("note", f"… and {len(firings) - _SIBLINGS} more", "", ()))
        return nodes

    def fact(self, fact: Document, measured: Sequence[Document], depth: int) -> Node:
        told = fact_text(fact, measured)
        key = _key(fact)
        if key in self.shown and key in self.by_fact:
            return Node("fact", f"{told} (above)", "", ())
        self.shown.add(key)
        if fact["fact"] == "conclusion":
            fields = fact["fields"]
            return Node("fact", told, "", tuple(self.stage(fields["stage"], fields["verdict"], depth + 1)))
        return Node("fact", told, "", tuple(self.derivations(key, depth)))

    def derivations(self, key: _Key, depth: int) -> Iterator[Node]:
        firings = self.by_fact.get(key, [])
        for firing in firings[:_SIBLINGS]:
            children = self.bound([firing], firing.get("measured", ()), depth + 1)
            yield Node("rule", f"by {_rule(firing)}", firing["source"], tuple(children))
        if len(firings) > _SIBLINGS:
            yield Node("note", f"… and {len(firings) - _SIBLINGS} more", "", ())


def _rule(firing: Document) -> str:
    """Return the rule as `ruleset/id`, whichever way the firing names it."""
    rule: str = firing["rule"]
    return rule if "/" in rule else f"{firing['ruleset']}/{rule}"


def _key(fact: Document) -> _Key:
    return fact["fact"], tuple(sorted(fact["fields"].items()))


def fact_text(fact: Document, measured: Sequence[Document]) -> str:
    """Return a fact with its comparisons; its other fields are named as far as they say which fact it is."""
    fields: Mapping[str, Any] = fact["fields"]
    here = [
        part for part in measured if part["fact"] == fact["fact"] and fields.get(part["field"]) == part["value"] and holds(part)
    ]
    shown = [part for part in telling(here) if part["fact"] != "conclusion"]
    compared = {part["field"] for part in shown}
    named = {
        name: value for name, value in sorted(fields.items()) if name not in compared and (not shown or isinstance(value, str))
    }
    listed = ", ".join(f"{name}={one_line(shown_value(value), 60)}" for name, value in named.items())
    text = f"{fact['fact']}({listed})" if listed or not shown else str(fact["fact"])
    return f"{text}: {'; '.join(condition(part, named=False) for part in shown)}" if shown else text


def miss_text(miss: Document) -> str:
    """Return one near miss (`Explainer.nearest`) as a sentence: the rule, and the first thing that kept it from firing."""
    rule = f"{miss['rule']} ({miss['source']})"
    if "condition" in miss:
        lacking = miss["condition"]
        needed = f"{OPERATORS[lacking['op']]} {shown_value(lacking['needed'])}" + (
            f" ({lacking['setting']})" if lacking["setting"] else ""
        )
        return f"{rule} would need {lacking['fact']}.{lacking['field']} {needed}; it is {shown_value(lacking['value'])}"
    if "refuted" in miss:
        return f"{rule} would need no {fact_text(miss['refuted'], ())}"
    return f"{rule} would need a fact `{miss['missing']}`"
