"""What else would have been decided, kept beside a decision that it has no part in; and a summary of many such decisions.

What looks on is another bundle (`shadow`), or the experimental rules of the deciding one (`experimental`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from .errors import ReflectGateError

if TYPE_CHECKING:
    from .decision import Decision
    from .policy import Bundle

__all__ = [
    "SHADOW_REPORT_SCHEMA",
    "Moved",
    "Summary",
    "as_documents",
    "by_count",
    "looked_on",
    "said",
    "shadow_of",
    "summarize",
    "summary_document",
]

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
    try:
        other = evaluate(request, bundle.alone())
    except ReflectGateError as error:
        return {"bundle": identity, **_failed(error)}
    return {"bundle": identity, **_beside(decision["findings"], other)}


def looked_on(decision: Decision, bundle: Bundle, judged: Callable[[Bundle], tuple[Decision, set[int]]]) -> dict[str, Any] | None:
    """Return what the experimental rules of `bundle` say, as it stands under `experimental` in a decision's document.

    They are judged by beside all other rules, in a session of their own, which has no part in what was decided.
    What cannot be judged so has the status `error`. `None` where all of them belong to stages that no evaluation runs.

    Args:
        decision: what was decided without them.
        bundle: the bundle, which has rules that look on.
        judged: gives what a bundle decides of the request, and the numbers of the rules that fired.
    """
    from .runtime import AFTERWARDS

    tried = bundle.trying()
    named = frozenset(bundle.trial.rules) if bundle.trial else frozenset()
    own = {rule.number: rule for rule in tried.program.rules if rule.name in named and rule.stage not in AFTERWARDS}
    if not own:
        return None
    try:
        other, fired = judged(tried)
    except ReflectGateError as error:
        return {**_failed(error), "fired": []}
    rules = [own[number] for number in fired if number in own]
    told = [{"rule": rule.name, "source": str(rule.source)} for rule in sorted(rules, key=lambda rule: rule.name)]
    return {**_beside(decision.findings, other), "fired": told}


def _failed(error: ReflectGateError) -> dict[str, Any]:
    return {"status": "error", "reason": error.code, "gone": [], "added": []}


def _beside(findings: Iterable[Mapping[str, Any]], other: Decision) -> dict[str, Any]:
    """Return another decision beside the findings of one: what it is, and the findings of one of them only."""
    own, theirs = said(findings), said(other.findings)
    return {
        "status": other.status,
        "reason": other.reason,
        "gone": as_documents(own - theirs),
        "added": as_documents(theirs - own),
    }


def said(findings: Iterable[Mapping[str, Any]]) -> set[_Finding]:
    """Return findings without their places and measures: what is compared."""
    return {tuple(str(found[key]) for key in _TOLD) for found in findings}


def as_documents(findings: Iterable[_Finding]) -> list[dict[str, str]]:
    """Return what `said` gave as data, sorted."""
    return [dict(zip(_TOLD, found, strict=True)) for found in sorted(findings)]


class Moved(NamedTuple):
    """What would have been decided otherwise.

    Attributes:
        moves: how many decisions have each pair of statuses, the own and the other.
        differing: `(place, failure, own status and reason, the other's)` of each decision whose status or reason differs.
        gone: how often a rule says something that the other side's rules do not say, by `ruleset/rule`.
        added: how often a rule of the other side says something that the decision's rules do not say.
    """

    moves: Mapping[tuple[str, str], int]
    differing: Sequence[tuple[str, str, tuple[str, str | None], tuple[str, str | None]]]
    gone: Mapping[str, int]
    added: Mapping[str, int]


class Summary(NamedTuple):
    """What a log of decisions shows of their shadows, and of the experimental rules that looked on.

    Attributes:
        decisions: decisions in the log.
        shadowed: those with a shadow.
        bundles: how many shadows are of each bundle, by its name and digest.
        shadow: what the shadows would have decided otherwise.
        tried: decisions beside which experimental rules looked on.
        experimental: what they would have changed, all of them together.
        rules: of each experimental rule that fired, in how many decisions, and in how many of these the decision would differ.
        renamed: old names that stand in the log, with the live ones that they were counted under.
    """

    decisions: int
    shadowed: int
    bundles: Mapping[tuple[str, str], int]
    shadow: Moved
    tried: int
    experimental: Moved
    rules: Mapping[str, tuple[int, int]]
    renamed: Mapping[str, str]


class _Tally:
    """Counts one side by side; rules by their live names."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self.count = 0
        self.old: dict[str, str] = {}
        self.moves: Counter[tuple[str, str]] = Counter()
        self.differing: list[tuple[str, str, tuple[str, str | None], tuple[str, str | None]]] = []
        self.rules: dict[str, Counter[str]] = {"gone": Counter(), "added": Counter()}

    def live(self, name: str) -> str:
        """Return the name that a rule has now."""
        now = self._names.get(name)
        if now is None:
            return name
        self.old[name] = now
        return now

    def add(self, place: str, decision: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        """Count a decision beside the other one; return whether they differ."""
        self.count += 1
        own, theirs = (decision["status"], decision["reason"]), (other["status"], other["reason"])
        self.moves[own[0], theirs[0]] += 1
        if own != theirs:
            self.differing.append((place, decision["failure_id"], own, theirs))
        for key, counted in self.rules.items():
            counted.update({self.live(f"{found['ruleset']}/{found['rule']}") for found in other[key]})
        return own != theirs

    def moved(self) -> Moved:
        """Return what was counted."""
        return Moved(self.moves, self.differing, self.rules["gone"], self.rules["added"])


def summarize(decisions: Iterable[tuple[str, Mapping[str, Any]]], names: Mapping[str, str] | None = None) -> Summary:
    """Return the summary of `(place, decision)`, each of which is held to the schema.

    Args:
        decisions: the log.
        names: live names of rules by old ones, under which they are counted.

    Raises:
        ReflectGateError: at the first one that is no decision.
    """
    from . import schemas

    count = 0
    bundles: Counter[tuple[str, str]] = Counter()
    shadows, looking = _Tally(names or {}), _Tally(names or {})
    rules: dict[str, tuple[int, int]] = {}
    for place, decision in decisions:
        schemas.check("decision", decision, place)
        count += 1
        shadow, tried = decision.get("shadow"), decision.get("experimental")
        if shadow is not None:
            bundles[shadow["bundle"]["name"], shadow["bundle"]["digest"]] += 1
            shadows.add(place, decision, shadow)
        if tried is not None:
            differs = looking.add(place, decision, tried)
            for name in {looking.live(found["rule"]) for found in tried["fired"]}:
                fired, changed = rules.get(name, (0, 0))
                rules[name] = fired + 1, changed + differs
    old = {**shadows.old, **looking.old}
    return Summary(count, shadows.count, bundles, shadows.moved(), looking.count, looking.moved(), rules, old)


def summary_document(found: Summary) -> dict[str, Any]:
    """Return the summary as `shadow-report.schema.json` has it."""
    return {
        "schema": SHADOW_REPORT_SCHEMA,
        "decisions": found.decisions,
        "shadowed": found.shadowed,
        "bundles": [{"name": name, "digest": digest, "count": n} for (name, digest), n in sorted(found.bundles.items())],
        **_moved(found.shadow),
        "experimental": {
            "decisions": found.tried,
            **_moved(found.experimental),
            "rules": [
                {"rule": rule, "fired": fired, "differing": differing}
                for rule, (fired, differing) in sorted(found.rules.items(), key=lambda entry: (-entry[1][0], entry[0]))
            ],
        },
    }


def _moved(found: Moved) -> dict[str, Any]:
    return {
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
        "gone": [{"rule": rule, "count": n} for rule, n in by_count(found.gone)],
        "added": [{"rule": rule, "count": n} for rule, n in by_count(found.added)],
    }


def by_count(counted: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the most frequent first, then by name."""
    return sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
