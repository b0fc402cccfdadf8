"""What lint found in policies, for people and for machines: text, JSON, GitHub annotations and SARIF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote

from .. import __version__
from ..errors import Source
from ._paint import Paint
from ._places import annotation, place, relative
from ._safe import plain

__all__ = ["LINT_SCHEMA", "github_text", "lint_document", "lint_text", "sarif_document"]

LINT_SCHEMA = "urn:reflect-gate:schema:policy-lint:1"

_STYLES = {"error": "red", "warning": "yellow"}
_EXITS = {0: "no finding is an error", 3: "a finding is an error"}


class Finding(Protocol):
    """One finding: its rule, its severity, what it is about, the message and the place."""

    @property
    def rule(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def source(self) -> Source: ...
    @property
    def edit(self) -> object: ...


class Report(Protocol):
    """What was found, how much exceptions took out, and how many files were read."""

    @property
    def findings(self) -> Sequence[Finding]: ...
    @property
    def excepted(self) -> int: ...
    @property
    def files(self) -> Sequence[str]: ...


def _counts(report: Report) -> tuple[int, int]:
    errors = sum(finding.severity == "error" for finding in report.findings)
    return errors, len(report.findings) - errors


def lint_text(report: Report, paint: Paint) -> str:
    """Return a line for each finding and the counts; each line ends in the rule's id as the configuration takes it."""
    lines = []
    for finding in report.findings:
        severity = paint(finding.severity, _STYLES[finding.severity])
        mend = ", --fix" if finding.edit is not None else ""
        told = paint(f"[{finding.rule}: {plain(finding.subject)}{mend}]", "dim")
        lines.append(f"{plain(place(finding.source))}: {severity}: {plain(finding.message)} {told}")
    errors, warnings = _counts(report)
    excepted = f", {report.excepted} excepted" if report.excepted else ""
    summary = f"{len(report.files)} files: {errors} errors, {warnings} warnings{excepted}"
    return "\n".join([*lines, paint(summary, "red" if errors else "yellow" if warnings else "green")]) + "\n"


def lint_document(report: Report, repaired: int) -> dict[str, Any]:
    """Return the findings as `policy-lint.schema.json` has them."""
    errors, warnings = _counts(report)
    return {
        "schema": LINT_SCHEMA,
        "files": len(report.files),
        "errors": errors,
        "warnings": warnings,
        "excepted": report.excepted,
        "repaired": repaired,
        "findings": [
            {
                "rule": finding.rule,
                "severity": finding.severity,
                "subject": finding.subject,
                "message": finding.message,
                "file": finding.source.file,
                "line": finding.source.line,
                "column": finding.source.column,
                "fixable": finding.edit is not None,
            }
            for finding in report.findings
        ],
    }


def github_text(report: Report) -> str:
    """Return an annotation for each finding, as a workflow of GitHub shows it beside the line, and the counts."""
    lines = [
        annotation(finding.severity, finding.source, f"policy lint {finding.rule}", finding.message)
        for finding in report.findings
    ]
    errors, warnings = _counts(report)
    return "\n".join([*lines, f"{errors} errors, {warnings} warnings"]) + "\n"


def sarif_document(report: Report, rules: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Return the findings as SARIF 2.1.0; `rules` gives the doc and the remedy of each id."""
    errors, _ = _counts(report)
    ids = list(dict.fromkeys(finding.rule for finding in report.findings))
    code = 3 if errors else 0
    driver = {
        "name": "reflect-gate policy lint",
        "semanticVersion": __version__,
        "rules": [
            {
                "id": name,
                "name": name,
                "shortDescription": {"text": rules.get(name, (name, ""))[0]},
                "help": {"text": rules.get(name, ("", name))[1]},
            }
            for name in ids
        ],
    }
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "invocations": [{"executionSuccessful": True, "exitCode": code, "exitCodeDescription": _EXITS[code]}],
                "results": [_sarif_result(finding, ids.index(finding.rule)) for finding in report.findings],
            }
        ],
    }


def _sarif_result(finding: Finding, index: int) -> dict[str, Any]:
    where: dict[str, Any] = {"artifactLocation": {"uri": quote(relative(finding.source.file))}}
    if finding.source.line:
        where["region"] = {"startLine": finding.source.line, "startColumn": max(1, finding.source.column)}
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": plain(finding.message)},
        "locations": [{"physicalLocation": where}],
    }
