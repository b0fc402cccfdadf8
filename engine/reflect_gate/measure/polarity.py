"""Polarity: do a claim and an item say the same, or the opposite, of a thing that both name?

Four kinds of opposition are read.

*Against the check itself* (items with `expected`, `actual` or `passed`): a claim that the output is too low or too high, has too
few or too many elements, is nothing, or that the check passes or fails, is held against the values of the check.

*Against the words of an observation* (tool output, test output, error, log, diagnosis, user): antonym pairs (passes/fails,
exists/missing, before/after, always/never …) in a clause of the claim and a line of the item that name the same anchor. A
negation turns a word round; `a before b` and `b after a` are the same. Plans, code and specifications are not read this way: they
state intentions and norms, not what was the case.

*Against code*: whether it calls, uses or defines what the claim says that it does or does not (`usage`).

*Against the message of a crash*: that something cannot be done, or was tried (`attempt`).

A clause that supposes rather than states (`should`, `assumed`, `if` …) is not read, and a false belief (`failed_assumption`)
never conflicts: to be contradicted by the evidence is what makes it one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache, partial
from operator import methodcaller
from typing import NamedTuple

from . import attempt, usage
from ._english import NEGATIONS, word_set
from .anchors import Anchor, anchors_of
from .defect import is_no_result
from .index import IndexedItem, RecordIndex, Searchable
from .text import normalise, split_words, terms

__all__ = ["CLAUSE_LIMIT", "agreement"]

CLAUSE_LIMIT = 256
"""Clauses of a claim, and lines of an item, that are read."""

_PAIRS: Mapping[str, tuple[str, str]] = {
    "pass": ("pass passes passed passing succeed succeeds succeeded ok", "fail fails failed failing failure failures"),
    "exist": ("exist exists existed existing present defined available", "missing absent undefined nonexistent"),
    "order": ("before precedes preceded", "after follows followed"),
    "change": ("increase increases increased increasing grows grew", "decrease decreases decreased decreasing shrinks shrank"),
    "level": ("higher greater larger bigger above exceeds exceeded", "lower smaller less below fewer"),
    "time": ("async asynchronous asynchronously", "sync synchronous synchronously"),
    "always": ("always", "never"),
    "empty": ("empty blank", "nonempty populated"),
    "open": ("open opened", "closed"),
    "valid": ("valid", "invalid"),
    "enabled": ("enabled", "disabled"),
    "sorted": ("ascending", "descending"),
}
_SIDES: Mapping[str, tuple[str, int]] = {
    word: (pair, sign)
    for pair, sides in _PAIRS.items()
    for words, sign in zip(sides, (1, -1), strict=True)
    for word in words.split()
}
_ALONE = frozenset(("pass", "exist"))
"""Pairs for which a shared anchor is enough; the others need another shared term."""

_BETWEEN = frozenset(("order", "level"))
"""Pairs that relate what stands on either side; they are read from the side of the shared anchor."""

_SUPPOSED = word_set(
    """
    should must would could might may can assume assumed assumes assuming assumption believe believed believing think thought
    expect supposed suppose hypothesis if whether when unless ensure ensures ensuring want wanted need needs needed fix intended
    plan will shall instead rather until case cases where
    """
)
_TURNING = NEGATIONS - {"fail", "fails", "failed", "failing", "none", "nothing"}
_OBSERVATIONS = frozenset(("test_output", "tool_output", "error", "log", "diagnosis", "user"))
_REACH = 4
_SHARED_TERMS = 3


class Clause(NamedTuple):
    """A clause of a claim that states something: what it says of antonym pairs (`pair → sign`) and of a check's value.

    `nothing` says that no result came out, `something` that one did, whatever the case; `amount` and `size` are 1 for too much,
    -1 for too little, 0 where nothing is said.
    """

    text: str
    words: tuple[str, ...]
    anchors: tuple[Anchor, ...]
    says: Mapping[str, int]
    nothing: bool
    something: bool
    amount: int
    size: int


def _pieces(text: str) -> Iterator[str]:
    """Split at line ends and at clause punctuation that whitespace follows."""
    for mark in (". ", "; ", ": ", ", ", " but ", " while ", " whereas ", " although ", " and "):
        text = text.replace(mark, "\n")
    yield from (piece for piece in text.split("\n", CLAUSE_LIMIT)[:CLAUSE_LIMIT] if piece)


def _says(words: Sequence[str]) -> dict[str, int]:
    """Return the sign of each antonym pair in a clause; a pair that is said both ways is left out."""
    found: dict[str, int] = {}
    mixed = set()
    for index, word in enumerate(words):
        side = _SIDES.get(word)
        if side is None:
            continue
        pair, sign = side
        if not _TURNING.isdisjoint(words[max(0, index - _REACH) : index]):
            sign = -sign
        if found.setdefault(pair, sign) != sign:
            mixed.add(pair)
    return {pair: sign for pair, sign in found.items() if pair not in mixed}


@lru_cache(maxsize=512)
def _clauses(claim: str) -> tuple[Clause, ...]:
    """Return the clauses of a claim that state something which can agree or conflict."""
    found = []
    for piece in _pieces(normalise(claim).text):
        words = tuple(split_words(piece.casefold()))
        if _TELLING.isdisjoint(words) or not _SUPPOSED.isdisjoint(words):
            continue
        says, of_output = _says(words), not _OUTPUT.isdisjoint(words)
        denied = not NEGATIONS.isdisjoint(words)
        nothing = of_output and _phrase(words, _NOTHING) and ("return" not in words or denied)
        something = not denied and _phrase(words, _SOMETHING) and _PARTLY.isdisjoint(words)
        amount, size = (_claimed(words, _AMOUNT), _claimed(words, _SIZE)) if of_output and not denied else (0, 0)
        if says or nothing or something or amount or size:
            found.append(Clause(piece, words, anchors_of(piece).found, says, nothing, something, amount, size))
    return tuple(found)


# -- against the check itself ----------------------------------------------------------------------------------------------------

_OUTPUT = word_set(
    """
    output outputs result results value values return returns returned returning answer answers count total sum function
    implementation code method length size
    """
)
_AMOUNT = {
    **dict.fromkeys(("high", "large", "big", "higher", "greater", "larger", "bigger"), 1),
    **dict.fromkeys(("low", "small", "lower", "less", "smaller"), -1),
}
_SIZE = {**dict.fromkeys(("many", "long", "longer", "more"), 1), **dict.fromkeys(("few", "short", "fewer", "shorter"), -1)}
_EXPECTATION = frozenset(("expected", "correct", "required", "expectation", "should"))
_NOTHING = (
    ("returns", "none"),
    ("returned", "none"),
    ("returning", "none"),
    ("returns", "nothing"),
    ("returned", "nothing"),
    ("returns", "null"),
    ("returned", "null"),
    ("returns", "undefined"),
    ("returned", "undefined"),
    ("return", "anything"),
    ("return", "any", "value"),
    ("return", "a", "value"),
    ("lacks", "a", "return"),
    ("no", "return"),
    ("missing", "return"),
    ("without", "returning"),
)
_SOMETHING = (
    ("returns", "a", "value"),
    ("returned", "a", "value"),
    ("returns", "some", "value"),
    ("returns", "any", "value"),
    ("returned", "any", "value"),
    ("returns", "values"),
    ("returns", "something"),
    ("has", "a", "return"),
    ("have", "a", "return"),
    ("includes", "a", "return"),
    ("contains", "a", "return"),
    ("does", "return"),
    ("do", "return"),
)
_PARTLY = word_set(
    "none null nil undefined nothing only just branch block inside within loop inner nested other helper otherwise early too"
)
"""Words of a clause whose `returns a value` is not said of every case, or is taken back."""


_TELLING = frozenset(
    (*_SIDES, *_AMOUNT, *_SIZE, "none", "nothing", "null", "undefined", "return", "returning", "returns", "returned")
)
"""Words without one of which a clause states nothing that is read here."""


def _phrase(words: Sequence[str], phrases: Sequence[tuple[str, ...]]) -> bool:
    joined = f" {' '.join(words)} "
    return any(f" {' '.join(phrase)} " in joined for phrase in phrases)


def _number(value: object) -> Decimal | None:
    try:
        number = Decimal(str(value)[:64].strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _elements(value: object) -> int | None:
    """Return how many elements a written flat list, tuple or set has."""
    text = str(value)[:4_096].strip()
    if len(text) < 2 or text[0] not in "[(" or text[-1] not in "])":
        return None
    inner = text[1:-1].strip().rstrip(",")
    return inner.count(",") + 1 if inner and not any(mark in inner for mark in "[({'\"") else 0 if not inner else None


def _sign(actual: Decimal | int | None, expected: Decimal | int | None) -> int:
    return 0 if actual is None or expected is None or actual == expected else 1 if actual > expected else -1


def _of_value(clause: Clause, item: IndexedItem) -> int:
    """Return 1 or -1 where the clause agrees or conflicts with the check's values, 0 where it says nothing of them."""
    if "actual" not in item.item:
        return 0
    actual, expected = item.item["actual"], item.item.get("expected")
    if clause.nothing:
        return 1 if is_no_result(actual) else -1
    if not clause.amount and not clause.size:
        return 0
    amount = _sign(_number(actual), _number(expected))
    return clause.amount * amount or clause.size * (_sign(_elements(actual), _elements(expected)) or amount)


