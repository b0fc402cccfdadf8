"""Measure the likeness of lessons on logged reflections: what of one task's chain would merge, and what of different tasks would.

usage: near_copies.py [--corpora DIR] [--file NAME] [--same PERCENT] [--elsewhere PERCENT] [--show N] [--seed N]

Two reflections that follow each other in one chain are near-copies more often than not: the agent failed again and says again
what it said. Reflections of different tasks are other lessons, unless they happen to say the same. The share that would be merged
at the thresholds of the `dedupe` rule set is printed for both as JSON, with the pairs that would be taken for contradictions.
`--show` prints pairs of different tasks that are alike at or above the threshold for other failures, to be read by a person.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

if __package__:
    from .corpora import rows
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.acceptance.corpora import rows

from reflect_gate import load_bundle
from reflect_gate.measure.similarity import similarity
from reflect_gate.measure.stance import stance

__all__ = ["figures", "pairs", "summary"]

Pair = tuple[str, str]

CROSS_LIMIT = 20_000
"""Pairs of different tasks that are looked at."""


def pairs(records: Iterable[dict[str, Any]], seed: int) -> tuple[list[Pair], list[Pair]]:
    """Return the texts that follow each other in a chain, and distinct texts of different tasks, `CROSS_LIMIT` drawn."""
    chains: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in records:
        chains[row.get("env"), row["run"], row["task_id"]].append(row)
    following = []
    for chain in chains.values():
        texts = [row["reflection_text"] for row in sorted(chain, key=lambda row: int(row.get("trial") or 0))]
        following += list(itertools.pairwise(texts))
    by_task: dict[Any, list[str]] = defaultdict(list)
    for key, chain in chains.items():
        by_task[key[0], key[2]] += [row["reflection_text"] for row in chain]
    listed = [(task, text) for task, texts in by_task.items() for text in dict.fromkeys(texts)]
    every = [(a[1], b[1]) for a, b in itertools.combinations(listed, 2) if a[0] != b[0] and a[1] != b[1]]
    return following, random.Random(seed).sample(every, min(len(every), CROSS_LIMIT))


def summary(found: list[Pair], threshold: int) -> dict[str, Any]:
    """Return how many pairs would merge at a threshold, how many are taken for contradictions, and quartiles of likeness."""
    likeness = sorted(similarity(*pair) for pair in found)
    opposed = sum("conflict" in stance(*pair) for pair in found)
    merged = sum(similarity(*pair) >= threshold and "conflict" not in stance(*pair) for pair in found)
    size = len(found) or 1
    return {
        "pairs": len(found),
        "threshold": threshold,
        "merged": merged,
        "merged_share": round(merged / size, 4),
        "opposed": opposed,
        "likeness_quartiles": [likeness[len(likeness) * quarter // 4] for quarter in (1, 2, 3)] if likeness else [],
    }


def figures(records: list[dict[str, Any]], same: int, elsewhere: int, seed: int) -> dict[str, Any]:
    """Return the figures of near-copies and of other lessons."""
    following, different = pairs(records, seed)
    return {
        "chain": summary(following, same),
        "other_tasks": summary(different, elsewhere),
        "other_tasks_at_same": summary(different, same),
    }


def main() -> int:
    """Print the figures as JSON, and pairs to be read where asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    bundle = load_bundle("structured")
    defaults = {
        name: int(100 * float(bundle.setting(f"dedupe.{name}"))) for name in ("min_similarity", "min_similarity_elsewhere")
    }
    parser.add_argument("--corpora", type=Path, default=None)
    parser.add_argument("--file", default="reflexion_alfworld")
    parser.add_argument("--same", type=int, default=defaults["min_similarity"])
    parser.add_argument("--elsewhere", type=int, default=defaults["min_similarity_elsewhere"])
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--seed", type=int, default=20)
    asked = parser.parse_args()
    records = list(rows(asked.file, asked.corpora))
    sys.stdout.write(json.dumps(figures(records, asked.same, asked.elsewhere, asked.seed), indent=2) + "\n")
    if asked.show:
        alike = [pair for pair in pairs(records, asked.seed)[1] if similarity(*pair) >= asked.elsewhere]
        for one, other in random.Random(asked.seed).sample(alike, min(asked.show, len(alike))):
            sys.stdout.write(f"\n{similarity(one, other)}\n  {one}\n  {other}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
