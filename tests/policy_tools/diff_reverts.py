"""Compare two bundles on a corpus and take back, by the loader's own options, what each flip was put down to; print the counts.

usage: diff_reverts.py [--before NAME] [--after NAME] [--corpus NAME] [--limit N] [--corpora DIR]

`by_options` are flips that come back when the second bundle is loaded with the options that the difference names, and nothing
else. `by_rules` are those that also come back when, of all rules that say something bad in the rule sets so switched on, only the
named ones are left. Neither uses what the difference judged by: the bundles are loaded from their files.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.acceptance.corpora import rows

from reflect_gate import Bundle, ReflectGateError, evaluate, load_bundle
from reflect_gate._canonical import canonical_bytes
from reflect_gate.corpus.reflexion import convert
from reflect_gate.diffing.behaviour import Flip, compare
from reflect_gate.diffing.changes import changes
from reflect_gate.diffing.sides import load_side
from reflect_gate.facts import load_vocabulary
from reflect_gate.policy.reduced import without

__all__ = ["counts", "requests"]


def requests(corpus: str, limit: int | None, base: Path | None = None) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the requests of a corpus with their places; records that make none are left out."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    for number, record in enumerate(rows(corpus, base), 1):
        try:
            found.append((f"line {number}", convert(record)))
        except ReflectGateError:
            continue
        if limit and len(found) == limit:
            break
    return found


class Reverter:
    """The second bundle with options, each loaded once."""

    def __init__(self, name: str, as_of: str) -> None:
        self._name = name
        self._as_of = as_of
        self._known: dict[tuple[str, ...], Bundle] = {}

    def bundle(self, options: Sequence[str]) -> Bundle:
        """Return the bundle with `--enable`, `--disable` and `--set` options."""
        key = tuple(options)
        if key not in self._known:
            given: dict[str, list[str]] = {"--enable": [], "--disable": [], "--set": []}
            for option in options:
                verb, _, value = option.partition(" ")
                given[verb].append(value)
            self._known[key] = load_bundle(
                self._name,
                enable=given["--enable"],
                disable=given["--disable"],
                set_=given["--set"],
                as_of=self._as_of,
                cache=False,
            )
        return self._known[key]


def with_only(bundle: Bundle, rulesets: set[str], rules: set[str]) -> Bundle:
    """Return the bundle in which of the bad sayings of some rule sets only those of `rules` are left."""
    program, finding = bundle.program, bundle.program.type_index("finding")

    def gone(rule: Any) -> bool:
        if rule.ruleset not in rulesets or rule.name in rules or rule.stage not in load_vocabulary().stages:
            return False
        mildest = load_vocabulary().stages[rule.stage].verdicts[0]
        return any(head.type == finding and program.symbols[head.values[0]] != mildest for head in rule.heads)

    return bundle._replace(program=without(program, gone), generated="", digest=f"{bundle.digest} only {sorted(rules)}")


def counts(before: str, after: str, judged: Sequence[tuple[str, Mapping[str, Any]]], as_of: str = "2026-01-01") -> dict[str, Any]:
    """Return how many decisions flip, how many of them have a cause, and how many come back by each way of taking it back."""
    first, second = load_side(before, None, as_of), load_side(after, None, as_of)
    known = dict(judged)
    found = compare(first, second, changes(first, second), judged)
    reverter = Reverter(after, as_of)
    back: Counter[str] = Counter()
    for flip in found.flips:
        back.update(_ways_back(flip, known[flip.place], reverter))
    causes = Counter(" + ".join(change.name for change in flip.cause.changes) for flip in found.flips if flip.cause)
    return {
        "before": before,
        "after": after,
        "judged": found.judged,
        "flips": len(found.flips),
        "attributed": sum(flip.cause is not None for flip in found.flips),
        "by_options": back["options"],
        "by_rules": back["rules"],
        "causes": dict(causes.most_common()),
    }


def _ways_back(flip: Flip, request: Mapping[str, Any], reverter: Reverter) -> list[str]:
    if flip.cause is None or not all(change.revert for change in flip.cause.changes):
        return []
    bundle = reverter.bundle([change.revert for change in flip.cause.changes])
    ways = ["options"] if _decided(request, bundle) == flip.before else []
    rulesets = {change.ruleset for change in flip.cause.changes}
    if _decided(request, with_only(bundle, rulesets, set(flip.cause.rules))) == flip.before:
        ways.append("rules")
    return ways


def _decided(request: Mapping[str, Any], bundle: Bundle) -> tuple[str, str | None]:
    decision = evaluate(request, bundle)
    return decision.status, decision.reason


def main() -> None:
    """Print the counts as one JSON object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--before", default="structured")
    parser.add_argument("--after", default="introspect")
    parser.add_argument("--corpus", default="reflexion_programming")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--corpora", type=Path)
    given = parser.parse_args()
    found = counts(given.before, given.after, requests(given.corpus, given.limit, given.corpora))
    sys.stdout.write(canonical_bytes(found).decode() + "\n")


if __name__ == "__main__":
    main()
