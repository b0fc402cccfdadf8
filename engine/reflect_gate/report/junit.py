"""Results of policy cases as JUnit XML, the form that CI systems show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol
from xml.sax.saxutils import quoteattr

from ._safe import plain

__all__ = ["Result", "junit_xml"]


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


def junit_xml(results: Sequence[Result], name: str = "reflect-gate policy test") -> str:
    """Return the results as one `testsuites` document with a suite a rule set; deterministic, without times."""
    suites: dict[str, list[Result]] = {}
    for result in results:
        suites.setdefault(result.ruleset, []).append(result)
    head = f"<testsuites name={_attribute(name)} {_counts(results)}>"
    body = [line for ruleset, cases in suites.items() for line in _suite(ruleset, cases)]
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *body, "</testsuites>", ""])


def _suite(ruleset: str, cases: Sequence[Result]) -> Iterable[str]:
    yield f"  <testsuite name={_attribute(ruleset)} {_counts(cases)}>"
    for case in cases:
        named = f"classname={_attribute(ruleset)} name={_attribute(case.id)}"
        place = f'{named} file={_attribute(case.file)} line="{case.line}"'
        if case.passed:
            yield f"    <testcase {place}/>"
            continue
        yield f"    <testcase {place}>"
        yield f"      <failure message={_attribute(case.message)}/>"
        yield "    </testcase>"
    yield "  </testsuite>"


def _counts(cases: Sequence[Result]) -> str:
    failed = sum(not case.passed for case in cases)
    return f'tests="{len(cases)}" failures="{failed}" errors="0" skipped="0"'


def _attribute(text: str) -> str:
    """Return `text` as an XML attribute; characters that XML cannot hold stand as escapes."""
    return quoteattr(plain(text), {"\n": "&#10;", "\t": "&#9;"})
