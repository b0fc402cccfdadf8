"""Ask "why not admitted" of refused requests of the logged corpora, and print how often a change was found, and how fast.

usage: whynot.py [--count N] [--limit N] [--corpora DIR] [--seed N]

A flip counts only where the whole gate, on the engines of the bundle, judged the request again with it and admitted it. Times are
medians in milliseconds, measured beside one `evaluate` of the same request.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __package__:
    from .corpora import rows
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.acceptance.corpora import rows

from reflect_gate import Bundle, ReflectGateError, evaluate, load_bundle
from reflect_gate.corpus.reflexion import convert
from reflect_gate.replaying import Replay
from reflect_gate.runtime import Runtime, runtime
from reflect_gate.whynot.asking import ask
from reflect_gate.whynot.goals import parse_goal

__all__ = ["asked", "refused"]

FILES = ("reflexion_programming", "reflexion_no_evidence")


def refused(bundle: Bundle, count: int, seed: int, base: Path | None) -> list[dict[str, Any]]:
    """Return `count` requests that the bundle refuses, drawn by `seed`."""
    drawn = [row for name in FILES for row in rows(name, base)]
    random.Random(seed).shuffle(drawn)
    found: list[dict[str, Any]] = []
    for row in drawn:
        try:
            request = convert(row)
            if evaluate(request, bundle).status == "refused":
                found.append(request)
        except ReflectGateError:
            continue
        if len(found) == count:
            break
    return found


def timed(act: Callable[[], Any]) -> tuple[float, Any]:
    """Return how many milliseconds `act` took, and what it returned."""
    start = time.perf_counter()
    result = act()
    return (time.perf_counter() - start) * 1000, result


def asked(requests: list[dict[str, Any]], bundle: Bundle, limit: int) -> dict[str, Any]:
    """Return shares of requests with a flip, sizes and times."""
    goal = parse_goal("admitted", bundle)
    once: list[float] = []
    answers: list[float] = []
    facts: list[int] = []
    policy: list[int] = []
    knobs = confirmed = 0
    for request in requests:
        once.append(timed(lambda request=request: evaluate(request, bundle))[0])  # type: ignore[misc]
        took, found = timed(lambda request=request: ask(request, bundle, goal, limit=limit))  # type: ignore[misc]
        answers.append(took)
        if found.facts.flips:
            facts.append(found.facts.flips[0].size)
            gate = runtime(bundle)
            confirmed += goal.reached(Replay(request, bundle).run(gate, found.facts.flips[0].change()))
        if found.policy.flips:
            policy.append(found.policy.flips[0].size)
            knobs += any(not flip.off for flip in found.policy.flips)
            changed = found.policy.flips[0].apply(bundle)
            confirmed += goal.reached(Replay(request, changed).run(Runtime(changed)))
    return {
        "requests": len(requests),
        "facts_flipped": len(facts),
        "facts_size_median": statistics.median(facts) if facts else None,
        "facts_size_max": max(facts, default=None),
        "policy_flipped": len(policy),
        "policy_flipped_without_a_rule_set_off": knobs,
        "confirmed": confirmed,
        "evaluate_ms": round(statistics.median(once), 2),
        "answer_ms": round(statistics.median(answers), 2),
        "ratio": round(statistics.median(answer / one for answer, one in zip(answers, once, strict=True)), 1),
    }


def main() -> int:
    """Print the figures; exit 1 where a told flip was not confirmed here."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--corpora", type=Path, default=None)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    bundle = load_bundle("structured")
    report = asked(refused(bundle, options.count, options.seed, options.corpora), bundle, options.limit)
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    return int(report["confirmed"] != report["facts_flipped"] + report["policy_flipped"])


if __name__ == "__main__":
    sys.exit(main())
