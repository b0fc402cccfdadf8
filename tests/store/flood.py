"""Contradict one lesson a thousand times, and see whether it is still in use.

    python tests/store/flood.py --candidates 1000

Every candidate says the opposite of the lesson, for the same failure, from another repository, task and session: the strongest
thing that words alone can do. Prints what became of the lesson, and what a decision cost at the start and at the end.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from reflect_gate import load_bundle
from reflect_gate.memory.applying import apply
from reflect_gate.memory.settling import sweep_all
from reflect_store import open_store

if __package__ in (None, ""):
    # Run as a script: the folder that holds `tests` is not on the path then.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.store.processes_apply import request


def main() -> int:
    """Run as a script; exit code 1 where the lesson went out of use or changed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=1_000)
    chosen = parser.parse_args()
    bundle = load_bundle("structured")._replace(engine="compiled", cross_check=False)
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store.db", create=True) as store:
        name = str(apply(store, request(0, "first"), bundle).lesson_id)
        before = store.get("lessons", name)
        costs = []
        for number in range(chosen.candidates):
            against = request(0, f"teller-{number}")
            said = against["reflection"]["candidate_lesson"]
            against["reflection"]["candidate_lesson"] = said.replace(", check its result", ", never check its result")
            began = time.perf_counter()
            apply(store, against, bundle)
            costs.append(1_000 * (time.perf_counter() - began))
        sweep_all(store, bundle)
        after = store.get("lessons", name)
        part = max(1, len(costs) // 10)
        found = {
            "unchanged": before == after,
            "standing": after["standing"] if after else None,
            "held": store.count("candidates", {"status": "held"}),
            "open_flags": store.count("flags", {"status": "open"}),
            "ms_first_tenth": round(statistics.median(costs[:part]), 1),
            "ms_last_tenth": round(statistics.median(costs[-part:]), 1),
            "mib": round(store.status().size / 2**20, 1),
        }
    print(json.dumps(found, indent=2))  # noqa: T201 - the result
    return 0 if found["unchanged"] and found["standing"] == "active" else 1


if __name__ == "__main__":
    sys.exit(main())
