"""What an executed check showed (`defect`): nothing wrong, a wrong value, no result at all, or a crash.

Read from what the item carries, in this order: a passed check shows nothing; an exception, compile error or fatal signal is a
crash; an empty result where a value was expected is no result; any other failed check is a wrong value, and so is the output of a
run whose text states an exit status other than 0. A failed assertion is never a crash: it rests on the expected value. Only items
that were executed or observed can show a defect; a plan, a file, a specification, a diagnosis, a repair or a success shows none,
whatever it quotes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ._errortext import exception_class
from ._pattern import Pattern
from .expectation import exit_status
from .text import encodable

__all__ = ["NO_RESULT", "OBSERVED", "defect", "is_no_result"]

NO_RESULT = frozenset(("", "none", "null", "nil", "undefined", "nothing", "()", "void", "no output", "<no output>", "<none>"))
"""Actual values, case-folded and stripped, that are no result."""

OBSERVED = frozenset(("test_output", "tool_output", "error", "log"))
"""Kinds of items that tell what happened."""

_EXECUTED = OBSERVED | {"action"}
_RUN = frozenset(("test_output", "tool_output"))
_READ = 8_192

_ASSERTION = Pattern(
    r"^(?:[\w.]*(?:Assertion\w*|ComparisonFailure|ComparisonError|MultipleFailuresError)|check-failed|test-failed|exit-\d+|unknown|none)$",
    ignore_case=True,
)
_ERROR_NAME = r"(?:[A-Za-z_][\w]*[.:]{1,2})*[A-Z]\w*(?:Error|Exception|Interrupt|Fault|Timeout|Expired)"
_CRASH = Pattern(
    r"(?m)^Traceback \(most recent call last\)",
    rf"(?m)^(?:E\s+|\s*)?(?:Uncaught )?{_ERROR_NAME}(?:: |$)",
    r'(?m)^Exception in thread "',
    r"(?m)^\s*File \"[^\"\n]+\", line \d+",
    r"(?m)^(?:\S+:)?\s*(?:Syntax|Indentation|Tab)Error\b",
    r"(?m)^error\[E\d{4}\]",
    r"(?m)^thread '[^'\n]*'(?: \(\d+\))? panicked at",
    r"(?m)^panic: ",
    r"(?m)^fatal error: ",
    r"(?m)^\S+\.go:\d+:\d+: ",
    r"(?m)^\S[^\n]*?[:(]\d+(?:[:,]\d+)?\)?: (?:fatal )?error\b",
    r"(?m)\berror (?:TS|CS|C|LNK)\d{3,5}: ",
    r"(?i)\b(?:segmentation fault|core dumped|stack overflow|bus error|illegal instruction|out of memory|killed by signal)\b",
    r"(?i)\b(?:compilation failed|could not compile|build failed|cannot find symbol)\b",
    r"(?i)\b(?:timed out|time limit exceeded|timeout expired)\b",
    r"(?i)^\s*time ?out\s*$",
)
_ASSERTED = Pattern(
    r"(?m)^(?:E\s+)?(?:[\w.]*Assertion\w*(?:Error)?\b|assertion (?:`|'|failed|left|error)|E\s+assert )",
    r"(?m)panicked at (?:'|[^\n]*:\n)?\s*assertion",
    r"(?m)\bexpect\(|(?m)^\s*Expected: ",
    r"\b(?:AssertionError|AssertionFailedError|AssertionException|ComparisonFailure)\b",
)
_OTHER_ERROR = Pattern(
    r"(?m)^(?:E\s+|\s*)?(?:[A-Za-z_]\w*\.)*(?:Name|Type|Value|Index|Key|Attribute|Import|ModuleNotFound|Syntax)Error\b"
)
_FAILED = Pattern(r"\b(?:FAIL(?:ED|URE|URES)?|failed|failures?|failing|not ok)\b|[✗✘]")
_NONE_FAILED = Pattern(r"(?i)\b(?:0|no) (?:failed|failures?|failing|errors?)\b|\bfail(?:ed|ures?|ing)?\s*[:=]\s*0\b")


def is_no_result(actual: object) -> bool:
    """Return whether an actual value is no result at all: absent as `None`, blank, or one of `NO_RESULT`."""
    return actual is None or str(actual)[:32].strip().casefold() in NO_RESULT


@lru_cache(maxsize=4_096)
def _exception_message(actual: str) -> bool:
    """Return whether a short actual value is the message of an exception rather than a value."""
    if not any(character.isalpha() for character in actual) or (actual[:1] in "[({\"'`" and actual[-1:] in "])}\"'`"):
        return False
    return bool(exception_class(actual)) or _CRASH.search(actual) is not None


@lru_cache(maxsize=1_024)
def _text_crash(text: str) -> bool:
    if _CRASH.search(text) is None:
        return False
    return _ASSERTED.search(text) is None or _OTHER_ERROR.search(text) is not None


@lru_cache(maxsize=1_024)
def _asserted_class(error_class: str) -> bool:
    return _ASSERTION.search(error_class) is not None


def defect(item: Mapping[str, Any]) -> str:
    """Return what an item's check showed: `none`, `wrong_value`, `no_result` or `crash`. Measure `defect` 1.1.0.

    Reads `passed, exit_code, error_class, expected, actual` and, where those do not decide, the first 8,192 characters of `text`.
    """
    if item["kind"] not in _EXECUTED or item.get("passed") is True:
        return "none"
    error_class = str(item.get("error_class") or "").strip()
    if error_class and not _asserted_class(encodable(error_class[:256])):
        return "crash"
    if "actual" in item:
        return _valued(item)
    return _textual(item, bool(error_class))


def _valued(item: Mapping[str, Any]) -> str:
    """An item with an actual value."""
    actual, expected = item["actual"], item.get("expected")
    failed = _says_failed(item)
    if actual is not None and _exception_message(encodable(str(actual)[:512].strip())):
        return "crash" if failed or expected is None or str(expected).strip() != str(actual).strip() else "none"
    if expected is None:
        return "none" if not failed else "no_result" if is_no_result(actual) else "wrong_value"
    same = _same(str(expected), "" if actual is None else str(actual))
    if same and not failed:
        return "none"
    return "no_result" if is_no_result(actual) and not is_no_result(expected) else "wrong_value"


def _same(expected: str, actual: str) -> bool:
    return expected == actual or "".join(expected.split()).replace('"', "'") == "".join(actual.split()).replace('"', "'")


def _says_failed(item: Mapping[str, Any]) -> bool:
    return item.get("passed") is False or bool(item.get("exit_code")) or bool(item.get("error_class"))


def _textual(item: Mapping[str, Any], asserted: bool) -> str:
    """An item without an actual value: its flags and its text decide."""
    text = encodable(item["text"][:_READ])
    if item["kind"] in OBSERVED and not asserted and _text_crash(text):
        return "crash"
    if _says_failed(item) or asserted:
        return "wrong_value"
    if item["kind"] == "error":
        return "crash"
    failing = item["kind"] == "test_output" and _FAILED.search(text) is not None and _NONE_FAILED.search(text) is None
    return "wrong_value" if failing or (item["kind"] in _RUN and exit_status(text)) else "none"
