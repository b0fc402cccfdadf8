"""A decision as data: the verdict, its reasons with measured values against thresholds, and every stage's output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ._canonical import canonical_bytes

__all__ = ["DECISION_SCHEMA", "EXIT_CODES", "Decision", "Status"]

Status = Literal["admitted", "undecided", "refused"]
DECISION_SCHEMA = "urn:reflect-gate:schema:decision:1"
EXIT_CODES: Mapping[Status, int] = {"admitted": 0, "undecided": 4, "refused": 5}
"""What `reflect-gate evaluate` exits with for one request (docs/architecture.md, exit codes)."""


class Decision(NamedTuple):
    """What the gate decided of one request; `to_json` is the document of `decision.schema.json`.

    `reason` is one of S2's rejected reasons or `None`; `findings` carry the rule's place and, for each condition that compared,
    the measured value and what it needed; `firings` are kept only when asked for. `experimental` is there where rules of the
    bundle only look on: what they said, and what would have been decided if they decided.
    """

    decision_id: str
    request_digest: str
    failure_id: str
    signature: str
    status: Status
    reason: str | None
    bundle: Mapping[str, Any]
    stages: Mapping[str, Mapping[str, Any] | None]
    findings: Sequence[Mapping[str, Any]]
    spans: Sequence[Mapping[str, Any]]
    lesson: Mapping[str, Any] | None
    envelope: Mapping[str, Any] | None
    firings: Sequence[Mapping[str, Any]] | None = None
    experimental: Mapping[str, Any] | None = None

    @property
    def exit_code(self) -> int:
        """0 admitted, 4 undecided, 5 refused."""
        return EXIT_CODES[self.status]

    def to_json(self) -> dict[str, Any]:
        """Return the decision as a plain document."""
        document: dict[str, Any] = {
            "schema": DECISION_SCHEMA,
            "decision_id": self.decision_id,
            "request_digest": self.request_digest,
            "failure_id": self.failure_id,
            "signature": self.signature,
            "status": self.status,
            "reason": self.reason,
            "exit_code": self.exit_code,
            "bundle": self.bundle,
            "stages": self.stages,
            "findings": self.findings,
            "spans": self.spans,
            "lesson": self.lesson,
            "envelope": self.envelope,
        }
        if self.firings is not None:
            document["firings"] = self.firings
        if self.experimental is not None:
            document["experimental"] = self.experimental
        return document

    def to_bytes(self) -> bytes:
        """Return the canonical JSON of the decision; the same request and bundle give the same bytes."""
        return canonical_bytes(self.to_json())
