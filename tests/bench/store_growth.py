"""What judging against a store costs as the store grows, as a ratio of what it costs on the smallest one.

    python tests/bench/store_growth.py --lessons 1000,10000,100000

The lessons share most of their words, so that a search by them cannot be lucky; what is judged is a failure of a known signature,
one of a new signature, and one whose lesson nearly says what another says. Sizes are measured in turn, again and again, and the
median of the ratios of each turn is printed, so that another load on the machine meets all of them. The budget is 1.3.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reflect_gate import Bundle, load_bundle
from reflect_gate.measure.scope import Scope
from reflect_gate.memory.applying import candidate_of, consider
from reflect_store import Draft, EventStore, draft, new_lesson, open_store

if __package__ in (None, ""):
    # Run as a script: the folder that holds `tests` is not on the path then.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.store.processes_apply import request
from tests.store.scale import load

__all__ = ["filled", "ratios"]

BUDGET = 1.3


def _lesson(number: int, bundle: Bundle) -> Draft:
    """Return the birth of a lesson, as the gate would have admitted it."""
    asked = request(number, "builder")
    name = f"lesson-{number:024x}"
    scope = str(Scope.parse(asked["reflection"]["scope"]))
    statement = asked["reflection"]["candidate_lesson"]
    lesson = new_lesson(statement, scope, failures=[f"{number}"], evidence=["plan", "test"], confidence=0.7)
    signature = candidate_of(asked, bundle).context["signature"] if number < len(_asked()) else f"{number:064x}"
    envelope = {"lesson_id": name, "signature": signature, "project": asked["project"], "red_flag": False, "bundle": "b" * 64}
    return draft("lesson-admitted", {"lesson": lesson, "envelope": envelope, "decision_id": f"d-{number}"})


def filled(path: Path, lessons: int, bundle: Bundle) -> EventStore:
    """Return a store of so many lessons, which is made where there is none."""
    store = open_store(path, create=True)
    if store.version == 0:
        load(store, (_lesson(number, bundle) for number in range(lessons)), lessons)
    return store


def _asked() -> list[dict[str, Any]]:
    """Return what is judged: known signatures, new ones, and lessons that nearly say what another says."""
    known = [request(number, "asker") for number in range(10)]
    new = [request(10_000_000 + number, "asker") for number in range(10)]
    near = [request(20_000_000 + number, "asker") for number in range(10)]
    for number, entry in enumerate(near):
        entry["reflection"]["candidate_lesson"] = request(number, "x")["reflection"]["candidate_lesson"]
    return [*known, *new, *near]


def _seconds(store: EventStore, asked: Sequence[dict[str, Any]], bundle: Bundle) -> float:
    began = time.perf_counter()
    for entry in asked:
        consider(store, entry, bundle)
    return time.perf_counter() - began


def ratios(folder: Path, sizes: Sequence[int], turns: int) -> Iterator[dict[str, float]]:
    """Yield for each size what a decision costs there against the first size, and what it costs in milliseconds."""
    bundle = load_bundle("structured")._replace(engine="compiled", cross_check=False)
    stores, built = [], []
    for size in sizes:
        began = time.perf_counter()
        stores.append(filled(folder / f"{size}.db", size, bundle))
        built.append(time.perf_counter() - began)
    asked = _asked()
    for store in stores:
        _seconds(store, asked, bundle)
    measured = [[_seconds(store, asked, bundle) for store in stores] for _ in range(turns)]
    for place, (size, store) in enumerate(zip(sizes, stores, strict=True)):
        yield {
            "lessons": size,
            "ratio": round(statistics.median(turn[place] / turn[0] for turn in measured), 3),
            "ms": round(1_000 * statistics.median(turn[place] for turn in measured) / len(asked), 2),
            "built_s": round(built[place], 1),
            "mib": round(store.status().size / 2**20, 1),
        }
        store.close()


def main() -> int:
    """Run as a script; exit code 1 where the budget is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lessons", default="1000,10000,100000", help="sizes, the smallest first")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--keep", type=Path, help="a folder to keep the stores in, and to use those that are there")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = list(ratios(chosen.keep or Path(folder), [int(size) for size in chosen.lessons.split(",")], chosen.turns))
    print(json.dumps(found, indent=2))  # noqa: T201 - the result
    return 0 if all(entry["ratio"] <= BUDGET for entry in found) else 1


if __name__ == "__main__":
    sys.exit(main())
