"""Numbers and values: does a claim state the expected and actual values that the check shows?

A statement is read from phrasings such as `expected 3 but got 2`, `returned False instead of True`, `should return [] but
returns None`, `the actual output is 5, expected 6`. A value is a number, a truth value, nothing (`None`, `null` …), a quotation,
a code span or a bracketed literal; values are compared without whitespace, with one kind of quote, numbers by amount, and a
stated decimal fraction also agrees with a longer one that rounds to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from ._pattern import Pattern
from .defect import NO_RESULT
from .index import IndexedItem, RecordIndex
from .text import LIMIT, normalise

__all__ = ["STATEMENT_LIMIT", "Statement", "agreement", "normal_value", "same_value", "sentences", "statements"]

STATEMENT_LIMIT = 64
"""Statements of one claim that are read."""

_VALUE = (
    r"(?:`[^`\n]+`|'[^'\n]*'|\"[^\"\n]*\"|\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\]|\((?:[-'\"\[(0-9])[^()\n]*\)|\{[^{}\n]*\}"
    r"|[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?\b|\b(?:none|true|false|null|undefined|nil|nan|nothing)\b"
    r"|\b(?:string|str|list|array|tuple|dictionary|dict|set|integer|int|float|boolean|bool)\b"
    r"|(?:an? )?\bempty (?:list|array|string|dictionary|dict|tuple|set|object)\b)"
)
_FILLER = (
    r"(?:\s+(?:the|a|an|values?|output|outcome|result|return|returned|answer|to|be|been|is|was|of|it|list|string|integer|array|tuple"
    r"|boolean|number|float|as|equal|only|just|actually|incorrectly|wrongly))*\s*[:=]?\s*"
)
_ABOUT = r"(?:\s+for\s+[^.;\n]{1,80}?\s(?:is|was|to be|should be|should have been))?"
_EXPECTED = (
    r"\b(?:expected(?: (?:output|result|value|return value|answer|outcome))?|expects|expecting|should(?: have)?"
    r"(?: return(?:ed)?| be(?:en)?| output| give| equal| produced?| yield)|instead of(?: returning)?|rather than(?: returning)?"
    r"|supposed to(?: return| be| output)|correct (?:output|answer|result|value))\b"
)
_ACTUAL = (
    r"\b(?:got|gets|getting|returned|returns|returning|outputs|outputted|outputting|produced|produces|producing|gave|gives|giving|yielded"
    r"|yields|received|evaluate[sd] to|printed|prints|computed|computes|calculated|calculates"
    r"|results? in|resulted in|resulting in"
    r"|actual(?: (?:output|result|value|return value|outcome))?|output (?:is|was)|result (?:is|was)|returning value)\b"
)
_STATED = Pattern(_EXPECTED, _ACTUAL)
_WAS_EXPECTED = Pattern(rf"(?P<value>{_VALUE}) (?:is|was|were|had been) expected\b")
_TAIL_LIMIT = 400
_EXPECTING = ("expect", "should", "instead", "rather", "supposed", "correct")
"""How the marks of the expected side begin."""
_TAIL = Pattern(rf"^{_ABOUT}{_FILLER}(?P<value>{_VALUE})")
_VALUE_SIGNS = (
    *"0123456789`'\"[({",
    *("none", "true", "false", "null", "undefined", "nil", "nan", "nothing", "empty"),
    *("str", "list", "array", "tuple", "dict", "set", "int", "float", "bool"),
)
"""What every value holds one of: a sentence without any states none."""

_MARKS = ("expect", "should", "instead", "rather", "supposed", "correct", "actual", "got", "return", "output", "produc", "result")


_TYPES = {
    "string": "str",
    "array": "list",
    "dictionary": "dict",
    "integer": "int",
    "boolean": "bool",
    **{name: name for name in ("str", "list", "tuple", "dict", "set", "int", "float", "bool")},
}
_TYPE = "type:"
_BRACKETS = ("[", "(", "{")


class Statement(NamedTuple):
    """Values that one sentence states of a check; `None` where it states one side alone. Values are in normal form."""

    expected: str | None
    actual: str | None


def normal_value(text: str) -> str | None:
    """Return the normal form of a written value; `None` where it is no value but a name or an expression."""
    bare = text.strip().strip("`").strip()
    folded = bare.casefold().removeprefix("an ").removeprefix("a ")
    if folded in NO_RESULT:
        return "none" if folded not in {"", "()"} else folded
    if folded.startswith("empty "):
        return {"list": "[]", "array": "[]", "string": "", "tuple": "()", "set": "set()"}.get(folded[6:], "{}")
    if folded in {"true", "false"}:
        return folded
    if folded in _TYPES:
        return _TYPE + _TYPES[folded]
    if bare[0] in "'\"" and bare[-1] == bare[0] and len(bare) > 1:
        return bare[1:-1]
    if bare[0] in _BRACKETS:
        return "".join(folded.split()).replace('"', "'")
    return _normal_number(folded)


def _normal_number(folded: str) -> str | None:
    try:
        number = Decimal(folded.replace(",", "").replace("_", ""))
    except InvalidOperation:
        return None
    if not number.is_finite():
        return folded
    return format(number.normalize(), "f") if -64 < number.adjusted() < 64 else str(number)


@lru_cache(maxsize=4_096)
def check_value(written: str) -> str:
    """Return the normal form of a check's value; a text that is no literal is compared as it stands."""
    short = written[:4_096].strip()
    value = normal_value(short) if short and short.casefold() not in _TYPES else short
    return "".join(short.casefold().split()) if value is None else value