def _claimed(words: Sequence[str], degrees: Mapping[str, int]) -> int:
    """Return the direction that a clause claims: `too low`, `lower than expected`, `fewer values than the correct ones`."""
    for index, word in enumerate(words):
        if word not in degrees:
            continue
        if index and words[index - 1] == "too":
            return degrees[word]
        following = words[index + 1 : index + 8]
        if "than" in following[:3] and not _EXPECTATION.isdisjoint(following[following.index("than") + 1 :][:3]):
            return degrees[word]
    return 0


def _of_verdict(clause: Clause, item: IndexedItem) -> int:
    """Return 1 or -1 where the clause says rightly or wrongly that the check, which it names, passes or fails."""
    said = clause.says.get("pass")
    if said is None or (item.defect == "none" and "passed" not in item.item):
        return 0
    named = [anchor for anchor in clause.anchors if anchor.kind != "number"]
    if not named or not all(item.holds(anchor) for anchor in clause.anchors):
        return 0
    return said * (1 if item.defect == "none" else -1)


def _gave(check: IndexedItem) -> int:
    """Return 1 where a check got a result: it passed, or it shows an actual value."""
    return int(check.defect == "none" or ("actual" in check.item and not is_no_result(check.item["actual"])))


def _about(clause: Clause, item: IndexedItem, index: RecordIndex) -> bool:
    """Return whether a clause can be about this check: it names nothing that another check holds and this one does not."""
    return all(item.holds(anchor) or not index.some_check(anchor, methodcaller("holds", anchor)) for anchor in clause.anchors)


