"""Reads logged checks (`assert f(1) == 2 # output: 3`) and the worked examples of a task statement.

Nothing is executed or parsed as a program: a scanner that knows brackets and quotes is enough, and gives the same answer under
every interpreter. A check has the form `assert CALL == VALUE`, `assert CALL`, `assert not CALL`, `assert CALL is VALUE`,
`assertEqual(CALL, VALUE)`, `assertTrue/assertFalse(CALL)` or `assert_eq!(CALL, VALUE)`; of any other form only the text and the
output are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..measure._errortext import exception_class
from ..measure._pattern import Pattern

__all__ = ["Check", "Examples", "examples", "normal", "oracle", "parse_feedback", "split_top"]

LINE_LIMIT = 8_192
"""Characters of one logged check that are read; the text of its item is kept whole."""

_OPEN, _CLOSE = "([{", ")]}"


class Check(NamedTuple):
    """One logged check; `call` is the call under test, `expected` the value it must give, `output` what was logged."""

    text: str
    passed: bool
    call: str = ""
    expected: str = ""
    output: str | None = None

    @property
    def name(self) -> str:
        """The function that is called."""
        return self.call.partition("(")[0].strip() if self.call.endswith(")") else ""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of the call, as written."""
        return tuple(split_top(self.call[self.call.index("(") + 1 : -1], ",")) if self.name else ()

    @property
    def error_class(self) -> str:
        """The class of the exception whose message was logged in place of a value; empty where a value was."""
        return exception_class(self.output) if self.output is not None and not self.passed else ""

    @property
    def actual(self) -> str | None:
        """The value that came out, where one did."""
        if self.passed:
            return self.expected or None
        return None if self.error_class else self.output


