"""Judge the logged corpora with a bundle and print gate quality beside the naive baseline that stores everything.

usage: corpora.py [--bundle NAME] [--policies FILE] [--corpora DIR] [--curve]

`helped` is fail→pass and `harmed` pass→fail between the attempt that was reflected on and the next one, both re-run on hidden
tests. Every outcome concerns a retry of the same task: this measures admission on real reflections, not transfer to later tasks.
Beside the naive baseline stand the best text-blind gate at the same recall, the share of reflections that are admitted beside the
record of another task, the hand labels by verdict, and each half of the tasks apart.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if __package__:
    from .baselines import best_blind, confusion, evidence_cell, fitted_blind, half, rates, swapped_share
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.acceptance.baselines import best_blind, confusion, evidence_cell, fitted_blind, half, rates, swapped_share

from reflect_gate import ReflectGateError, evaluate, load_bundle
from reflect_gate.corpus.reflexion import convert

__all__ = ["comparison", "curve", "folder", "judge", "labels", "rows", "summary"]

HERE = Path(__file__).resolve()


def folder() -> Path:
    """Return the folder of the corpora: `REFLECT_GATE_CORPORA`, else beside the checkout."""
    named = os.environ.get("REFLECT_GATE_CORPORA")
    return Path(named) if named else HERE.parents[3] / "shared" / "corpora"


def rows(name: str, base: Path | None = None) -> Iterator[dict[str, Any]]:
    """Yield the records of one corpus file."""
    with ((base or folder()) / f"{name}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def labels(base: Path | None = None) -> dict[str, str]:
    """Return the hand labels by record id: a line-level, b platitude, c outward, d ungrounded, e calibrated."""
    return {row["id"]: row["primary"] for row in rows("hand_labels", base) if row["file"] == "reflexion_programming.jsonl"}


def judge(name: str, bundle: Any, base: Path | None = None) -> list[dict[str, Any]]:
    """Return one row a record: id, transition, task, status, reason and findings, or the error that it raised."""
    found = []
    for row in rows(name, base):
        entry: dict[str, Any] = {"id": row["id"], "transition": row["transition"], "task": row["task_id"]}
        try:
            request = convert(row)
            entry["cell"] = evidence_cell(request["record"])
            decision = evaluate(request, bundle)
        except ReflectGateError as error:
            found.append({**entry, "status": "error", "reason": str(error), "findings": []})
            continue
        reasons = [finding["reason"] for finding in decision.findings]
        found.append({**entry, "status": decision.status, "reason": decision.reason, "findings": reasons})
    return found


def summary(judged: list[dict[str, Any]], known: dict[str, str]) -> dict[str, Any]:
    """Return counts and rates: shares are of all records, precision and harm of the admitted ones."""
    admitted = [row for row in judged if row["status"] == "admitted"]
    gained = Counter(row["transition"] for row in admitted)
    naive = Counter(row["transition"] for row in judged)
    calibrated = [row for row in judged if known.get(row["id"]) == "e"]
    by_label = Counter(known[row["id"]] for row in admitted if row["id"] in known)
    size = len(admitted) or 1
    return {
        "records": len(judged),
        "errors": sum(row["status"] == "error" for row in judged),
        "statuses": dict(Counter(row["status"] for row in judged)),
        "reasons": dict(Counter(row["reason"] for row in judged if row["status"] == "refused")),
        "admitted_share": len(admitted) / len(judged),
        "precision": gained["fail->pass"] / size,
        "harm": gained["pass->fail"] / size,
        "recall_of_helpful": gained["fail->pass"] / (naive["fail->pass"] or 1),
        "naive_precision": naive["fail->pass"] / len(judged),
        "naive_harm": naive["pass->fail"] / len(judged),
        "calibrated_admitted": by_label["e"],
        "calibrated_labelled": len(calibrated),
        "labels_admitted": dict(by_label),
        "labels": dict(Counter(known[row["id"]] for row in judged if row["id"] in known)),
    }


def comparison(judged: list[dict[str, Any]], known: dict[str, str]) -> dict[str, Any]:
    """Return the admitted beside text-blind gates of the same recall, within real failures, by half of the tasks and by label.

    The second text-blind gate may choose only among records whose lesson is not a restatement of the surface event: those are
    refused by rule, however often they help a retry of the same task.
    """
    admitted = [row for row in judged if row["status"] == "admitted"]
    helped = sum(row["transition"] == "fail->pass" for row in admitted)
    scored = [row for row in judged if "cell" in row]
    above = [row for row in scored if "line-level" not in row["findings"]]
    halves = [[row for row in judged if half(row["task"]) == number] for number in (0, 1)]
    return {
        "admitted": rates(admitted),
        "naive": rates(judged),
        "not_line_level": rates(above),
        "best_text_blind": best_blind(scored, helped),
        "best_text_blind_not_line_level": best_blind(above, helped),
        "fitted_text_blind": fitted_blind(scored, helped),
        "fitted_text_blind_not_line_level": fitted_blind(above, helped),
        "halves": [
            {"naive": rates(part), "admitted": rates(row for row in part if row["status"] == "admitted")} for part in halves
        ],
        "labels": confusion(judged, lambda row: known.get(row["id"])),
    }


CURVE = ("0.2", "0.25", "0.34", "0.4", "0.5", "0.6")
"""Values of `grounding.min_terms_alone`, the threshold that moves the most."""


def curve(name: str, policies: Path | None, base: Path | None) -> dict[str, dict[str, float]]:
    """Return the rates of the admitted along the curve, and of the bundle's neighbours that leave one mechanism out."""
    bundles = {value: load_bundle(name, policies=policies, set_=[f"grounding.min_terms_alone={value}"]) for value in CURVE}
    for other in ("episodic-line-level", "ablate-grounding", "ablate-calibration", "ablate-admission"):
        bundles[other] = load_bundle(other, policies=policies)
    judged = {point: judge("reflexion_programming", bundle, base) for point, bundle in bundles.items()}
    return {point: rates(row for row in found if row["status"] == "admitted") for point, found in judged.items()}


def main() -> int:
    """Print the table; exit 1 where a record raised an error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", default="structured")
    parser.add_argument("--policies", type=Path, default=None)
    parser.add_argument("--corpora", type=Path, default=None)
    parser.add_argument("--curve", action="store_true", help="print the curve over one threshold and the ablations instead")
    options = parser.parse_args()
    if options.curve:
        sys.stdout.write(json.dumps(curve(options.bundle, options.policies, options.corpora), indent=2) + "\n")
        return 0
    bundle = load_bundle(options.bundle, policies=options.policies)
    known = labels(options.corpora)
    judged = judge("reflexion_programming", bundle, options.corpora)
    programming = summary(judged, known)
    bare = judge("reflexion_no_evidence", bundle, options.corpora)
    report: dict[str, Any] = {
        "bundle": bundle.name,
        "engine": bundle.engine,
        "cross_check": bundle.cross_check,
        "programming": programming,
        "comparison": comparison(judged, known),
        "swapped": swapped_share(list(rows("reflexion_programming", options.corpora)), bundle),
        "no_evidence": {
            "records": len(bare),
            "errors": sum(row["status"] == "error" for row in bare),
            "refused_speculative": sum(row["reason"] == "speculative" for row in bare),
        },
    }
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    return int(bool(programming["errors"] or report["no_evidence"]["errors"]))


if __name__ == "__main__":
    sys.exit(main())