def _with_check(clauses: Sequence[Clause], item: IndexedItem, index: RecordIndex) -> Iterator[int]:
    """Yield 1 or -1 for each clause about the check; what another check bears out is not held against this one."""
    for clause in clauses:
        value = _of_value(clause, item) if item.defect in {"wrong_value", "no_result"} else 0
        if value and _about(clause, item, index):
            borne_out = value > 0 or index.some_check(("value", clause.text), partial(_of_value, clause))
            yield max(value, 0) if borne_out else value
        if clause.something and item.defect == "no_result" and _about(clause, item, index):
            yield 0 if index.some_check("gave", _gave) else -1
        verdict = _of_verdict(clause, item)
        if verdict:
            borne_out = verdict > 0 or index.some_check(("verdict", clause.text), partial(_of_verdict, clause))
            yield max(verdict, 0) if borne_out else verdict


# -- against the words of an observation -----------------------------------------------------------------------------------------


class _Line(NamedTuple):
    """A line of an item that says something of a pair."""

    words: Sequence[str]
    says: Mapping[str, int]
    text: Searchable


def _lines(item: IndexedItem, pairs: frozenset[str]) -> list[_Line]:
    """Return the lines of an item that say something of one of `pairs`."""
    found = []
    for line in str(item.item["text"]).split("\n", CLAUSE_LIMIT)[:CLAUSE_LIMIT]:
        words = _not_found([word.casefold() for word in split_words(line)])
        says = _says(words)
        if not pairs.isdisjoint(says):
            found.append(_Line(words, says, Searchable(line)))
    return found


