"""What may be wrong with a policy: the stable codes, and the collector that reports every fault of every file at once."""

from __future__ import annotations

from ..errors import ReflectGateError, Source, raise_all

__all__ = ["POLICY_CODES", "Problems"]

POLICY_CODES: tuple[str, ...] = (
    "policy-conclusion",
    "policy-conflict",
    "policy-confluence",
    "policy-date",
    "policy-deprecated",
    "policy-duplicate",
    "policy-encoding",
    "policy-expired",
    "policy-extends-cycle",
    "policy-file",
    "policy-format",
    "policy-head",
    "policy-join",
    "policy-late-fact",
    "policy-limit",
    "policy-maturity",
    "policy-lexicon-change",
    "policy-lexicon-pattern",
    "policy-missing-key",
    "policy-name",
    "policy-negation-cycle",
    "policy-never-derived",
    "policy-no-positive",
    "policy-not-experimental",
    "policy-old-name",
    "policy-operator",
    "policy-private-type",
    "policy-renamed",
    "policy-reserved-type",
    "policy-scaffold",
    "policy-setting-kind",
    "policy-setting-range",
    "policy-shape",
    "policy-shipped",
    "policy-too-deep",
    "policy-too-large",
    "policy-unknown-alias",
    "policy-unknown-bundle",
    "policy-unknown-domain",
    "policy-unknown-field",
    "policy-unknown-group",
    "policy-unknown-key",
    "policy-unknown-lexicon",
    "policy-unknown-rule",
    "policy-unknown-ruleset",
    "policy-unknown-setting",
    "policy-unknown-stage",
    "policy-unknown-symbol",
    "policy-unknown-type",
    "policy-unknown-verdict",
    "policy-unused-file",
    "policy-unused-setting",
    "policy-value",
    "policy-version",
    "policy-yaml",
    "policy-yaml-feature",
)
"""Every code that loading a bundle can raise; tools may rely on them, so a code is never renamed."""


class Problems:
    """Collects errors so that a bundle is read to its end before anything is raised."""

    __slots__ = ("errors",)

    def __init__(self) -> None:
        self.errors: list[ReflectGateError] = []

    def __len__(self) -> int:
        return len(self.errors)

    def add(self, code: str, message: str, source: Source | None) -> None:
        """Note one fault; the same fault at the same place is noted once."""
        error = ReflectGateError(code, message, source)
        if not any(known.args == error.args for known in self.errors[-8:]):
            self.errors.append(error)

    def stop_if_any(self) -> None:
        """Raise everything noted so far as one error; return when there is nothing."""
        raise_all(self.errors)
