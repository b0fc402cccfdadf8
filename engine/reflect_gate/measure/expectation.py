"""The expected and the actual value of a failed check that was logged as text alone.

    pytest      E  assert 3 == 4  (`where 3 = f(1)` says which side came out)
    unittest    AssertionError: 3 != 4
    jest        Expected: 4 / Received: 3
    go test     got 3, want 4;  f(1) = 3, want 4;  expected 4, got 3;  testify's expected: 4 / actual: 3
    cargo test  left: 3 / right: 4
    JUnit       expected: <4> but was: <3>;  hamcrest's Expected: <4> / but: was <3>
    plain       assert 3 == 4 failed;  expected 4 but got 3;  expected 4, received 3

A side that no convention names is read as the frameworks document it: what came out stands left of `==` and `!=`, and `left` in
cargo's output. The first form that matches is read, from the first 8,192 characters; where both values are the same text,
nothing is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ._pattern import Pattern
from .text import encodable

__all__ = ["Values", "exit_status", "read_values"]

_READ = 8_192
_VALUE_LIMIT = 2_048

_QUIET = r"[^\n]{1,512}?"
_FORMS = (
    Pattern(rf"(?m)expected:? ?<(?P<expected>{_QUIET})> ?but was:? ?<(?P<actual>{_QUIET})>"),
    Pattern(rf"(?m)^\s*Expected: (?:is )?<?(?P<expected>{_QUIET})>?\n\s*but: was <?(?P<actual>{_QUIET})>?$"),
    Pattern(rf"(?m)^\s*Expected(?: value)?: (?P<expected>{_QUIET})\n\s*Received(?: value)?: (?P<actual>{_QUIET})$"),
    Pattern(r"(?m)^\s*left: `(?P<actual>[^`\n]{1,512})`,?\n\s*right: `(?P<expected>[^`\n]{1,512})`"),
    Pattern(rf"(?m)^\s*left: (?P<actual>{_QUIET})\n\s*right: (?P<expected>{_QUIET})$"),
    Pattern(
        rf"(?m)^\s*expected:? (?P<expected>{_QUIET})\n\s*(?:but )?(?:was|actual|got)\s*:? (?P<actual>{_QUIET})$", ignore_case=True
    ),
    Pattern(rf"(?m)^(?:\w*Error: |E\s+\w*Error: )(?:\w+ differ: )?(?P<actual>{_QUIET}) != (?P<expected>{_QUIET})(?: : .*)?$"),
    Pattern(rf"(?m)\bgot(?: =|:)? ?(?P<actual>{_QUIET})[,;] ?want(?:ed)?(?: =|:)? ?(?P<expected>{_QUIET})$"),
    Pattern(rf"(?m)\) = (?P<actual>{_QUIET})[,;] want (?P<expected>{_QUIET})$"),
    Pattern(rf"(?m)\bwant(?:ed)?(?: =|:)? ?(?P<expected>{_QUIET})[,;] ?got(?: =|:)? ?(?P<actual>{_QUIET})$"),
    Pattern(
        rf"(?m)\bexpected:? (?P<expected>{_QUIET})(?:,| but| but instead|, but) (?:got|received|found|was|actual)(?: instead)?:? "
        rf"(?P<actual>{_QUIET})\.?$",
        ignore_case=True,
    ),
)
_COMPARED = Pattern(rf"(?m)^(?:E\s+)?(?:AssertionError: )?assert (?P<left>{_QUIET}) == (?P<right>{_QUIET})(?: failed)?$")
_WHERE = Pattern(rf"(?m)^E?\s*\+\s+where (?P<value>{_QUIET}) = [\w.]+\(")
_CALLS = Pattern(r"[A-Za-z_]\w*\(")
_EXIT = Pattern(
    r"\b(?:exit(?:ed)?(?: with)?(?: a)?(?: non-zero)? ?(?:code|status)|returned non-zero exit status|process exited with|exit)"
    r"[ :=]{1,3}(-?\d{1,5})\b",
    ignore_case=True,
)


class Values(NamedTuple):
    """What a check expected and what came out, as written."""

    expected: str
    actual: str


@lru_cache(maxsize=1_024)
def read_values(text: str) -> Values | None:
    """Return the values that a logged failure states, `None` where it states none. Measure `expectation` 1.0.0; linear."""
    read = encodable(text[:_READ])
    for form in _FORMS:
        match = form.search(read)
        if match:
            return _values(match.group("expected"), match.group("actual"))
    return _compared(read)


def _compared(text: str) -> Values | None:
    """Read `assert 3 == 4`; a side that is still a call was not evaluated, so that the other one is no value that came out."""
    match = _COMPARED.search(text)
    if match is None:
        return None
    left, right = str(match.group("left")), str(match.group("right"))
    if _CALLS.search(left) or _CALLS.search(right):
        return None
    where = _WHERE.search(text)
    exchanged = where is not None and where.group("value") == right
    return _values(left, right) if exchanged else _values(right, left)


def _values(expected: object, actual: object) -> Values | None:
    found = Values(str(expected).strip()[:_VALUE_LIMIT], str(actual).strip()[:_VALUE_LIMIT])
    return None if found.expected == found.actual else found


def exit_status(text: str) -> int | None:
    """Return the last exit status that a text states, `None` where it states none. Linear."""
    found = _EXIT.findall(encodable(text[:_READ]))
    return int(found[-1]) if found else None
