"""What a corpus holds and what it can prove: counts that are added up record by record, and the caveats that follow from them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from .record import Row, named_task, transition

__all__ = ["PARTS", "Description"]

PARTS: Final = ("evidence", "candidate", "known_cause", "should_admit", "outcome")
"""Parts that a record may be without; a termination and a group are always there."""

_DIGEST: Final = 12
"""Bytes by which a text or a name is known again: a corpus of a thousand million would have one mistake in a million."""


_LABELS: Final = 100
"""Labels that are shown, the most frequent first."""


def _digest(said: str) -> bytes:
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


class Description:
    """Counts over records. Of each record a few digests are held, never its text."""

    def __init__(self) -> None:
        self.records = 0
        self._counts: dict[str, Counter[str]] = {
            name: Counter()
            for name in ("importers", "terminations", "evidence", "missing", "labels", "should_admit", "outcomes", "trials")
        }
        self._moved: Counter[str] = Counter()
        self._controls: Counter[str] = Counter()
        self._groups: Counter[bytes] = Counter()
        self._tasks: set[bytes] = set()
        self._seen_in: dict[bytes, bytes | None] = {}
        self._copies = self._across = 0
        self._uncited = 0

    def add(self, record: Row) -> None:
        """Count one record."""
        self.records += 1
        counts, outcome = self._counts, record["outcome"]
        counts["importers"][record["provenance"]["importer"]] += 1
        counts["terminations"][record["termination"]["outcome"] or "unknown"] += 1
        counts["evidence"].update(_kinds(record["evidence"]))
        counts["missing"].update(_missing(record))
        counts["outcomes"][outcome["kind"]] += 1
        counts["trials"][outcome["trial"]] += 1
        if record["should_admit"]:
            counts["should_admit"][f"{_word(record['should_admit']['admit'])}, by {record['should_admit']['by']}"] += 1
            counts["labels"].update([record["should_admit"]["label"]] if record["should_admit"]["label"] else [])
        if (moved := transition(record)) is not None:
            self._moved[moved] += 1
        if outcome["control"] is not None:
            self._controls["pass" if outcome["control"] else "fail"] += 1
        group = _digest(record["group"])
        self._groups[group] += 1
        self._tasks.add(_digest(named_task(record)))
        if record["candidate"]:
            self._candidate(record["candidate"], group)

    def _candidate(self, candidate: Row, group: bytes) -> None:
        self._uncited += not candidate["evidence_ids"]
        said = _digest(" ".join(candidate["candidate_lesson"].split()).casefold())
        if said not in self._seen_in:
            self._seen_in[said] = group
            return
        self._copies += 1
        if self._seen_in[said] not in {group, None}:
            # Counted once a text: `None` stands for more than one group.
            self._across += 1
            self._seen_in[said] = None

    @property
    def without_candidate(self) -> int:
        """Records that hold a failure and no candidate."""
        return self._counts["missing"]["candidate"]

    def to_json(self) -> dict[str, Any]:
        """Return the counts as data."""
        sizes = list(self._groups.values())
        told: dict[str, Any] = {name: dict(sorted(counts.items())) for name, counts in self._counts.items()}
        told["labels"] = [{"label": label, "count": count} for label, count in self._counts["labels"].most_common(_LABELS)]
        told["missing"] = {part: self._counts["missing"][part] for part in PARTS}
        return {
            "records": self.records,
            "groups": {"count": len(sizes), "largest": max(sizes, default=0), "tasks": len(self._tasks)},
            **told,
            "transitions": dict(sorted(self._moved.items())),
            "controls": dict(sorted(self._controls.items())),
            "candidates": {
                "count": self.records - self.without_candidate,
                "citing_nothing": self._uncited,
                "copies": self._copies,
                "across_groups": self._across,
            },
            "caveats": list(self.caveats()),
        }

    def caveats(self) -> Iterator[str]:
        """Yield what the corpus can and cannot prove, a sentence each; none for an empty one."""
        if not self.records:
            return
        yield from self._of_outcomes()
        yield from self._of_groups()
        missing, made = self._counts["missing"], self._counts["should_admit"]["no, by construction"]
        if missing["candidate"]:
            yield f"{missing['candidate']} records hold no candidate: failures to reflect on, in no figure of a gate."
        if missing["evidence"]:
            yield f"{missing['evidence']} records hold no evidence: a gate that refuses them has shown nothing else."
        if made:
            yield f"{made} candidates were written without any feedback: that they must be refused is known by construction."
        if missing["should_admit"] == self.records:
            yield "Nobody says which candidates should be admitted: an outcome is not a judgement of the reasoning."

    def _of_outcomes(self) -> Iterator[str]:
        kinds, trials = self._counts["outcomes"], self._counts["trials"]
        if kinds["none"] == self.records:
            yield "No record says what came later: the corpus shows what a gate lets through, not whether that helped."
            return
        yield (
            f"Of {self.records} records {kinds['executed']} have a later outcome that an executed check decided, "
            f"{kinds['self_reported']} one that the agent or the tests that it wrote tell, "
            f"and {kinds['none']} none that is known."
        )
        if trials["same_task"]:
            yield (
                f"{trials['same_task']} later trials are retries of the same task, which also saw the feedback: "
                "whether a lesson holds for another task is not measured."
            )
            known = self._controls.total()
            yield (
                f"Of {known} retries it is known how one without a reflection ended: only these are comparable trials."
                if known
                else "No retry without a reflection stands beside them: what a second try alone brings is in every outcome."
            )
        if trials["same_run"]:
            yield (
                f"{trials['same_run']} later outcomes are of a command that the agent ran again in the same run: "
                "they judge no reflection."
            )

    def _of_groups(self) -> Iterator[str]:
        tasks, groups = len(self._tasks), len(self._groups)
        if groups < tasks:
            yield f"{tasks} tasks stand in {groups} groups of near-identical ones: `--group group` resamples these whole."
        if self._across:
            yield (
                f"{self._across} lessons stand word for word in several groups: a split by group keeps tasks apart, not wordings."
            )


def _kinds(evidence: Row) -> set[str]:
    items = [
        *evidence["traces"],
        *evidence["successful_trajectory"],
        *([evidence["repair_delta"]] if evidence["repair_delta"] else []),
    ]
    return {str(item["kind"]) for item in items}


def _missing(record: Row) -> Iterator[str]:
    evidence = record["evidence"]
    if not (evidence["traces"] or evidence["repair_delta"] or evidence["successful_trajectory"]):
        yield "evidence"
    for part in ("candidate", "known_cause", "should_admit"):
        if record[part] is None:
            yield part
    if record["outcome"]["after"] is None:
        yield "outcome"


def _word(admit: bool | None) -> str:
    return "unsaid" if admit is None else "yes" if admit else "no"