def same_value(stated: str, shown: str) -> bool:
    """Return whether a stated value is the shown one, both normal; a stated fraction may be rounded, a stated type holds."""
    if stated == shown:
        return True
    if stated.startswith(_TYPE):
        return _type(shown) in (stated.removeprefix(_TYPE), "")
    if "." not in stated or "." not in shown:
        return stated.casefold() == shown.casefold()
    try:
        places = len(stated.partition(".")[2])
        return places > 0 and round(Decimal(shown), places) == Decimal(stated)
    except (InvalidOperation, ValueError):
        return False


def _type(shown: str) -> str:
    """Return the type of a normal form; empty where it does not tell: quotation marks are gone, and numbers have lost theirs."""
    if shown in {"true", "false"}:
        return "bool"
    if shown == "none":
        return "none"
    if shown[:1] in _BRACKETS:
        return {"[": "list", "(": "tuple"}.get(shown[0], "dict" if ":" in shown or shown == "{}" else "set")
    return ""


def sentences(text: str) -> list[str]:
    """Return the sentences of a text: split at line ends and at stops and semicolons that whitespace follows."""
    return [
        part for part in text.replace("\n", ". ").replace("; ", ". ").replace("? ", ". ").replace("! ", ". ").split(". ") if part
    ]


@lru_cache(maxsize=512)
def statements(claim: str) -> tuple[Statement, ...]:
    """Return what a claim states of expected and actual values, at most `STATEMENT_LIMIT`. Linear."""
    folded = normalise(claim).text if not claim.isascii() else claim[:LIMIT]
    lowered = folded.casefold()
    if not any(mark in lowered for mark in _MARKS):
        return ()
    found: list[Statement] = []
    for sentence in sentences(lowered):
        if not any(mark in sentence for mark in _MARKS) or not any(sign in sentence for sign in _VALUE_SIGNS):
            continue
        found += _paired(_stated(sentence))
        if len(found) >= STATEMENT_LIMIT:
            break
    return tuple(dict.fromkeys(found[:STATEMENT_LIMIT]))


