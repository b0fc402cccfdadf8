"""Compare the engines on many random policies and requests.

usage: bulk.py [--bundles N] [--requests M] [--seed S]

Run from anywhere. Every bundle has a seed of its own, which is printed with a disagreement: `--seed SEED --bundles 1` repeats it.
Exit 1 on a disagreement or a crash.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import yaml

if __package__:
    from .bundles import facts_for, policies, write
    from .compare import differences, engines_of
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.differential.bundles import facts_for, policies, write
    from tests.differential.compare import differences, engines_of

from reflect_gate import ReflectGateError, load_bundle

__all__ = ["main", "run"]


def run(bundles: int, requests: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Return counts of what was compared, and the complaints."""
    counts: Counter[str] = Counter()
    complaints: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        for own in range(seed, seed + bundles):
            rng = Random(own)
            try:
                _one(rng, requests, Path(name), counts, complaints, own)
            except Exception:  # noqa: BLE001 -- a crash is what is looked for
                counts["crashes"] += 1
                complaints.append(f"seed {own}: {traceback.format_exc(limit=4)}")
    counts["disagreements"] = len(complaints) - counts["crashes"]
    return counts, complaints


def _one(rng: Random, requests: int, folder: Path, counts: Counter[str], complaints: list[str], seed: int) -> None:
    path = write(folder, policies(rng))
    try:
        bundle = load_bundle("fuzz", policies=path, cache=False, as_of="2026-01-01")
    except ReflectGateError as error:
        counts["refused"] += 1
        counts[f"refused: {error.code}"] += 1
        return
    documents = [yaml.safe_load(file.read_bytes()) for file in sorted((folder / "rules").iterdir())]
    engines = engines_of(bundle.program)
    counts["bundles"] += 1
    counts["rules"] += len(bundle.program.rules)
    for _ in range(requests):
        found, firings = differences(bundle, engines, documents, facts_for(rng), rng)
        counts["requests"] += 1
        counts["firings"] += firings
        complaints.extend(f"seed {seed}: {line}" for line in found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; 1 where an engine disagreed or crashed."""
    parser = argparse.ArgumentParser(description="Compare the engines on random policies.")
    parser.add_argument("--bundles", type=int, default=100)
    parser.add_argument("--requests", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    counts, complaints = run(options.bundles, options.requests, options.seed)
    for complaint in complaints[:20]:
        sys.stderr.write(complaint + "\n")
    sys.stdout.write(", ".join(f"{name} {count}" for name, count in counts.items()) + "\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
