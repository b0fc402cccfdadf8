"""Let each shipped rule look on in turn, judge requests, and hold what is decided to what is decided without the rule.

usage: looking_on.py [--rules N] [--corpus NAME] [--limit N] [--corpora DIR]

Of each rule it is counted whether every request is decided as by the program with that rule cut out (`policy.reduced`, which
knows nothing of maturity), and whether what is told beside the decision is what the whole bundle decides. Rules are taken at
even distances where fewer than all are asked for. Both engines judge where durable-rules can be imported, held to each other.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.policy_tools.diff_reverts import requests as corpus_requests

from reflect_gate import Bundle, evaluate
from reflect_gate._canonical import canonical_bytes
from reflect_gate.cli.demo import load_demo
from reflect_gate.cli.demo import requests as demo_requests
from reflect_gate.decision import Decision
from reflect_gate.diffing.sides import Side, load_side
from reflect_gate.policy.build import assemble
from reflect_gate.policy.problems import Problems
from reflect_gate.policy.reduced import without
from reflect_gate.runtime import AFTERWARDS
from reflect_gate.shadowing import said

__all__ = ["figures"]

AS_OF = "2026-06-01"


def on_trial(side: Side, name: str) -> Bundle:
    """Return the bundle of a side with one rule experimental, compiled from its files."""
    ruleset, _, rule_id = name.partition("/")
    file = side.parts.rulesets[ruleset]
    rules = tuple(dataclasses.replace(rule, maturity="experimental") if rule.id == rule_id else rule for rule in file.rules)
    changed = {**side.parts.rulesets, ruleset: dataclasses.replace(file, rules=rules)}
    parts = dataclasses.replace(side.parts, rulesets=changed)
    return assemble(side.request, parts, side.resolved, Problems())


def cut(bundle: Bundle, name: str) -> Bundle:
    """Return a bundle with one rule cut out of its program."""
    program = without(bundle.program, lambda rule: rule.name == name)
    return bundle._replace(program=program, digest=f"{bundle.digest}-{name}", generated="", engine="compiled", cross_check=False)


def outcome(decision: Decision) -> tuple[object, ...]:
    """Return all that is decided."""
    return decision.status, decision.reason, sorted(said(decision.findings)), canonical_bytes(decision.stages)


def figures(requests: Sequence[Mapping[str, Any]], most: int | None = None) -> dict[str, Any]:
    """Return the counts over `most` rules of the default bundle, all where it is left out."""
    side = load_side("structured", None, AS_OF)
    rules = [rule.name for rule in side.bundle.program.rules if rule.stage not in AFTERWARDS]
    chosen = rules if most is None else rules[:: max(1, len(rules) // most)][:most]
    whole = [evaluate(request, side.bundle) for request in requests]
    counts = {"rules": len(chosen), "requests": len(requests), "as_without": 0, "told_as_with": 0, "would_differ": 0, "fired": 0}
    wrong = []
    for name in chosen:
        tried, fewer = on_trial(side, name), cut(side.bundle, name)
        for request, full in zip(requests, whole, strict=True):
            decision, plain = evaluate(request, tried), evaluate(request, fewer)
            told = decision.experimental or {}
            same, right = outcome(decision) == outcome(plain), (told["status"], told["reason"]) == (full.status, full.reason)
            counts["as_without"] += same
            counts["told_as_with"] += right
            counts["would_differ"] += (decision.status, decision.reason) != (full.status, full.reason)
            counts["fired"] += bool(told["fired"])
            if not (same and right):
                wrong.append(f"{name}: {full.failure_id}")
    return {**counts, "engine": side.bundle.engine, "cross_check": side.bundle.cross_check, "wrong": wrong[:20]}


def main() -> int:
    """Print the counts as JSON; 1 where a rule that looks on mattered, or was told wrongly."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", type=int, help="how many rules to try; all of them by default")
    parser.add_argument("--corpus", help="a corpus whose requests are judged beside those of the demo")
    parser.add_argument("--limit", type=int, default=20, help="how many requests of the corpus")
    parser.add_argument("--corpora", type=Path, help="the folder of the corpora")
    options = parser.parse_args()
    requests: list[Mapping[str, Any]] = [request for _, request in demo_requests(load_demo())]
    if options.corpus:
        requests += [request for _, request in corpus_requests(options.corpus, options.limit, options.corpora)]
    start = time.monotonic()
    found = figures(requests, options.rules)
    sys.stdout.buffer.write(canonical_bytes({**found, "seconds": round(time.monotonic() - start, 1)}) + b"\n")
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