def _not_found(words: list[str]) -> list[str]:
    """Read `no such file` and `not found` as `missing`."""
    joined = f" {' '.join(words)} ".replace(" no such ", " missing ").replace(" not found ", " missing ")
    return joined.replace(" does not exist ", " missing ").split()


def _with_words(clauses: Sequence[Clause], item: IndexedItem) -> Iterator[int]:
    read = [clause for clause in clauses if clause.says]
    held = [(clause, [anchor for anchor in clause.anchors if anchor.kind != "number" and item.holds(anchor)]) for clause in read]
    wanted = frozenset(pair for clause, shared in held if shared for pair in clause.says)
    if not wanted:
        return
    lines = _lines(item, wanted)
    for clause, shared in held:
        for pair in clause.says:
            signs = {_relation(clause, line, pair, shared) for line in lines if pair in line.says} - {0}
            if len(signs) == 1:
                yield signs.pop()


def _relation(clause: Clause, line: _Line, pair: str, shared: Sequence[Anchor]) -> int:
    """Return 1 or -1 where a clause and a line say the same or the opposite of a shared anchor, 0 where they share none."""
    common = [anchor for anchor in shared if line.text.holds(anchor)]
    if not common or (pair not in _ALONE and len(terms(" ".join(clause.words)) & line.text.terms) < _SHARED_TERMS):
        return 0
    sign = clause.says[pair] * line.says[pair]
    if pair in _BETWEEN:
        sign *= _side(clause.words, pair, common[0]) * _side(line.words, pair, common[0])
    return sign


def _side(words: Sequence[str], pair: str, anchor: Anchor) -> int:
    """Return 1 where an anchor stands before the word of a pair, -1 where it follows it, 0 where that cannot be told."""
    name = split_words(anchor.form)[:1]
    pivots = [index for index, word in enumerate(words) if _SIDES.get(word, ("", 0))[0] == pair]
    places = [index for index, word in enumerate(words) if [word] == name]
    if len(pivots) != 1 or len(places) != 1:
        return 0
    return 1 if places[0] < pivots[0] else -1


def agreement(field: str, claim: str, item: IndexedItem, index: RecordIndex) -> str:
    """Return whether a causal field and an item `agree`, are in `conflict`, or say nothing (`none`) of the same thing.

    Measure `polarity` 1.3.0. A conflict outweighs agreement. What another check of the record bears out is said of that
    one. Linear in the texts, at most `CLAUSE_LIMIT` clauses and lines.
    """
    clauses = _clauses(claim)
    signs = usage.signs(claim, item.item["text"]) if item.kind == "code" else []
    if item.defect == "crash":
        signs += attempt.signs(claim, item.item["text"])
    if clauses and item in index.checks:
        signs += _with_check(clauses, item, index)
    if clauses and item.kind in _OBSERVATIONS:
        signs += _with_words(clauses, item)
    if any(sign < 0 for sign in signs) and field != "failed_assumption":
        return "conflict"
    return "agree" if any(sign > 0 for sign in signs) else "none"
