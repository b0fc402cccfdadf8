"""Does a claim name the kind of failure that a check showed?

Both sides are read as kinds: a syntax error, an index out of range, an undefined name, a missing result … A check tells its kind
by its error class, its message and its defect, in the words of Python, JavaScript, Go, Rust, Java, C and the shell; a claim tells
in words (`ends in a list index out of range error`, `does not return anything when n is 0`, `the closing bracket is missing`).

A clause of a claim that supposes, prescribes or denies (`should`, `to avoid`, `does not raise`) names none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ._english import word_set
from ._pattern import Pattern
from .text import encodable, normalise, split_words

if TYPE_CHECKING:
    from .index import IndexedItem, RecordIndex

__all__ = ["agreement", "claimed_kinds", "denied_kinds", "shown_kinds"]

_READ = 8_192
_CLAUSES = 256

_CLAIMED: Mapping[str, str] = {
    "syntax": (
        r"syntax ?errors?|indentation ?errors?|invalid syntax|(?:does not|doesn't|cannot|can't) be parsed|parse errors?"
        r"|(?:missing|unclosed|unbalanced|unmatched|unterminated|mismatched)\W+(?:\w+\W+){0,4}?"
        r"(?:parenthes[ie]s|brackets?|braces?|quotes?)"
        r"|(?:parenthes[ie]s|brackets?|braces?|quotes?)\b[^.;]{0,60}\b(?:missing|never closed|not closed|unclosed"
        r"|unbalanced|unmatched)"
    ),
    "index": (
        r"(?:index|indices|subscript)\w*(?:\W+\w+){0,3}?\W+(?:out[- ]of[- ](?:range|bounds)|beyond|past the end)|index ?errors?"
        r"|out[- ]of[- ](?:range|bounds)(?: \w+){0,2} (?:error|exception|index|access)|(?:beyond|past) the (?:end|bounds)"
        r"|out of bounds"
    ),
    "key": r"key ?errors?|missing keys?|key (?:is|was) (?:missing|absent)|key (?:does not|doesn't|did not) exist",
    "name": (
        r"name ?errors?|reference ?errors?|undeclared|undefined (?:\w+ )?(?:variable|name|function|identifier|symbol)s?"
        r"|(?:is|was|are|were) (?:not|never) (?:defined|declared|in scope)|isn't defined|unbound local"
    ),
    "import": (
        r"import ?errors?|(?:module|library|package)\W+(?:\S+\W+){0,3}?(?:is|was|are) (?:not|never) (?:imported|installed"
        r"|found|available)"
        r"|(?:is|was|are) not imported|without importing|missing imports?|(?:did not|does not|forgot to|never) imports?"
        r"|no module named"
    ),
    "type": (
        r"type ?errors?|type mismatch|mismatched types?|not (?:callable|iterable|subscriptable|hashable|indexable)"
        r"|unsupported operand"
        r"|unhashable|(?:missing|too many|too few|wrong number of)(?: \w+){0,3} arguments?"
    ),
    "attribute": r"attribute ?errors?|has no (?:attribute|method|property|field|member)|no such method|undefined method",
    "zero": r"(?:zero ?division|division ?by ?zero)(?: ?errors?)?|divid(?:e|es|ed|ing) by (?:zero|0)|modulo by zero",
    "recursion": (
        r"recursion ?errors?|(?:infinite|unbounded|endless) recursion|(?:maximum )?recursion (?:depth|limit)"
        r"|stack overflow"
    ),
    "time": (
        r"time[ds]?[ -]?outs?|timed out|time limit|infinite loops?|endless loops?|never terminates?|does not terminate|too slow"
        r"|hangs?|deadlocks?"
    ),
    "value": (
        r"value ?errors?|invalid literal|could not convert|(?:too many|not enough) values to unpack"
        r"|number ?format ?exceptions?"
    ),
    "null": r"null ?pointer(?: ?exceptions?)?|nil pointer|null reference|dereferenc\w+ (?:a )?(?:null|nil|none)",
    "file": r"file ?not ?found(?: ?errors?)?|no such file|(?:file|directory|path) (?:does not|doesn't|did not) exist",
    "access": (
        r"permission(?: was| is)? denied|permission ?errors?|access(?: was| is)? denied|not permitted"
        r"|unauthori[sz]ed|forbidden"
    ),
    "memory": r"out of memory|memory ?errors?|overflow ?errors?|integer overflow|segmentation fault",
    "nothing": (
        r"(?:returns?|returned|returning|outputs?|results? in|yields?|gives?|produces?|prints?)"
        r" (?:`?none`?|nothing|null|undefined|no (?:\w+ )?(?:value|result|output|return)|an? empty (?:string|result|output"
        r"|line))\b"
        r"|(?:does not|doesn't|do not|did not|didn't|never|not|fails? to) (?:\w+ly )?(?:return|returns|returning|output"
        r"|print|produce)"
        r" (?:any|a|the|its|anything|value|result|output)\b"
        r"|(?:no|missing|lacks? an?|without an?|does not have an?|has no) (?:explicit |final |default )?return\b"
        r"|nothing is (?:returned|printed|output)"
    ),
}
_SHOWN: Mapping[str, str] = {
    "syntax": (
        r"(?:syntax|indentation|tab)error|invalid syntax|was never closed|unmatched '|unterminated|unexpected (?:token"
        r"|indent|eof|end of)"
        r"|expected an indented block|unindent does not match|error: expected|parse error"
    ),
    "index": r"index(?:\w+)? ?(?:is )?out of (?:range|bounds)|indexerror|outofbounds|out of bounds|pop from (?:an )?empty",
    "key": r"keyerror|key not found|no entry found for key|nosuchelement",
    "name": (
        r"nameerror|referenceerror|is not defined|undefined: |undeclared|cannot find (?:value|function|symbol|name)|unboundlocal"
        r"|referenced before assignment|command not found"
    ),
    "import": (
        r"importerror|modulenotfound|no module named|cannot import name|cannot find (?:module|package|crate)"
        r"|unresolved import"
    ),
    "type": (
        r"typeerror|type mismatch|mismatched types|not (?:callable|iterable|subscriptable)|unsupported operand|unhashable"
        r"|classcastexception"
        r"|positional arguments?|not supported between|cannot use .{1,80} as |ts2\d{3}"
    ),
    "attribute": r"attributeerror|has no attribute|is not a function|nosuchmethod|undefined method|no method named|has no field",
    "zero": r"zerodivision|division by zero|divide by zero|modulo by zero|/ by zero",
    "recursion": r"recursionerror|maximum recursion|maximum call stack|stack ?overflow|overflowed its stack",
    "time": r"time ?out|timed out|time limit|deadlock|deadline exceeded",
    "value": r"valueerror|invalid literal|could not convert|values to unpack|numberformatexception|parseinterror|invalid digit",
    "null": r"nullpointer|nil pointer|null reference|'nonetype' object|of (?:null|undefined)\b|none value|null dereference",
    "file": r"filenotfound|no such file|enoent|nosuchfile",
    "access": r"permission denied|permissionerror|access ?denied|eacces|eperm|forbidden|unauthori[sz]ed",
    "memory": (
        r"out of memory|outofmemory|memoryerror|overflowerror|attempt to \w+ with overflow|segmentation fault"
        r"|sigsegv|core dumped"
    ),
}
_CLAIM = Pattern("|".join(rf"(?P<{kind}>\b(?:{words}))" for kind, words in _CLAIMED.items()), ignore_case=True)
_CHECK = Pattern("|".join(rf"(?P<{kind}>{words})" for kind, words in _SHOWN.items()), ignore_case=True)

_AKIN: Mapping[str, frozenset[str]] = {
    "import": frozenset(("import", "name")),
    "null": frozenset(("null", "attribute", "type")),
    "attribute": frozenset(("attribute", "null")),
    "type": frozenset(("type", "attribute")),
    "memory": frozenset(("memory", "recursion")),
    "recursion": frozenset(("recursion", "memory", "time")),
}
"""Kinds of a check that bear out a claimed kind other than its own: an import that is missing shows as an undefined name."""

_SUPPOSED = word_set(
    "should must would could might may ensure ensures to avoid prevent prevents want expected instead needs unless shall until"
)
_LEADING = word_set("lead leads leading led due owing amounts")
_NOT = word_set("not never doesnt didnt doesn didn cannot cant t")
_CAUSES = word_set(
    "affect affects cause causes raise raises lead leads result results produce produces trigger triggers throw throws"
)
_MARKS = (". ", "; ", ": ", ", ", " but ", " so that ", " in order ", "\n")


def _clauses(claim: str) -> list[str]:
    for mark in _MARKS:
        claim = claim.replace(mark, "\n")
    return claim.split("\n", _CLAUSES)[:_CLAUSES]


@lru_cache(maxsize=512)
def _kinds(claim: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the kinds of failure that a claim states, and those that it denies."""
    stated: set[str] = set()
    denied: set[str] = set()
    for clause in _clauses(normalise(claim).text):
        for match in _CLAIM.finditer(clause):
            before = _before(clause, match.start())
            kinds = {kind for kind, text in match.groupdict().items() if text}
            if _SUPPOSED.isdisjoint(before) and _is_denied(before):
                denied |= kinds
            elif _SUPPOSED.isdisjoint(before[-3:]):
                stated |= kinds
    return frozenset(stated), frozenset(denied - stated)