def _stated(sentence: str) -> list[tuple[str, str]]:
    """Return `(side, value)` in order of appearance."""
    found: list[tuple[int, str, str]] = []
    for mark in _STATED.finditer(sentence):
        tail = _TAIL.search(sentence[mark.end() : mark.end() + _TAIL_LIMIT])
        value = normal_value(tail.group("value")) if tail else None
        if value is not None and not sentence[: mark.start()].endswith(("not ", "n't ", "never ")):
            found.append((mark.start(), "expected" if sentence.startswith(_EXPECTING, mark.start()) else "actual", value))
        if len(found) >= STATEMENT_LIMIT:
            break
    if " expected" in sentence:
        for match in islice(_WAS_EXPECTED.finditer(sentence), STATEMENT_LIMIT):
            value = normal_value(match.group("value"))
            if value is not None:
                found.append((match.start(), "expected", value))
    return [(side, value) for _, side, value in sorted(found)]


def _paired(stated: Sequence[tuple[str, str]]) -> list[Statement]:
    """Pair neighbours of different sides; a value without a partner stands alone."""
    found: list[Statement] = []
    index = 0
    while index < len(stated):
        side, value = stated[index]
        if index + 1 < len(stated) and stated[index + 1][0] != side:
            other = stated[index + 1][1]
            found.append(Statement(value, other) if side == "expected" else Statement(other, value))
            index += 2
        else:
            found.append(Statement(value, None) if side == "expected" else Statement(None, value))
            index += 1
    return found


def _shown(item: IndexedItem) -> tuple[str | None, str | None]:
    expected, actual = item.item.get("expected"), item.item.get("actual")
    return (
        None if expected is None else check_value(str(expected)),
        None if "actual" not in item.item else check_value("none" if actual is None else str(actual)),
    )


_COLLECTIONS = frozenset(_TYPE + name for name in ("list", "tuple", "dict", "set"))


def _of_element(known: Sequence[tuple[str, str]]) -> bool:
    """Return whether plain values are stated of a check that shows a collection, so that they may be about an element."""
    plain = all(mine[:1] not in _BRACKETS and mine not in _COLLECTIONS for mine, _ in known)
    return plain and any(theirs[:1] in _BRACKETS for _, theirs in known)


def _compare(stated: Statement, shown: tuple[str | None, str | None]) -> str:
    """Return how one statement stands to one check: `agree`, `conflict` (exchanged, or one of two wrong), `other`, `none`."""
    known = [(mine, theirs) for mine, theirs in zip(stated, shown, strict=True) if mine is not None and theirs is not None]
    if len(known) < sum(1 for mine in stated if mine is not None) or not known:
        return "none"
    equal = [same_value(mine, theirs) for mine, theirs in known]
    if all(equal):
        return "agree"
    if len(known) < 2 or _of_element(known):
        return "none"
    exchanged = same_value(known[0][0], known[1][1]) and same_value(known[1][0], known[0][1])
    return "conflict" if exchanged or any(equal) else "other"


def agreement(claim: str, item: IndexedItem, index: RecordIndex) -> str:
    """Return whether a claim's values are those of the item's check. Measure `numbers` 1.0.0.

    A statement conflicts with a failed check when it exchanges its sides, or gives one of its two values and another for the
    other, or gives two values that no check of the record shows while the claim can only mean this one (the record's one failed
    check). What another check of the record shows is said of that check and conflicts with none. A conflict outweighs agreement.
    """
    if "actual" not in item.item and "expected" not in item.item:
        return "none"
    stated = statements(claim)
    if not stated:
        return "none"
    shown = _shown(item)
    found = "none"
    for statement in stated:
        verdict = _compare(statement, shown)
        if verdict == "agree":
            found = "agree"
        elif verdict != "none" and item.defect == "wrong_value" and _meant(statement, verdict, index):
            return "conflict"
    return found


def _meant(statement: Statement, verdict: str, index: RecordIndex) -> bool:
    """Return whether a statement that does not fit a failed check can only be about it."""
    if index.some_check(("numbers", statement), lambda check: _compare(statement, _shown(check)) == "agree"):
        return False
    return verdict == "conflict" or len(index.failing) == 1
