"""Candidates as examples of calibration: what each verdict on the level of a lesson looks like, with the words of the candidates.

A comparison holds figures and names alone; examples are texts of the corpus, so they are in it only where they were asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ..corpus.figures import Case
from ..policy import Bundle
from ..replaying import Replay
from ..runtime import Runtime
from .removing import verdict_in

__all__ = ["Calibrator", "calibration_examples", "calibrator"]

_TEXT: Final = 600


class Calibrator:
    """A bundle made ready to say what it makes of the level of a lesson."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle._replace(engine="compiled", cross_check=False)
        self._gate = Runtime(self.bundle)

    def see(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return a candidate with the verdict on its level, what was made of it, and how the request was decided."""
        run = Replay(request, self.bundle).run(self._gate)
        judged, output = run.case.judgements["calibrate"], run.case.outputs["calibrate"]
        verdict = verdict_in(run, request)
        said = [found for found in judged.findings if found.verdict == judged.verdict]
        return {
            "id": verdict.id,
            "calibration": judged.verdict,
            "rules": [self._gate.program.rules[found.rule].name for found in said][:8],
            "lesson": request["reflection"]["candidate_lesson"][:_TEXT],
            "calibrated_lesson": (output["calibrated_lesson"] or "")[:_TEXT],
            "status": verdict.status,
            "reason": verdict.reason,
        }


def calibrator(bundle: Bundle) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return what says of a request what its candidate is as an example."""
    return Calibrator(bundle).see


def calibration_examples(rows: Sequence[tuple[Mapping[str, Any], Case | None]], most: int, seed: int) -> list[dict[str, Any]]:
    """Return at most `most` candidates of each verdict on the level, drawn by hash, with what became of each."""
    ordered = sorted(rows, key=lambda row: hashlib.sha256(f"{seed}:{row[0]['id']}".encode("utf-8", "surrogatepass")).digest())
    found = []
    for verdict in sorted({row["calibration"] for row, _ in ordered}):
        own = [(row, case) for row, case in ordered if row["calibration"] == verdict]
        found += [{**row, "outcome": _outcome(case)} for row, case in own[:most]]
    return found


def _outcome(case: Case | None) -> str:
    if case is None:
        return "unknown"
    return "helped" if case.helped() else "harmed" if case.harmed() else "neither"
