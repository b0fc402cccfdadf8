"""What another bundle would have decided, kept beside a decision that it has no part in; and a summary of many such decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from .errors import ReflectGateError

if TYPE_CHECKING:
    from .policy import Bundle

__all__ = ["SHADOW_REPORT_SCHEMA", "Summary", "shadow_of", "summarize", "summary_document"]

SHADOW_REPORT_SCHEMA: Final = "urn:reflect-gate:schema:shadow-report:1"
_TOLD: Final = ("stage", "ruleset", "rule", "verdict", "reason", "about")
_LISTED: Final = 100_000

_Finding: TypeAlias = tuple[str, ...]


def shadow_of(decision: Mapping[str, Any], request: Mapping[str, Any], bundle: Bundle) -> dict[str, Any]:
    """Return what `bundle` says of the request of a decision, as it stands under `shadow` in the decision's document.

    What it cannot judge has the status `error` and the error's code as its reason: a shadow never costs the decision.
    """
    from .pipeline import evaluate

    identity = {"name": bundle.name, "digest": bundle.digest}
    own = _findings(decision["findings"])
    try:
        other = evaluate(request, bundle)
    except ReflectGateError as error:
        return {"bundle": identity, "status": "error", "reason": error.code, "gone": [], "added": []}
    theirs = _findings(other.findings)
    return {
        "bundle": identity,
        "status": other.status,
        "reason": other.reason,
        "gone": _listed(own - theirs),
        "added": _listed(theirs - own),
    }


def _findings(findings: Iterable[Mapping[str, Any]]) -> set[_Finding]:
    return {tuple(str(found[key]) for key in _TOLD) for found in findings}


def _listed(findings: Iterable[_Finding]) -> list[dict[str, str]]:
    return [dict(zip(_TOLD, found, strict=True)) for found in sorted(findings)]


class Summary(NamedTuple):
    """What a log of decisions shows of their shadows.

    Attributes:
        decisions: decisions in the log.
        shadowed: those with a shadow.
        bundles: how many shadows are of each bundle, by its name and digest.
        moves: how many decisions have each pair of statuses, the decision's own first; equal ones included.
        differing: `(place, failure, status and reason, those of the shadow)` of each decision whose status or reason differs.
        gone: how often a rule says something that the shadow's rules do not say, by `ruleset/rule`.
        added: how often a rule of the shadow says something that the decision's rules do not say.
    """

    decisions: int
    shadowed: int
    bundles: Mapping[tuple[str, str], int]
    moves: Mapping[tuple[str, str], int]
    differing: Sequence[tuple[str, str, tuple[str, str | None], tuple[str, str | None]]]
    gone: Mapping[str, int]
    added: Mapping[str, int]


def summarize(decisions: Iterable[tuple[str, Mapping[str, Any]]]) -> Summary:
    """Return the summary of `(place, decision)`, each of which is held to the schema.

    Raises:
        ReflectGateError: at the first one that is no decision.
    """
    from . import schemas

    count = shadowed = 0
    bundles: Counter[tuple[str, str]] = Counter()
    moves: Counter[tuple[str, str]] = Counter()
    rules: dict[str, Counter[str]] = {"gone": Counter(), "added": Counter()}
    differing = []
    for place, decision in decisions:
        schemas.check("decision", decision, place)
        count += 1
        shadow = decision.get("shadow")
        if shadow is None:
            continue
        shadowed += 1
        bundles[shadow["bundle"]["name"], shadow["bundle"]["digest"]] += 1
        own, other = (decision["status"], decision["reason"]), (shadow["status"], shadow["reason"])
        moves[own[0], other[0]] += 1
        if own != other:
            differing.append((place, decision["failure_id"], own, other))
        for key, counted in rules.items():
            counted.update({f"{found['ruleset']}/{found['rule']}" for found in shadow[key]})
    return Summary(count, shadowed, bundles, moves, differing, rules["gone"], rules["added"])


def summary_document(found: Summary) -> dict[str, Any]:
    """Return the summary as `shadow-report.schema.json` has it."""
    return {
        "schema": SHADOW_REPORT_SCHEMA,
        "decisions": found.decisions,
        "shadowed": found.shadowed,
        "bundles": [{"name": name, "digest": digest, "count": n} for (name, digest), n in sorted(found.bundles.items())],
        "moves": [{"before": own, "after": other, "count": n} for (own, other), n in sorted(found.moves.items())],
        "differing": [
            {
                "place": place,
                "failure_id": failure,
                "before": {"status": own[0], "reason": own[1]},
                "after": {"status": other[0], "reason": other[1]},
            }
            for place, failure, own, other in found.differing[:_LISTED]
        ],
        "gone": [{"rule": rule, "count": n} for rule, n in _by_count(found.gone)],
        "added": [{"rule": rule, "count": n} for rule, n in _by_count(found.added)],
    }


def _by_count(counted: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
