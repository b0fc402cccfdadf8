"""Judge kinds of reflections whose verdict is known by their kind, and print how many get it.

usage: genres.py [--bundle NAME] [--corpora DIR] [--sample N] [--read]

- **Outward blame** (tree-search runs on programming tasks): most say that the tests are wrong where the code implements another
  function. Of a seeded sample of those that are found none may be above the lowest confidence. `--read` prints the sample, and
  admitted ones in which nothing was found, for a person to read.
- **Planted corroboration**: the same candidates with independent earlier failures in the store view clear the cap.
- **Advice without a cause** (exam questions, genre `advice`): too vague, or thin for its scope.
- **Reasons of people** (agents' failures with the reason that annotators gave): rules on wording must not call them platitudes or
  restatements of a line. A reason is no lesson: that it says nothing to do is counted apart.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

if __package__:
    from .corpora import folder, rows
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.acceptance.corpora import folder, rows

from reflect_gate import Bundle, Decision, evaluate, load_bundle
from reflect_gate.corpus import attribution, exam, reflexion

__all__ = ["advice", "blame", "human_reasons"]

SEED = 7
WORDING = frozenset(("line-level", "virtue-level", "platitudes", "instance-bound"))


def _judged(name: str, convert: Callable[[Mapping[str, object]], dict[str, Any]], bundle: Bundle, base: Path, **only: str) -> Any:
    for row in rows(name, base):
        if all(row[field] == value for field, value in only.items()):
            request = convert(row)
            yield row, request, evaluate(request, bundle)


def _blames(decision: Decision) -> bool:
    return any(span["lexicon"] == "outward-blame" for span in decision.spans)


def _reasons(decision: Decision) -> set[str]:
    return {finding["reason"] for finding in decision.findings}


def corroborated(request: dict[str, Any], decision: Decision, count: int) -> dict[str, Any]:
    """Return the request with `count` failures in the store view that blame the same, each in a repository of its own."""
    lesson = {
        **(decision.lesson or {}),
        "derived_from": {"failures": [f"earlier-{number}" for number in range(count)], "successes": []},
    }
    origins = [{"repository": f"acme/service-{number}", "task": f"task-{number}"} for number in range(count)]
    entry = {"id": "lesson-planted", "lesson": lesson, "signature": decision.signature, "red_flag": True, "origins": origins}
    failures = [
        {
            "failure_id": f"earlier-{number}",
            "signature": decision.signature,
            "origin": origin,
            "outcome": "escalated",
            "recalled": [],
            "scope": "",
        }
        for number, origin in enumerate(origins)
    ]
    edges = [{"signature": decision.signature, "lesson_id": "lesson-planted"}]
    view = {"version": 1, "lessons": [entry], "edges": edges, "failures": failures}
    return {**request, "store_view": view}


def blame(bundle: Bundle, base: Path, sample: int) -> dict[str, Any]:
    """Return figures of outward blame and a seeded sample of it."""
    judged = list(_judged("lats_programming", reflexion.convert, bundle, base))
    lowest = float(bundle.setting("blame.lowest"))
    blaming = [entry for entry in judged if _blames(entry[2])]
    plain = [entry for entry in judged if entry[2].status == "admitted" and not _blames(entry[2])]
    chosen = random.Random(SEED).sample(blaming, min(sample, len(blaming)))
    capped = [entry for entry in chosen if entry[2].lesson]
    cleared = [evaluate(corroborated(request, decision, 3), bundle) for _, request, decision in capped]
    return {
        "records": len(judged),
        "blaming": len(blaming),
        "sample": len(chosen),
        "sample_by_status": dict(Counter(decision.status for _, _, decision in chosen)),
        "above_lowest": sum(decision.lesson["confidence"] > lowest for _, _, decision in capped),
        "admitted_without_a_find": len(plain),
        "planted_corroboration": {
            "tried": len(cleared),
            "cleared": sum(
                not decision.stages["lifecycle"]["red_flag_class"] for decision in cleared if decision.stages["lifecycle"]
            ),
        },
        "read": [
            {"id": row["id"], "status": decision.status, "text": row["reflection_text"][:400]} for row, _, decision in chosen
        ],
        "read_plain": [row["reflection_text"][:400] for row, _, _ in random.Random(SEED).sample(plain, min(sample, len(plain)))],
    }


def advice(bundle: Bundle, base: Path) -> dict[str, Any]:
    """Return how many pieces of general advice are called too vague, or thin for their scope."""
    judged = list(_judged("renze_mcqa", exam.convert, bundle, base, strategy="advice"))
    found = [_reasons(decision) for _, _, decision in judged]
    return {
        "records": len(judged),
        "statuses": dict(Counter(decision.status for _, _, decision in judged)),
        "too_vague_or_thin": sum(bool(reasons & {"too_vague", "thin_evidence"}) for reasons in found) / len(found),
        "too_vague": sum("too_vague" in reasons for reasons in found) / len(found),
    }


def human_reasons(bundle: Bundle, base: Path) -> dict[str, Any]:
    """Return how many reasons of people are taken for platitudes or restatements, and how many only lack a part of a lesson."""
    judged = list(_judged("who_and_when", attribution.convert, bundle, base))
    found = [_reasons(decision) for _, _, decision in judged]
    return {
        "records": len(judged),
        "wording": sum(bool(reasons & WORDING) for reasons in found) / len(found),
        "lacks_a_part": sum(
            bool(reasons & {"no-action", "no-cause", "no-condition", "no-link", "too-short"}) for reasons in found
        )
        / len(found),
    }


def main() -> int:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--bundle")
    parser.add_argument("--corpora", type=Path, default=folder())
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--read", action="store_true", help="print the sampled texts as well")
    chosen = parser.parse_args()
    bundle = load_bundle(chosen.bundle)
    blaming = blame(bundle, chosen.corpora, chosen.sample)
    if not chosen.read:
        del blaming["read"], blaming["read_plain"]
    figures = {
        "outward_blame": blaming,
        "advice": advice(bundle, chosen.corpora),
        "human_reasons": human_reasons(bundle, chosen.corpora),
    }
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
