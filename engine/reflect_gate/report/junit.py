"""Results of policy cases as JUnit XML, the form that CI systems show."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from ._safe import plain
from .cases import Result, told

__all__ = ["junit_xml"]


def junit_xml(results: Sequence[Result], name: str = "reflect-gate policy test") -> str:
    """Return the results as one `testsuites` document with a suite a rule set; deterministic, without times."""
    suites: dict[str, list[Result]] = {}
    for result in results:
        suites.setdefault(result.ruleset, []).append(result)
    root = ET.Element("testsuites", {"name": name, **_counts(results)})
    for ruleset, cases in suites.items():
        suite = ET.SubElement(root, "testsuite", {"name": plain(ruleset), **_counts(cases)})
        for case in cases:
            _case(suite, case)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _case(suite: ET.Element, case: Result) -> None:
    named = {"classname": plain(case.ruleset), "name": plain(case.id), "file": plain(case.file), "line": str(case.line)}
    node = ET.SubElement(suite, "testcase", named)
    if not case.passed:
        failure = ET.SubElement(node, "failure", {"message": plain(case.message)})
        failure.text = "\n".join(told(case)) or None


def _counts(cases: Sequence[Result]) -> dict[str, str]:
    failed = sum(not case.passed for case in cases)
    return {"tests": str(len(cases)), "failures": str(failed), "errors": "0", "skipped": "0"}
