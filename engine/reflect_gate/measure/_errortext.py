"""What an error text says: its class, its message and the site it names, read from the output of common tools.

Python and pytest, JavaScript and TypeScript, Go, Rust, Java, and compilers that print `file:line:column: error:`. The reading
is a table of RE2 patterns (linear time) over at most `TEXT_LIMIT` characters; nothing here guesses, a text of no known form has
the empty class, its first line as the message, and no site. Where a text chains causes, the one that was raised last (Python)
or the deepest `Caused by` (Java) is read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from ._pattern import Match, Pattern

__all__ = ["TEXT_LIMIT", "ErrorText", "exception_class", "frames", "read_error"]

TEXT_LIMIT = 65_536
"""Characters of a text that are read."""

FRAME_LIMIT = 512
"""Frames of one text that are looked at."""

_NAME = r"(?:[A-Za-z_]\w*[.:]{1,2})*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Iteration|Failure|Fault|Timeout|Expired)"


class ErrorText(NamedTuple):
    """What was read; each part is empty where the text does not say it. `site` is raw: `path:function`, `path` or `function`."""

    error_class: str
    message: str
    site: str


class _Form(NamedTuple):
    """A form of error; `needs` stands in every text that the pattern finds, and is far quicker to look for."""

    needs: str
    pattern: Pattern
    fixed_class: str = ""
    last: bool = False


_TRACEBACK = "Traceback (most recent call last)"
_RAISED = Pattern(rf"(?m)^(?:E\s+|\s*\+?\s*\|?\s*)(?P<class>{_NAME})(?::[ \t]*(?P<message>.*))?$")
_FORMS: tuple[_Form, ...] = (
    _Form("Caused by: ", Pattern(r"(?m)^Caused by: (?P<class>[\w.$]+)(?:: (?P<message>.*))?$"), last=True),
    _Form('Exception in thread "', Pattern(r'(?m)^Exception in thread "[^"\n]*" (?P<class>[\w.$]+)(?:: (?P<message>.*))?$')),
    _Form("Error [", Pattern(r"(?m)^(?:Uncaught )?\w*Error \[(?P<class>[A-Z][A-Z0-9_]+)\]: (?P<message>.*)$")),
    _Form("error[", Pattern(r"(?m)^error\[(?P<class>E\d{4})\]: (?P<message>.*)$")),
    _Form("error ", Pattern(r"(?m)^.*\berror (?P<class>[A-Z]{2,6}\d{2,5}): (?P<message>.*)$")),
    _Form("panicked at", Pattern(r"(?m)^thread '[^'\n]*'(?: \(\d+\))? panicked at '(?P<message>.*)', .*$"), "panic"),
    _Form("panicked at", Pattern(r"(?m)^thread '[^'\n]*'(?: \(\d+\))? panicked at [^\n]*:\n(?P<message>.*)$"), "panic"),
    _Form("panic: ", Pattern(r"(?m)^panic: (?P<message>.*)$"), "panic"),
    _Form("fatal error: ", Pattern(r"(?m)^fatal error: (?P<message>.*)$"), "fatal-error"),
    _Form(": ", Pattern(rf"(?m)^(?:E\s+|\s*)(?:Uncaught )?(?:\(in promise\) )?(?P<class>{_NAME}): (?P<message>.*)$")),
    _Form("assert ", Pattern(rf"(?m)^(?P<message>E\s+assert .*)(?:\n.*)*?\n\S+:\d+: (?P<class>{_NAME})$")),
    _Form(":", Pattern(rf"(?m)^\S+:\d+: (?P<class>{_NAME})$")),
    _Form("error: ", Pattern(r"(?m)^\S[^\n]*?[:(]\d+(?:[:,]\d+)?\)?: (?:fatal )?error: (?P<message>.*)$"), "error"),
    _Form("--- FAIL: ", Pattern(r"(?m)^\s*--- FAIL: (?:.*)\n\s+\S+\.go:\d+: (?P<message>.*)$"), "test-failed"),
    _Form(".go:", Pattern(r"(?m)^\S+\.go:\d+:\d+: (?P<message>.*)$"), "error"),
    _Form("Error: ", Pattern(r"(?m)^(?:Uncaught )?(?P<class>Error): (?P<message>.*)$")),
    _Form("error: ", Pattern(r"(?m)^error: (?P<message>.*)$"), "error"),
    _Form("", Pattern(rf"(?m)^\s*(?P<class>{_NAME})$")),
)

# Messages that CPython prints without their class when only `str(exception)` was kept.
_BARE: tuple[tuple[str, str], ...] = (
    ("NameError", r"^(?:free variable |global )?name '\w+' is not defined"),
    ("UnboundLocalError", r"^(?:local variable '\w+' referenced before|cannot access local variable)"),
    ("RecursionError", r"^maximum recursion depth exceeded"),
    (
        "ZeroDivisionError",
        r"division by zero$|modulo by zero$|^float (?:modulo|floor division by zero)|cannot be raised to a negative power$",
    ),
    (
        "IndexError",
        r"^(?:list|string|tuple|range object|deque|bytearray|list assignment|pop) (?:index )?(?:index )?out of range$",
    ),
    ("IndexError", r"^pop (?:from (?:an )?empty (?:list|deque)|index out of range)|^tuple index out of range$"),
    ("KeyError", r"^'pop from an empty set'$|^'popitem\(\): dictionary is empty'$|^pop from an empty set$"),
    (
        "AttributeError",
        r"^(?:type object )?'[\w.]+' object has no attribute '\w+'|^(?:type object|module) '[\w.]+' has no attribute",
    ),
    ("ModuleNotFoundError", r"^No module named "),
    ("ImportError", r"^cannot import name "),
    ("TabError", r"^inconsistent use of tabs"),
    ("IndentationError", r"^(?:unexpected indent|unindent does not match|expected an indented block)"),
    (
        "SyntaxError",
        r"\(<(?:string|unknown|stdin)>, line \d+\)$|^(?:invalid syntax|unterminated |unmatched '|'[\[({]' was never closed)",
    ),
    ("TypeError", r"(?:missing|takes) .*positional argument|^[\w.]+\(\) (?:got|takes|argument|missing|expected|can't convert)"),
    (
        "TypeError",
        r"^(?:unsupported operand type|bad operand type|can only (?:concatenate|join)|can't multiply sequence|unhashable type)",
    ),
    (
        "TypeError",
        r"not supported between instances of|object is not (?:\w+able|an? \w+)|object cannot be interpreted as an integer",
    ),
    (
        "TypeError",
        r"object does not support item|must be (?:str|real number|a string|integers?|an integer)\b.*, not |indices must be",
    ),
    (
        "TypeError",
        r"^\w+ expected (?:at (?:most|least) )?\d+ arguments?, got \d+$|^sequence item \d+: |^not all arguments converted",
    ),
    ("ValueError", r"^invalid literal for |^could not convert string to|^(?:not enough|too many) values to unpack"),
    (
        "ValueError",
        r"^math domain error$|^(?:min|max)\(\) (?:arg|iterable argument) is |\bnot in (?:list|deque|tuple)$",
    ),
    ("ValueError", r"^substring not found$|^empty separator$|^chr\(\) arg not in range|must not be zero$|^Sample larger than"),
    ("OverflowError", r"^math range error$|too large to convert|^cannot convert float infinity|^Python int too large"),
    ("MemoryError", r"^(?:Unable to allocate|out of memory)"),
    ("TimeoutError", r"(?i)^(?:timed? ?out|timeout|execution timed out)\b"),
)
_BARE_COMPILED = tuple((name, Pattern(pattern)) for name, pattern in _BARE)
_PREFIXED = Pattern(rf"^({_NAME})(?::|$)")


def exception_class(message: str) -> str:
    """Return the class of an exception whose message alone was kept, or the empty string where it is no known message."""
    line = message.strip()[:512]
    prefixed = _PREFIXED.search(line)
    if prefixed:
        return str(prefixed.group(1))
    return next((name for name, pattern in _BARE_COMPILED if pattern.search(line)), "")


class _FrameForm(NamedTuple):
    """A form of frame; `needs` as in `_Form`."""

    needs: str
    pattern: Pattern
    innermost_last: bool = False


_FRAMES: tuple[_FrameForm, ...] = (
    _FrameForm(
        'File "',
        Pattern(r'(?m)^\s*(?:\|\s*)?File "(?P<path>[^"\n]+)", line \d+(?:, in (?P<function>[^\n]+))?'),
        innermost_last=True,
    ),
    _FrameForm("at ", Pattern(r"(?m)^\s*at (?P<function>[\w.$<>/]+)\((?P<path>[\w$-]+\.(?:java|kt|scala|groovy))(?::\d+)?\)")),
    _FrameForm(
        "at ",
        Pattern(
            r"(?m)^\s*at (?:async )?(?:(?P<function>[^\n()]+?)(?: \[as [^\]\n]*\])? \()?"
            r"(?P<path>[^()\s][^()\n]*?):\d+:\d+\)?$"
        ),
    ),
    _FrameForm(".go:", Pattern(r"(?m)^(?P<function>[\w./*()-]+?)\((?:[^\n]*)\)\n\t(?P<path>[^\n]+\.go):\d+")),
    _FrameForm("panicked at", Pattern(r"(?m)^thread '[^'\n]*'(?: \(\d+\))? panicked at (?:'.*', )?(?P<path>[^\s:']+\.rs):\d+")),
    _FrameForm("--> ", Pattern(r"(?m)^\s*--> (?P<path>[^\s:]+):\d+:\d+")),
    _FrameForm(".py::", Pattern(r"(?m)^(?:FAILED|ERROR) (?P<path>[^\s:]+\.py)::(?P<function>[^\s\[]+)")),
    _FrameForm(".py:", Pattern(rf"(?m)^(?P<path>\S+\.py):\d+: (?:{_NAME}|in )(?P<function>\w*)"), innermost_last=True),
    _FrameForm("--- FAIL: ", Pattern(r"(?m)^\s*--- FAIL: (?P<function>\w+)[^\n]*\n\s+(?P<path>\S+\.go):\d+")),
    _FrameForm(
        "assert",
        Pattern(r"(?m)^(?P<path>)(?:assert (?:not )?|self\.assert\w+\(|assert(?:_eq)?!\()(?P<function>[A-Za-z_][\w.:]*)\("),
    ),
    _FrameForm(": ", Pattern(r"(?m)^(?P<path>(?:[A-Za-z]:)?[^\s:()]+\.\w{1,5})(?::\d+(?::\d+)?:|\(\d+(?:,\d+)?\):) ")),
)
_EXIT_LINE = Pattern(r"(?i)^(?:(?:command |process )?exited with code|exit (?:code|status))[ :=]*-?\d+\.?$")
_FOREIGN = Pattern(
    r"site-packages|dist-packages|node_modules|^node:|^internal/|^<frozen|/lib/python\d|/usr/(?:local/)?(?:lib|go)/|/go/pkg/mod/"
    r"|/\.cargo/|/rustc/|\.rustup|^(?:java|javax|jdk|sun|kotlin|scala|org\.junit|org\.gradle)\.|^(?:runtime|panic|testing)\b"
)


def frames(text: str) -> Iterator[tuple[str, str]]:
    """Yield `(path, function)` of the frames of a text, innermost first, of the first form that the text has any of."""
    bounded = text[:TEXT_LIMIT]
    for form in _FRAMES:
        found = _groups(form.pattern, bounded) if form.needs in bounded else []
        if found:
            yield from reversed(found) if form.innermost_last else found
            return


def _groups(pattern: Pattern, text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for match in pattern.finditer(text):
        names = match.groupdict()
        found.append(((names.get("path") or "").strip(), (names.get("function") or "").strip()))
        if len(found) == FRAME_LIMIT:
            break
    return found


def _own_site(text: str) -> str:
    """Return the innermost frame that is not a library's, else the innermost at all."""
    found = list(frames(text))
    own = [frame for frame in found if not _FOREIGN.search(frame[0]) and not _FOREIGN.search(frame[1])]
    path, function = (own or found or [("", "")])[0]
    return f"{path}:{function}" if path and function else path or function


def _last(pattern: Pattern, text: str) -> Match | None:
    return next(iter(deque(pattern.finditer(text), maxlen=1)), None)


def _class_and_message(text: str) -> tuple[str, str]:
    if _TRACEBACK in text:
        raised = _last(_RAISED, text)
        if raised:
            return raised.group("class"), raised.group("message") or ""
    for form in _FORMS:
        if form.needs not in text:
            continue
        match = _last(form.pattern, text) if form.last else form.pattern.search(text)
        if match:
            names = match.groupdict()
            return names.get("class") or form.fixed_class, (names.get("message") or "").removeprefix("E").strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # Harnesses put the exit code above the output: what every failure begins with tells none from another.
    first = next((line for line in lines if not _EXIT_LINE.search(line)), lines[0] if lines else "")
    return exception_class(first), first


def read_error(text: str) -> ErrorText:
    """Return the class, message and raw site that an error text names."""
    bounded = text[:TEXT_LIMIT]
    error_class, message = _class_and_message(bounded)
    return ErrorText(error_class, message, _own_site(bounded))
