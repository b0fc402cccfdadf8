"""An answer to "why not" as data (`why-not.schema.json`): changes of facts and of policy as a reader knows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from ..facts import Fact, load_vocabulary
from ..policy.values import show
from .asking import Answer
from .facts import Facts
from .goals import Goal
from .policies import Policy, matching, option_texts
from .search import Found

__all__ = ["WHY_NOT_SCHEMA", "decision_document", "why_not_document"]

WHY_NOT_SCHEMA = "urn:reflect-gate:schema:why-not:1"

C = TypeVar("C", Facts, Policy)


def why_not_document(answer: Answer, goal: Goal) -> dict[str, Any]:
    """Return an answer as data; every flip in it was judged again and came to the goal."""
    return {
        **_head(answer.decision, goal, answer.reached),
        "in_the_way": [dict(finding) for finding in answer.in_the_way],
        "lacking": [dict(miss) for miss in answer.lacking],
        "facts": _found(answer.facts, lambda flip: {"size": flip.size, "changes": list(_fact_changes(flip, answer))}),
        "policy": _found(answer.policy, lambda flip: _policy_flip(flip, answer)),
    }


def decision_document(decision: Mapping[str, Any], goal: Goal) -> dict[str, Any]:
    """Return what a decision alone tells: the findings in the way. Nothing can be searched without its request."""
    ways = {"admit": "admitted", "undecided": "undecided", "refuse": "refused"}
    reached = goal.stage == "admit" and ways.get(goal.verdict) == decision["status"]
    from ..report.text import GOOD_VERDICTS

    against = [finding for finding in decision["findings"] if finding["verdict"] not in GOOD_VERDICTS]
    return {
        **_head(decision, goal, reached),
        "in_the_way": [] if reached else against,
        "lacking": [],
        "facts": None,
        "policy": None,
    }


def _head(decision: Mapping[str, Any], goal: Goal, reached: bool) -> dict[str, Any]:
    return {
        "schema": WHY_NOT_SCHEMA,
        "decision_id": decision["decision_id"],
        "status": decision["status"],
        "reason": decision["reason"],
        "goal": {"kind": goal.kind, "name": goal.name, "stage": goal.stage},
        "reached": reached,
    }


def _found(found: Found[C] | None, flip: Callable[[C], dict[str, Any]]) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "flips": [flip(one) for one in found.flips],
        "evaluations": found.evaluations,
        "limit": found.limit,
        "exhausted": found.exhausted,
    }


def _fact_changes(flip: Facts, answer: Answer) -> Iterator[dict[str, Any]]:
    for old, new in flip.changed:
        fields = list(load_vocabulary().facts[str(old[0])].fields)
        if new is None:
            yield {"kind": "removed", **_shown(old), "phrases": _phrases(old, answer)}
            continue
        before, after = _shown(old), _shown(new)
        for field, was, is_ in zip(fields, old[1:], new[1:], strict=True):
            if was != is_:
                yield {"kind": "value", **before, "field": field, "from": before["fields"][field], "to": after["fields"][field]}
    for fact in flip.added:
        yield {"kind": "added", **_shown(fact)}


def _shown(fact: Fact) -> dict[str, Any]:
    vocabulary = load_vocabulary()
    name = str(fact[0])
    fields = {}
    for (field, domain), value in zip(vocabulary.facts[name].fields.items(), fact[1:], strict=True):
        known = vocabulary.domains[domain]
        fields[field] = value if isinstance(value, str) else known.show(int(value))
    return {"fact": name, "fields": fields}


def _phrases(fact: Fact, answer: Answer) -> list[str]:
    """Return the passages behind a hit of a lexicon; nothing for other facts."""
    if fact[0] != "hits":
        return []
    case = answer.run.case
    text = case.reflection[str(fact[2])]
    spans = [span for hit in case.hits if (hit.lexicon, hit.target) == (fact[1], fact[2]) for span in hit.spans]
    return [text[span.start : span.end] for span in spans]


def _policy_flip(flip: Policy, answer: Answer) -> dict[str, Any]:
    bundle, reflection = answer.run.gate.bundle, answer.run.case.reflection
    changes: list[dict[str, Any]] = [
        {"kind": "setting", "key": key, "from": show(bundle.settings[key].value), "to": show(value)}
        for key, value in flip.settings
    ]
    changes += [{"kind": "ruleset", "ruleset": name, "from": "on", "to": "off"} for name in flip.off]
    for lexicon, group, pattern in flip.dropped:
        fields = [field for field, text in reflection.items() if isinstance(text, str) and text]
        found = [field for field in fields if (lexicon, group, pattern) in matching(bundle.lexicons[lexicon], reflection[field])]
        changes.append({"kind": "pattern", "lexicon": lexicon, "group": group, "pattern": pattern, "found_in": found})
    return {"size": flip.size, "changes": changes, "options": option_texts(flip)}