def _walk(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield `(index, character, depth)` of everything outside quotes; a closing bracket has the depth outside it."""
    depth, quote, skip = 0, "", False
    for index, character in enumerate(text):
        if skip:
            skip = False
        elif quote:
            skip = character == "\\"
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            depth += (character in _OPEN) - (character in _CLOSE)
            yield index, character, depth


def split_top(text: str, separator: str) -> list[str]:
    """Return the parts of `text` between separators outside quotes and brackets, stripped; no parts for a blank text."""
    parts, start = [], 0
    for index, _, depth in _walk(text):
        if depth == 0 and index >= start and text.startswith(separator, index):
            parts.append(text[start:index].strip())
            start = index + len(separator)
    parts.append(text[start:].strip())
    return [part for part in parts if part] if separator == "," else parts


def normal(code: str) -> str:
    """Return code with the space outside quotes gone and one kind of quote, for comparison."""
    kept = {index for index, character, _ in _walk(code) if character.isspace()}
    return "".join("'" if character == '"' else character for index, character in enumerate(code) if index not in kept).strip()


def parse_feedback(feedback: str) -> list[Check]:
    """Return the checks of a logged test output in order; a line of no known form continues the output of the one before it."""
    checks: list[tuple[str, bool]] = []
    passed = True
    for line in feedback.splitlines():
        stripped = line.strip()
        if _HEADER.search(stripped):
            passed = "fail" not in stripped.lower()
        elif _CHECK.search(stripped):
            checks.append((stripped, passed))
        elif stripped and checks:
            checks[-1] = (f"{checks[-1][0]}\n{line.rstrip()}", checks[-1][1])
        elif stripped:
            checks.append((stripped, passed))
    return [_check(text, verdict) for text, verdict in checks]


_HEADER = Pattern(r"^(?i:tests? (?:passed|failed)|tested passed):$")
_CHECK = Pattern(r"^(?:assert\b|assert_eq!|assert_ne!|assert!|self\.assert\w+\()")
_OUTPUT = Pattern(r"\s*(?:#|//) output: ?")
_CALL = Pattern(r"^[A-Za-z_][\w.:]*\(")
_FORM = Pattern(r"^(?:self\.assert(?P<method>\w+)|assert_(?P<macro>eq)!|assert(?P<bang>!))\(")
_FIXED_EXPECTATION = {"True": "True", "False": "False", "IsNone": "None"}


def _check(text: str, passed: bool) -> Check:
    marker = _OUTPUT.search(text)
    body = text[: marker.start()] if marker else text
    output = text[marker.end() :] if marker else None
    call, expected = _sides(body[:LINE_LIMIT].rstrip(";"))
    return Check(text, passed, call, expected, output)


def _sides(body: str) -> tuple[str, str]:
    """Return the call and the expected value of a check, both empty where it is no equality on one call."""
    form = _FORM.search(body)
    if form:
        inner = split_top(body[form.end() : body.rfind(")")], ",")
        method = form.group("method") or ""
        if method in _FIXED_EXPECTATION and inner:
            return _ordered(inner[0], _FIXED_EXPECTATION[method])
        if (form.group("macro") or method in {"Equal", "Equals"}) and len(inner) >= 2:
            return _ordered(inner[0], inner[1])
        return _condition(inner[0]) if form.group("bang") and inner else ("", "")
    claim = split_top(body.removeprefix("assert").strip(), ",")
    return _condition(claim[0]) if claim else ("", "")


def _condition(claim: str) -> tuple[str, str]:
    for operator in (" == ", "==", " is "):
        sides = split_top(claim, operator)
        if len(sides) == 2 and all(sides):
            return _ordered(*sides)
    negated = claim.startswith(("not ", "!"))
    call, _ = _ordered(claim.removeprefix("not ").removeprefix("!").strip(), "")
    return (call, "False" if negated else "True") if call else ("", "")


def _ordered(left: str, right: str) -> tuple[str, str]:
    """Put the call first; a check whose sides hold no single call, or arithmetic around it, says nothing that is compared."""
    if _is_call(left):
        return left, right
    return (right, left) if _is_call(right) else ("", "")


def _is_call(code: str) -> bool:
    if not _CALL.search(code) or not code.endswith(")"):
        return False
    name = code.partition("(")[0]
    return name not in _WRAPPERS and [depth for _, _, depth in _walk(code)].index(0, len(name)) == sum(1 for _ in _walk(code)) - 1


_WRAPPERS = frozenset(
    ("abs", "all", "any", "isinstance", "len", "list", "math.isclose", "round", "set", "sorted", "str", "sum", "tuple")
)


# -- the examples of a task statement --------------------------------------------------------------------------------------------

Examples = Mapping[str, frozenset[str]]
"""Normalised call (or bare arguments, after `:`) → the normalised values that the statement gives for it."""

_EXAMPLE_CALL = Pattern(r"[A-Za-z_][\w.:]*\(")
_SAYS = Pattern(
    r"^\s*(?:==|=>|->|➞|→|=|(?:should|must|will|would) (?:return|be|equal|output|give|evaluate to)|returns?|gives?|is|equals"
    r"|outputs?|yields?|evaluates to)"
    r"(?: equal to)?\s*:?\s*"
)
_DEFINES = Pattern(r"(?:\bdef|\bfn|\bfunc|\bfunction|\bclass)\s+$")
_PREFIX = Pattern(r"(?m)^[ \t]*///? ?")
_INPUT_OUTPUT = Pattern(r"(?im)\binput:?\s*[:=]\s*(.+?)\s*\n\s*output:?\s*[:=]\s*(.+)$")
_FOR_GIVES = Pattern(
    r"(?im)\b(?:for|if|when|given)\s+(\w+\s*=\s*.+?)\s*,?\s+(?:then )?(?:the )?(?:output|result|answer|function)\s+"
    r"(?:should be|is|will be|must be|should return|returns)\s+(.+)$"
)
_WORD = Pattern(r"^[-+]?[\w.:]+!?")
_ARITHMETIC = Pattern(r"^\s*(?:[-+*/%=]|\*\*)")
_NAME_EQUALS = Pattern(r"^\w+\s*=\s*")


def examples(statement: str) -> Examples:
    """Return the worked examples of a task statement: doctests, `call == value` or an arrow, prose, input and output."""
    text = _PREFIX.sub("", statement)
    found: dict[str, set[str]] = {}
    for key, value in (*_call_examples(text), *_bare_examples(text)):
        found.setdefault(key, set()).add(normal(value))
    return {key: frozenset(values) for key, values in found.items()}


def _call_examples(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while match := _EXAMPLE_CALL.search(text, position):
        position = match.end()
        end = _closing(text, match.end() - 1)
        if end is None or _DEFINES.search(text[max(0, match.start() - 24) : match.start()]):
            continue
        line_start = text.rfind("\n", 0, match.start()) + 1
        doctest = text[line_start : match.start()].strip() == ">>>"
        value = _value_after(text, end, doctest)
        if value:
            yield normal(text[match.start() : end]), value
            position = max(position, end)


def _closing(text: str, start: int) -> int | None:
    """Return the index after the bracket that closes the one at `start`, within the next `LINE_LIMIT` characters."""
    window = text[start : start + LINE_LIMIT]
    return next((start + index + 1 for index, _, depth in _walk(window) if depth == 0), None)


def _value_after(text: str, end: int, doctest: bool) -> str:
    line_end = text.find("\n", end)
    rest = text[end : line_end if line_end >= 0 else len(text)]
    says = _SAYS.search(rest)
    if says:
        return _stated(rest[says.end() :])
    if not doctest:
        return ""
    if rest.strip():
        return _stated(rest)
    following = text[end:].lstrip("\n").split("\n\n", 1)[0].split(">>>", 1)[0]
    return _stated(following.strip())


def _stated(text: str) -> str:
    """Return the value that a text begins with; of a calculation the result after its last `=`; empty where there is none."""
    stripped = text.strip()
    value = _literal(stripped)
    rest = stripped[len(value) :].partition("\n")[0]
    if not _ARITHMETIC.search(rest):
        return value
    return _literal(rest.rpartition("=")[2].strip()) if "=" in rest else ""


def _literal(text: str) -> str:
    word = _WORD.search(text)
    start = word.end() if word else 0
    opener = text[start : start + 1]
    if opener and opener in _OPEN:
        end = _closing(text, start)
        return text[:end] if end else ""
    if not word and opener and opener in "'\"":
        end = text.find(opener, 1)
        return text[: end + 1] if end > 0 else ""
    return text[:start].rstrip(".:")


def _bare_examples(text: str) -> Iterator[tuple[str, str]]:
    for pattern in (_INPUT_OUTPUT, _FOR_GIVES):
        for match in pattern.finditer(text):
            arguments = [_NAME_EQUALS.sub("", part) for part in split_top(match.group(1), ",")]
            value = _stated(match.group(2))
            if value and arguments:
                yield ":" + normal(",".join(arguments)), value


def oracle(check: Check, known: Examples) -> str:
    """Return `repeats_example` where the task statement gives this call this value and no other, else `self_written`."""
    if not check.call:
        return "self_written"
    stated = known.get(normal(check.call), frozenset()) | known.get(":" + normal(",".join(check.arguments)), frozenset())
    return "repeats_example" if stated == {normal(check.expected)} else "self_written"
