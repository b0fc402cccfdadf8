"""One candidate with everything that the gate saw of it: claims against cited items, facts, rules, and what nearly was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..pipeline import evaluate, judge
from ..runtime import runtime
from ..stages._case import CAUSAL_FIELDS, Case
from ..stages._prepare import prepare

if TYPE_CHECKING:
    from ..policy import Bundle

__all__ = ["SHOW_SCHEMA", "show_document"]

SHOW_SCHEMA = "urn:reflect-gate:schema:corpus-show:1"


def show_document(request: Mapping[str, Any], bundle: Bundle, misses: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a judged candidate as one document.

    `claims` has one entry a populated causal field with its measures against each cited item; `items` all items of the record,
    cited or not; `facts` every measured fact; `fired` how often each rule fired; `misses` the rules that would have let it pass.
    Raises what `evaluate` raises.
    """
    decision = evaluate(request, bundle, explain=True).to_json()
    firings = decision.pop("firings")
    gate = runtime(bundle)
    record = prepare(request["record"], bundle.limits)
    run = judge(Case(request, record, bundle, gate.lexicons), gate)
    facts = gate.explainer(run.facts, run.firings, run.interner).facts()
    fired = Counter((firing["stage"], firing["rule"], firing["source"]) for firing in firings)
    return {
        "schema": SHOW_SCHEMA,
        "decision": decision,
        "reflection": request["reflection"],
        "claims": _claims(request["reflection"], facts),
        "items": _items(facts, run.case, request["reflection"]["evidence_ids"]),
        "facts": facts,
        "fired": [{"stage": stage, "rule": rule, "source": source, "n": n} for (stage, rule, source), n in fired.items()],
        "nearest_misses": list(misses),
    }


def _fields_of(facts: Sequence[Mapping[str, Any]], name: str) -> list[dict[str, Any]]:
    return [dict(fact["fields"]) for fact in facts if fact["fact"] == name]


def _claims(reflection: Mapping[str, Any], facts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    support = _fields_of(facts, "support")
    measured = {fields["field"]: fields for fields in _fields_of(facts, "claim")}
    return [
        {
            "field": field,
            "text": reflection[field],
            "measured": measured.get(field, {}),
            "support": [fields for fields in support if fields["field"] == field],
        }
        for field in CAUSAL_FIELDS
        if reflection[field].strip()
    ]


def _items(facts: Sequence[Mapping[str, Any]], case: Case, cited: Sequence[str]) -> list[dict[str, Any]]:
    texts = {name: item.item["text"] for name, item in case.index.items.items()}
    return [
        {"item": fields["item"], "cited": fields["item"] in cited, "text": texts[fields["item"]], "measured": fields}
        for fields in _fields_of(facts, "item")
    ]
