"""What an executed check showed: the counts of a JUnit XML report, the format that test runners of every language write.

A report comes from outside, so it is read without entities, document types or recursion: expat calls back element by element.
Linear in the report. Format: https://github.com/testmoapp/junitxml (what runners agree on).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple
from xml.parsers import expat

from ..errors import ReflectGateError, Source

__all__ = ["REPORT_BYTES", "Checks", "read_junit"]

REPORT_BYTES: Final = 32 * 1024 * 1024
"""A report is no longer than this."""

_BAD: Final = frozenset({"failure", "error"})
_SUITES: Final = frozenset({"testsuite", "testsuites"})


class Checks(NamedTuple):
    """How many checks passed and failed; skipped ones are neither."""

    passed: int
    failed: int


class _Counter:
    """Counts cases as they close, and what suites say of failures that no case shows (a crash before the first)."""

    def __init__(self) -> None:
        self.passed = self.failed = self.told = 0
        self.suites = False
        self._state: str | None = None

    def open(self, name: str, attributes: Mapping[str, str]) -> None:
        if name in _SUITES:
            self.suites = True
            self.told = max(self.told, sum(_count(attributes.get(key, "")) for key in ("failures", "errors")))
        elif name == "testcase":
            self._state = "passed"
        elif self._state is not None:
            if name in _BAD:
                self._state = "failed"
            elif name == "skipped" and self._state == "passed":
                self._state = "skipped"

    def close(self, name: str) -> None:
        if name == "testcase":
            self.passed += self._state == "passed"
            self.failed += self._state == "failed"
            self._state = None


def _count(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def read_junit(data: bytes, name: str) -> Checks:
    """Return the counts of a JUnit XML report.

    Raises:
        ReflectGateError: `report-size`, `report-form` where it is no such report, has a document type, or ran no check.
    """
    if len(data) > REPORT_BYTES:
        raise ReflectGateError("report-size", f"a test report of more than {REPORT_BYTES} bytes", Source(name))
    counter, parser = _Counter(), expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise ReflectGateError("report-form", "a test report has no document type", Source(name, parser.CurrentLineNumber))

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = counter.open
    parser.EndElementHandler = counter.close
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        message = f"no JUnit XML: {expat.ErrorString(error.code)}"
        raise ReflectGateError("report-form", message, Source(name, error.lineno, error.offset + 1)) from None
    found = Checks(counter.passed, max(counter.failed, counter.told))
    if not counter.suites:
        raise ReflectGateError("report-form", "no JUnit XML: there is no test suite in it", Source(name))
    if not any(found):
        raise ReflectGateError("report-form", "the test report ran no check, so it shows nothing", Source(name))
    return found
