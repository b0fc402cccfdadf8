"""`.reflect-gate-lint.yaml` beside the policies file: which lint rules are on, how severe they are, and exceptions with reasons.

```yaml
rules:
  missing-toggle: off
  unread-fact: warning
exceptions:
  - rule: missing-near-miss-case
    at: grounding/incomplete-record
    reason: there is one condition, and a case of its other value
    owner: platform
    expires: 2027-06-30
```

Rules go by the ids that lint prints. An unknown id, key or severity is an error with its place and the nearest name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from ...errors import ReflectGateError, Source, did_you_mean
from ..fields import Fields, as_scalar
from ..problems import Problems
from ..source import ScalarNode, parse_document
from ..values import parse_date
from .model import SEVERITIES, Severity
from .registry import BY_ID

__all__ = ["CONFIG_NAME", "Config", "LintException", "read_config"]

CONFIG_NAME: Final = ".reflect-gate-lint.yaml"


class LintException(NamedTuple):
    """Findings of a rule about `at` that are not reported until `expires` (empty: for good), with who says so and why."""

    rule: str
    at: str
    reason: str
    owner: str
    expires: str
    source: Source


class Config(NamedTuple):
    """Severities that differ from the registry's, and exceptions."""

    severities: Mapping[str, Severity] = {}
    exceptions: tuple[LintException, ...] = ()


def read_config(path: Path) -> Config:
    """Return the configuration at `path`; the empty one where there is no file; raises every fault of it."""
    if not path.is_file():
        return Config()
    problems = Problems()
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or "unknown").lower()
        raise ReflectGateError("cannot-read", f"cannot read the lint configuration: {reason}", Source(str(path))) from None
    root = parse_document(data, str(path), problems)
    config = Config()
    if root is not None:
        fields = Fields(root, "the lint configuration", problems, optional=("rules", "exceptions"))
        config = Config(_severities(fields, problems), _exceptions(fields, problems))
    problems.stop_if_any()
    return config


def _severities(fields: Fields, problems: Problems) -> dict[str, Severity]:
    found: dict[str, Severity] = {}
    for key, node in fields.entries("rules"):
        scalar = as_scalar(node, f"the severity of `{key.text}`", problems)
        severity = next((word for word in SEVERITIES if scalar and word == scalar.text), None)
        if scalar and severity is None:
            near = did_you_mean(scalar.text, SEVERITIES)
            choice = ", ".join(f"`{word}`" for word in SEVERITIES)
            problems.add("lint-severity", f"`{scalar.text}` is no severity{near} (one of {choice})", scalar.source)
        if _known(key, problems) and severity is not None:
            found[key.text] = severity
    return found


def _known(rule: ScalarNode, problems: Problems) -> bool:
    if rule.text in BY_ID:
        return True
    problems.add("lint-unknown-rule", f"there is no lint rule `{rule.text}`{did_you_mean(rule.text, BY_ID)}", rule.source)
    return False


def _exceptions(fields: Fields, problems: Problems) -> tuple[LintException, ...]:
    found = []
    for node in fields.items("exceptions"):
        parts = Fields(node, "an exception", problems, required=("rule", "at", "reason"), optional=("owner", "expires"))
        rule, at, expires = parts.scalar("rule"), parts.text("at"), parts.scalar("expires")
        reason, owner = parts.text("reason"), parts.text("owner")
        if expires is not None and not parse_date(expires.text):
            problems.add("policy-date", f"`expires` must be a date `YYYY-MM-DD`, not `{expires.text[:40]}`", expires.source)
        if rule is not None and _known(rule, problems) and at and reason:
            found.append(LintException(rule.text, at, reason, owner, expires.text if expires else "", rule.source))
    return tuple(found)
