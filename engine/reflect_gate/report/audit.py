"""What an audit found, for people and for machines: text, JSON, GitHub annotations and SARIF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from .. import __version__
from ..auditing.judging import REASONS, Audit, Finding
from ..auditing.stores import CHECKS, Check, StoreAudit
from ..errors import Source
from ._paint import Paint
from ._places import annotation, relative
from ._safe import one_line, plain

__all__ = [
    "REPORT",
    "STORE_REPORT",
    "audit_document",
    "audit_text",
    "github_text",
    "sarif_document",
    "store_document",
    "store_github",
    "store_sarif",
    "store_text",
]

REPORT = "urn:reflect-gate:schema:audit-report:1"
STORE_REPORT = "urn:reflect-gate:schema:audit-store-report:1"

_STYLES = {"remove": "red", "review": "yellow", "fail": "red"}
_LEVELS = {"remove": "warning", "review": "note"}
_MATCH = 80


def message_of(finding: Finding) -> str:
    """Return what is wrong, in one line."""
    said = REASONS.get(finding.reason, finding.reason)
    if finding.other is not None:
        where = f"line {finding.other.line}" if finding.other.line else finding.other.pointer
        said += f" ({where}, likeness {finding.measured.get('similarity', 0):.2f})"
    elif "kind" in finding.measured:
        said += f" ({finding.measured['kind']})"
    elif "lexicon" in finding.measured:
        said += f" ({finding.measured['lexicon']})"
    return f"{said}: `{one_line(finding.match, _MATCH)}`" if finding.match else said


def _place(audit: Audit, finding: Finding) -> str:
    if not finding.line:
        return f"{relative(audit.memory.name)}:{finding.entry.pointer}"
    return str(Source(relative(audit.memory.name), finding.line, finding.column))


def _summary(audit: Audit) -> str:
    counts = ", ".join(f"{count} {reason}" for reason, count in audit.counts().items())
    bad = len({finding.entry.id for finding in audit.findings})
    return f"{len(audit.memory.entries)} entries, {bad} with findings" + (f": {counts}" if counts else "")


def audit_text(audit: Audit, paint: Paint) -> str:
    """Return a line for each finding, and the counts."""
    lines = []
    for finding in audit.findings:
        verdict = paint(finding.verdict, _STYLES.get(finding.verdict, "yellow"))
        rule = paint(f"[{finding.rule}]", "dim")
        lines.append(f"{plain(_place(audit, finding))}: {verdict}: {finding.reason}: {plain(message_of(finding))} {rule}")
    return "\n".join([*lines, paint(_summary(audit), "yellow" if audit.findings else "green")]) + "\n"


def audit_document(audit: Audit, bundle: Mapping[str, str]) -> dict[str, Any]:
    """Return the findings as `audit-report.schema.json` has them."""
    return {
        "schema": REPORT,
        "file": audit.memory.name,
        "kind": audit.memory.kind,
        "bundle": dict(bundle),
        "entries": len(audit.memory.entries),
        "counts": audit.counts(),
        "removable": len(audit.removed()),
        "findings": [_finding(finding) for finding in audit.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    entry, other = finding.entry, finding.other
    return {
        "entry": entry.id,
        "pointer": entry.pointer,
        "lines": [entry.line, entry.end_line],
        "line": finding.line,
        "column": finding.column,
        "reason": finding.reason,
        "verdict": finding.verdict,
        "rule": finding.rule,
        "source": finding.source,
        "message": plain(message_of(finding)),
        "match": plain(finding.match),
        "other": {"entry": other.id, "line": other.line, "pointer": other.pointer} if other else None,
        "measured": dict(finding.measured),
    }


def github_text(audit: Audit) -> str:
    """Return an annotation for each finding, as a workflow of GitHub shows it beside the line, and the counts."""
    lines = [
        annotation(
            "warning" if finding.verdict == "remove" else "notice",
            Source(audit.memory.name, finding.line, finding.column),
            f"audit {finding.reason}",
            message_of(finding),
        )
        for finding in audit.findings
    ]
    return "\n".join([*lines, plain(_summary(audit))]) + "\n"


def sarif_document(audit: Audit) -> dict[str, Any]:
    """Return the findings as SARIF 2.1.0."""
    ids = list(dict.fromkeys(finding.reason for finding in audit.findings))
    results = []
    for finding in audit.findings:
        place: dict[str, Any] = {"artifactLocation": {"uri": quote(relative(audit.memory.name))}}
        if finding.line:
            end = max(finding.line, finding.entry.end_line)
            place["region"] = {"startLine": finding.line, "startColumn": finding.column, "endLine": end}
        result = {
            "ruleId": finding.reason,
            "ruleIndex": ids.index(finding.reason),
            "level": _LEVELS.get(finding.verdict, "warning"),
            "message": {"text": plain(message_of(finding))},
            "locations": [{"physicalLocation": place}],
            "properties": {"rule": finding.rule, "verdict": finding.verdict, "entry": finding.entry.pointer or finding.entry.id},
        }
        results.append(result)
    return _sarif(ids, REASONS, results, found=bool(audit.findings))


def _sarif(ids: Sequence[str], docs: Mapping[str, str], results: list[dict[str, Any]], *, found: bool) -> dict[str, Any]:
    rules = [{"id": name, "name": name, "shortDescription": {"text": docs.get(name, name)}} for name in ids]
    driver = {"name": "reflect-gate audit", "semanticVersion": __version__, "rules": rules}
    told = "something was found" if found else "nothing was found"
    ended = {"executionSuccessful": True, "exitCode": 4 if found else 0, "exitCodeDescription": told}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "invocations": [ended], "results": results}],
    }


# -- stores ----------------------------------------------------------------------------------------------------------------------


def _told(check: Check) -> str:
    return ", ".join(f"{name} {value}" for name, value in check.measured.items())


def store_text(audit: StoreAudit, paint: Paint) -> str:
    """Return a line for each check, and how much was looked at."""
    lines = []
    for check in audit.checks:
        mark = paint("fail", "red") if check.failed else paint("ok  ", "green")
        lines.append(f"{mark} {check.name}: {_told(check)}")
        if check.failed:
            rules = ", ".join(check.rules)
            lines.append(f"     {CHECKS[check.name]} ({rules})")
            if check.examples:
                lines.append(f"     {plain(', '.join(check.examples[:5]))}")
    failed = sum(check.failed for check in audit.checks)
    looked = f"{audit.sampled} of {audit.lessons} lessons in use were looked at"
    return "\n".join([*lines, f"{len(audit.checks)} checks, {failed} failed; {looked}"]) + "\n"


def store_document(audit: StoreAudit, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checks as `audit-store-report.schema.json` has them."""
    checks = [
        {
            "name": check.name,
            "failed": check.failed,
            "rules": list(check.rules),
            "measured": dict(check.measured),
            "examples": list(check.examples),
        }
        for check in audit.checks
    ]
    return {"schema": STORE_REPORT, **about, "lessons": audit.lessons, "sampled": audit.sampled, "checks": checks}


def store_github(audit: StoreAudit, place: str) -> str:
    """Return an annotation for each check that fails."""
    lines = [
        annotation("error", Source(place), f"audit {check.name}", f"{CHECKS[check.name]}: {_told(check)}")
        for check in audit.checks
        if check.failed
    ]
    return "\n".join([*lines, f"{len(audit.checks)} checks, {len(lines)} failed"]) + "\n"


def store_sarif(audit: StoreAudit, place: str) -> dict[str, Any]:
    """Return the checks that fail as SARIF 2.1.0."""
    failed = [check for check in audit.checks if check.failed]
    where = [{"physicalLocation": {"artifactLocation": {"uri": quote(relative(place))}}}]
    results = [
        {
            "ruleId": check.name,
            "ruleIndex": number,
            "level": "error",
            "message": {"text": f"{CHECKS[check.name]}: {_told(check)}"},
            "locations": where,
        }
        for number, check in enumerate(failed)
    ]
    return _sarif([check.name for check in failed], CHECKS, results, found=bool(failed))
