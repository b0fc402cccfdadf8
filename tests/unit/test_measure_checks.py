"""Reading test reports: what runners write is counted, and what a report could do to its reader is refused."""

from __future__ import annotations

import pytest

from reflect_gate.errors import ReflectGateError
from reflect_gate.measure import checks
from reflect_gate.measure.checks import Checks, read_junit

CASE = '<testcase classname="t" name="a"/>'
FAILED = '<testcase name="b"><failure message="no">trace</failure></testcase>'
BROKEN = '<testcase name="c"><error/></testcase>'
SKIPPED = '<testcase name="d"><skipped/></testcase>'


def suite(*cases: str, **attributes: int) -> bytes:
    """Return a report of one suite."""
    given = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<?xml version='1.0'?><testsuites><testsuite{given}>{''.join(cases)}</testsuite></testsuites>".encode()


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (suite(CASE, CASE), Checks(2, 0)),
        (suite(CASE, FAILED, BROKEN, SKIPPED), Checks(1, 2)),
        (suite(CASE, SKIPPED), Checks(1, 0)),
        (suite(errors=1), Checks(0, 1)),
        (suite(CASE, errors=1, failures=1), Checks(1, 2)),
        (suite(FAILED, failures=1), Checks(0, 1)),
        (b"<testsuite>" + CASE.encode() + b"</testsuite>", Checks(1, 0)),
        (b'<testsuite><testcase name="e"><failure/><skipped/></testcase></testsuite>', Checks(0, 1)),
        (b'<testsuite failures="many">' + CASE.encode() + b"</testsuite>", Checks(1, 0)),
    ],
)
def test_counts(report: bytes, expected: Checks) -> None:
    """Failures and errors failed, skipped ones are neither, and a suite that broke before its first case has failed."""
    assert read_junit(report, "junit.xml") == expected


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (b"", "no JUnit XML"),
        (b"not xml", "no JUnit XML"),
        (suite(CASE)[:-20], "no JUnit XML"),
        (b"<html/>", "no test suite"),
        (suite(), "ran no check"),
        (suite(SKIPPED), "ran no check"),
        (b'<!DOCTYPE t [<!ENTITY a "b">]>' + suite(CASE)[21:], "no document type"),
    ],
)
def test_what_shows_nothing_is_refused(report: bytes, words: str) -> None:
    """A report that is none, is cut off, has run nothing or brings entities is an error with its file."""
    with pytest.raises(ReflectGateError) as error:
        read_junit(report, "junit.xml")
    assert (error.value.code, words in error.value.message) == ("report-form", True)
    assert str(error.value).startswith("junit.xml")


def test_a_report_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """More bytes than the limit are not read."""
    monkeypatch.setattr(checks, "REPORT_BYTES", 100)
    with pytest.raises(ReflectGateError) as error:
        read_junit(suite(*[CASE] * 20), "junit.xml")
    assert error.value.code == "report-size"


def test_nesting_does_not_recurse() -> None:
    """A report of many levels is read like any other."""
    deep = b"<testsuite>" * 20_000 + CASE.encode() + b"</testsuite>" * 20_000
    assert read_junit(deep, "junit.xml") == Checks(1, 0)
