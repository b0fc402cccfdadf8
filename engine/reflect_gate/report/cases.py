"""Results of policy cases for people and for machines: text, JSON, TAP, GitHub annotations and SARIF.

A failure names its case, its place, what was expected against what was found, what fired, and what kept the rules silent that
should have fired. What passed is counted, and listed only where the format lists every test.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote

from .. import __version__
from ..errors import Source
from ._paint import Paint
from ._places import annotation, relative
from ._safe import one_line, plain
from .explain import fact_text, miss_text

__all__ = ["TEST_SCHEMA", "Result", "cases_text", "document", "exit_of", "github_text", "sarif_document", "tap_text", "told"]

TEST_SCHEMA = "urn:reflect-gate:schema:policy-test:1"

_SHOWN = 24
"""Firings that the text of one failure shows; the JSON form holds them all."""

_EXITS = {0: "every case passed", 3: "something could not be run", 5: "a case failed"}


class Result(Protocol):
    """One policy case that ran: its rule set, its id, whether it passed, else why not, and where it stands."""

    @property
    def ruleset(self) -> str: ...  # noqa: D102 - the class says it
    @property
    def id(self) -> str: ...  # noqa: D102 - the class says it
    @property
    def passed(self) -> bool: ...  # noqa: D102 - the class says it
    @property
    def message(self) -> str: ...  # noqa: D102 - the class says it
    @property
    def file(self) -> str: ...  # noqa: D102 - the class says it
    @property
    def line(self) -> int: ...  # noqa: D102 - the class says it
    @property
    def expected(self) -> str: ...  # noqa: D102 - the class says it
    @property
    def actual(self) -> str: ...  # noqa: D102 - the class says it
    @property
    def firings(self) -> Sequence[Mapping[str, Any]]: ...  # noqa: D102 - the class says it
    @property
    def near(self) -> Sequence[Mapping[str, Any]]: ...  # noqa: D102 - the class says it


def exit_of(results: Sequence[Result]) -> int:
    """Return 0 where every case passed, 5 where one failed, 3 where something could not be run or nothing was selected."""
    failed = [result for result in results if not result.passed]
    if any(not result.id for result in failed) or not results:
        return 3
    return 5 if failed else 0


def told(result: Result) -> list[str]:
    """Return what is known of a failure beside its message: expected against actual, what fired, what should have."""
    if not result.expected:
        return []
    lines = [f"expected  {plain(result.expected)}", f"actual    {plain(result.actual)}"]
    for firing in result.firings[:_SHOWN]:
        facts = ", ".join(fact_text(fact, ()) for fact in firing["facts"]) or "nothing"
        lines.append(f"fired     {plain(firing['rule'])}  {plain(firing['source'])}  on {plain(facts)}")
    if not result.firings:
        lines.append("fired     no rule of the rule set")
    elif len(result.firings) > _SHOWN:
        lines.append(f"fired     … and {len(result.firings) - _SHOWN} more")
    return [*lines, *(f"silent    {plain(miss_text(miss))}" for miss in result.near)]


def cases_text(results: Sequence[Result], paint: Paint | None = None) -> str:
    """Return each failure with its trace, and the counts."""
    paint = paint or Paint()
    lines: list[str] = []
    for result in results:
        if not result.passed:
            file = relative(result.file)
            place = f"{file}:{result.line}" if result.line else file
            lines.append(f"{paint('FAIL', 'red')} {plain(_name(result))}  {paint(plain(place), 'dim')}")
            lines.append(f"     {plain(result.message)}")
            lines += [f"     {paint(line, 'dim')}" for line in told(result)]
    failed = sum(not result.passed for result in results)
    lines.append(paint(f"{len(results) - failed} passed, {failed} failed", "red" if failed else "green"))
    return "\n".join(lines) + "\n"


def document(results: Sequence[Result]) -> dict[str, Any]:
    """Return the results as `policy-test.schema.json` has them; only failures carry a trace."""
    failed = sum(not result.passed for result in results)
    return {
        "schema": TEST_SCHEMA,
        "passed": len(results) - failed,
        "failed": failed,
        "cases": [_entry(result) for result in results],
    }


def _entry(result: Result) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "ruleset": result.ruleset,
        "id": result.id,
        "passed": result.passed,
        "message": result.message,
        "file": result.file,
        "line": result.line,
    }
    if result.expected:
        entry |= {"expected": result.expected, "actual": result.actual}
        entry |= {"firings": list(result.firings), "near": list(result.near)}
    return entry


def tap_text(results: Sequence[Result]) -> str:
    """Return the results as TAP version 14; the diagnostics are YAML, written as JSON."""
    lines = ["TAP version 14", f"1..{len(results)}"]
    for number, result in enumerate(results, 1):
        name = plain(_name(result)).replace("\\", "\\\\").replace("#", "\\#")
        lines.append(f"{'ok' if result.passed else 'not ok'} {number} - {name}")
        if not result.passed:
            known = {"message": result.message, "file": result.file, "line": result.line, "trace": told(result)}
            block = [f"  {key}: {json.dumps(value)}" for key, value in known.items() if value not in ("", [])]
            lines += ["  ---", *block, "  ..."]
    return "\n".join(lines) + "\n"


def github_text(results: Sequence[Result]) -> str:
    """Return an annotation for each failure, as a workflow of GitHub shows it beside the line, and the counts."""
    lines = []
    for result in results:
        if not result.passed:
            told_all = chr(10).join([result.message, *told(result)])
            lines.append(annotation("error", Source(result.file, result.line), f"policy case {_name(result)}", told_all))
    failed = sum(not result.passed for result in results)
    return "\n".join([*lines, f"{len(results) - failed} passed, {failed} failed"]) + "\n"


def sarif_document(results: Sequence[Result]) -> dict[str, Any]:
    """Return the failures as SARIF 2.1.0; each case that failed is a rule with its name."""
    failed = [result for result in results if not result.passed]
    code = exit_of(results)
    rules = list(dict.fromkeys(_name(result) for result in failed))
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "reflect-gate policy test",
                        "semanticVersion": __version__,
                        "rules": [_sarif_rule(name) for name in rules],
                    }
                },
                "invocations": [
                    {"executionSuccessful": code != 3, "exitCode": code, "exitCodeDescription": _EXITS[code]},
                ],
                "results": [_sarif_result(result, rules.index(_name(result))) for result in failed],
            }
        ],
    }


def _sarif_rule(name: str) -> dict[str, Any]:
    return {"id": name, "name": name, "shortDescription": {"text": f"The policy case {name} passes."}}


def _sarif_result(result: Result, index: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(relative(result.file))}}
    if result.line:
        place["region"] = {"startLine": result.line}
    return {
        "ruleId": _name(result),
        "ruleIndex": index,
        "level": "error",
        "message": {"text": "\n".join([plain(result.message), *told(result)])},
        "locations": [{"physicalLocation": place}],
    }


def _name(result: Result) -> str:
    return "/".join(part for part in (result.ruleset, result.id) if part) or one_line(result.message, 60)