def claimed_kinds(claim: str) -> frozenset[str]:
    """Return the kinds of failure that a claim states. Linear in the claim."""
    return _kinds(claim)[0]


def denied_kinds(claim: str) -> frozenset[str]:
    """Return the kinds of failure of which a claim says that they did not come about. Linear in the claim."""
    return _kinds(claim)[1]


def _before(clause: str, start: int) -> Sequence[str]:
    """Return the six words before a place: a kind that follows `to avoid an` or `should raise a` is not stated."""
    words = [word.casefold() for word in split_words(clause[max(0, start - 96) : start])[-6:]]
    # `leads to a` states a consequence; `to avoid a` supposes one.
    return [word for place, word in enumerate(words) if word != "to" or words[max(0, place - 1)] not in _LEADING]


def _is_denied(before: Sequence[str]) -> bool:
    """Return whether the words before a kind say that it did not come about: `does not raise an`, `never leads to a`."""
    causes = [place for place, word in enumerate(before) if word in _CAUSES]
    return any(not _NOT.isdisjoint(before[max(0, place - 2) : place]) for place in causes)


def shown_kinds(item: Mapping[str, Any], defect: str) -> frozenset[str]:
    """Return the kinds of failure that an item's check showed; empty where it showed a wrong value or nothing wrong. Linear."""
    if defect == "no_result":
        return frozenset(("nothing",))
    if defect != "crash":
        return frozenset()
    parts = (item.get("error_class"), item.get("actual"), item["text"])
    text = encodable("\n".join(str(part)[:_READ] for part in parts if part))
    return frozenset(kind for match in _CHECK.finditer(text) for kind, said in match.groupdict().items() if said)


def _bears_out(claimed: frozenset[str], item: IndexedItem) -> bool:
    shown = item.failure_kinds
    return any(not shown.isdisjoint(_AKIN.get(kind, (kind,))) for kind in claimed)


def agreement(claim: str, item: IndexedItem, index: RecordIndex) -> str:
    """Return whether a claim names the kind of failure that a check showed. Measure `failure` 1.1.0.

    `agree`: it names that kind. `conflict`: it denies that kind; or it names kinds of crash, this check crashed in another way or
    gave no result, and no check of the record bears any of them out. `none`: either side names no kind.
    """
    if item.defect == "none":
        return "none"
    claimed = claimed_kinds(claim)
    if not item.failure_kinds.isdisjoint(denied_kinds(claim)):
        return "conflict"
    if not claimed:
        return "none"
    if _bears_out(claimed, item):
        return "agree"
    crashes = claimed - {"nothing"}
    if not crashes or not item.failure_kinds:
        return "none"
    borne_out = index.some_check(("failure", crashes), lambda check: int(_bears_out(crashes, check)))
    return "none" if borne_out else "conflict"
