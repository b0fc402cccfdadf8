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
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reflect_gate import ReflectGateError, evaluate, load_bundle
from reflect_gate.ab.swapping import swapped
from reflect_gate.corpus.blind import FAMILIES, Labelled, features, fold_of, held_out, in_sample
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
            entry["seen"] = features(request["record"])
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


HELPED, HARMED = "fail->pass", "pass->fail"


def rates(found: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return how many, how many helped, precision, harm, and precision within attempts that did fail."""
    counts = Counter(row["transition"] for row in found)
    size, real = sum(counts.values()), counts[HELPED] + counts["fail->fail"]
    return {
        "records": size,
        "helped": counts[HELPED],
        "precision": round(counts[HELPED] / (size or 1), 3),
        "harm": round(counts[HARMED] / (size or 1), 3),
        "precision_in_real_failures": round(counts[HELPED] / (real or 1), 3),
    }


def confusion(
    found: Iterable[Mapping[str, Any]], label_of: Callable[[Mapping[str, Any]], str | None]
) -> dict[str, dict[str, int]]:
    """Return for each hand label how many records were admitted, or refused for which reason."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for row in found:
        label = label_of(row)
        if label is not None:
            table[label][row["status"] if row["status"] != "refused" else str(row["reason"])] += 1
    return {label: dict(sorted(counts.items())) for label, counts in sorted(table.items())}


def blind(found: Sequence[Mapping[str, Any]], helped: int) -> dict[str, dict[str, float]]:
    """Return the rates of gates that do not read the reflection, at no less than `helped` helpful records of `found`.

    Each family is fitted to the very records that it judges, and to other tasks.
    """
    records = [Labelled(row["task"], row["seen"], row["transition"] == HELPED) for row in found]
    recall = min(1.0, helped / (sum(record.helped for record in records) or 1))
    told = {}
    for name, fit in FAMILIES.items():
        for how, gate in (("same records", in_sample(records, recall, fit)), ("other tasks", held_out(records, recall, fit))):
            told[f"{name}, {how}"] = rates(row for row, chosen in zip(found, gate, strict=True) if chosen)
    return told


def swapped_share(requests: Sequence[Mapping[str, Any]], bundle: Any, *, seed: int = 20_240_229) -> dict[str, float]:
    """Return how many reflections are admitted when each stands beside the record of another task."""
    made = [request for request in swapped(requests, seed) if request is not None]
    admitted = sum(evaluate(request, bundle).status == "admitted" for request in made)
    return {"records": len(made), "admitted": admitted, "share": round(admitted / (len(made) or 1), 4)}


def comparison(judged: list[dict[str, Any]], known: dict[str, str]) -> dict[str, Any]:
    """Return the admitted beside text-blind gates of the same recall, within real failures, by half of the tasks and by label.

    The second kind of text-blind gate may choose only among records whose lesson is not a restatement of the surface event:
    those are refused by rule, however often they help a retry of the same task.
    """
    admitted = [row for row in judged if row["status"] == "admitted"]
    helped = sum(row["transition"] == HELPED for row in admitted)
    scored = [row for row in judged if "seen" in row]
    above = [row for row in scored if "line-level" not in row["findings"]]
    halves = [[row for row in judged if fold_of(row["task"], 2) == number] for number in (0, 1)]
    return {
        "admitted": rates(admitted),
        "naive": rates(judged),
        "not_line_level": rates(above),
        "text_blind": blind(scored, helped),
        "text_blind_not_line_level": blind(above, helped),
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
        "swapped": swapped_share([convert(row) for row in rows("reflexion_programming", options.corpora)], bundle),
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
